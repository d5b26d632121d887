#pragma once
/// Kiln's products, each compiled in a source file of its own; a plan for each copy of the operands, made once.
#include <benchmarks/gemm/problem.hpp>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct kiln_side {
  /// Stream, workspace and its bytes; false: refused, and `error` tells why.
  using run = std::function<bool(cudaStream_t, void*, std::size_t)>;
  std::vector<run> runs;
  std::string error, schedule, reason;
  bool cut = false;
  int together = 1;  ///< blocks of a tile
};

kiln_side plain_bf16(const problem&);
kiln_side plain_f16(const problem&);
kiln_side plain_sm80_bf16(const problem&);
kiln_side plain_sm80_f16(const problem&);
kiln_side plain_sm80_int8(const problem&);                ///< to int32
kiln_side scaled_int8(const problem&);                    ///< rows and columns scaled, to bf16
kiln_side scaled_e4m3(const problem&);                    ///< the same; promoted
kiln_side scaled_e4m3_fast(const problem&);               ///< sums left in the unit
kiln_side bias_gelu_tanh_residual(const problem&);
kiln_side bias_gelu_residual(const problem&);
kiln_side swiglu(const problem&);

}  // namespace bench
