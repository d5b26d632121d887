#pragma once
/// The cases of kiln-bench-attention: `attention/prefill/...` beside a matrix product's rate, `attention/decode/...`
/// beside the copy of as many bytes.
#include <benchmarks/measure/memory_case.hpp>

namespace bench {

void register_attention();

/// Kiln's bf16 product of two square matrices, the yardstick of arithmetic, and its operations.
struct yardstick {
  launcher launch;
  double operations;
};
/// Keeps its operands as long as the launcher lives.
yardstick square_product();

}  // namespace bench
