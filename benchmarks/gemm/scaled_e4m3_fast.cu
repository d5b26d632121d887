#include <benchmarks/gemm/make_plans.hpp>

namespace bench {

using wide = kiln::config<kiln::tile<128, 256, 128>, kiln::stages<4>, kiln::cluster<2>, kiln::warp_specialized,
                          kiln::fast_accumulation>;
using narrow =
    kiln::config<kiln::tile<128, 128, 128>, kiln::stages<5>, kiln::warp_specialized, kiln::fast_accumulation>;

kiln_side scaled_e4m3_fast(const problem& p, bool narrow_tile) {
  return narrow_tile ? scaled<kiln::e4m3, narrow>(p) : scaled<kiln::e4m3, wide>(p);
}

}  // namespace bench
