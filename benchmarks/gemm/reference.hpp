#pragma once
/// The guard before any timing: a plain GPU kernel computes the accumulators, and each output is held to a bound.
#include <benchmarks/gemm/problem.hpp>

namespace bench {

enum class epilogue {
  none,                     ///< acc
  scaled,                   ///< acc * row_scale[row] * column_scale[column]
  bias_gelu_tanh_residual,  ///< gelu_tanh(acc + bias[column]) + residual
  bias_gelu_residual,       ///< the same with erf
  swiglu,                   ///< silu(acc_0) * acc_1
};

/// Accumulation of 8-bit floats inside the unit keeps some 13 bits; `promoted` sums go to float32 every 128 elements.
enum class accumulation { float32, promoted, in_unit };

/// The accumulators of the first copy of a problem, in float32 (int32 for int8, exact).
class reference {
 public:
  explicit reference(const problem& p);
  /// The largest error over its bound among all elements of `d`, infinite where one is NaN: right if at most 1.
  /// `d` has `columns` columns: those of the output, or those of all products.
  double worst(epilogue e, accumulation how, const void* d, element type, std::int64_t columns,
               std::int64_t pitch) const;

 private:
  const problem& problem_;
  memory accumulators_;
};

/// D = convert<bf16>(acc * row_scale[row] * column_scale[column]): what follows an int8 GEMM that cannot scale.
/// Needs a multiple of 8 columns.
void scale_int32(cudaStream_t, const void* acc, const problem& p, void* d);

}  // namespace bench
