#include <benchmarks/gemm/make_plans.hpp>

namespace bench {

template <int K>
using pinned = kiln::config<kiln::tile<256, 128, K>, kiln::warp_tile<64, 64>, kiln::stages<4>, kiln::multistage,
                            kiln::instructions::sm80>;

kiln_side plain_sm80_bf16(const problem& p) { return plain<kiln::bf16, kiln::bf16, pinned<64>>(p); }
kiln_side plain_sm80_f16(const problem& p) { return plain<kiln::f16, kiln::f16, pinned<64>>(p); }
kiln_side plain_sm80_int8(const problem& p) { return plain<std::int8_t, std::int32_t, pinned<128>>(p); }

}  // namespace bench
