#pragma once
/// The peer: cuBLASLt, with every algorithm its heuristic offers for a problem. Without the library all of it is
/// absent.
#include <benchmarks/gemm/problem.hpp>
#include <memory>
#include <string>

namespace bench {

constexpr std::size_t workspace_bytes = 64u << 20;

struct lt_settings {
  element out = element::bf16;
  bool fast_accumulation = false;
  bool row_wise_scales = false;  ///< one scale for each row of A and of B
};

class lt_gemm {
 public:
  static bool available();
  static std::string version();

  /// D has n * products columns. No algorithm, and `size()` is 0, where the library does not support the problem.
  lt_gemm(const problem&, const lt_settings&, void* workspace, void* d, std::size_t d_step, std::int64_t ldd);
  ~lt_gemm();
  lt_gemm(const lt_gemm&) = delete;
  lt_gemm& operator=(const lt_gemm&) = delete;

  int size() const;
  /// False: the algorithm does not run.
  bool launch(cudaStream_t, int algorithm, int set) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bench
