#pragma once
/// One case: a problem, those who compete on it, the check of each, and what is reported.
#include <benchmarks/gemm/cublaslt.hpp>
#include <benchmarks/gemm/kiln_side.hpp>
#include <benchmarks/gemm/reference.hpp>
#include <benchmarks/measure/program.hpp>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace bench {

class one_case {
 public:
  explicit one_case(const shape& s) : p(s), scratch_(workspace_bytes) {}

  /// Adds a contender after its output is found right. The first one is what the case's time is.
  void add_kiln(const std::string& name, const kiln_side&, epilogue, accumulation);
  /// cuBLASLt's fastest algorithm, and if asked for, as `name`_first, the first of its heuristic's list that runs: what
  /// PyTorch takes. False where the library is absent or has no algorithm for the problem.
  bool add_lt(const std::string& name, const lt_settings&, accumulation, bool first_too = false);
  /// The int32 product of the contender added by `add_lt("lt")`, and one kernel that scales it.
  void add_lt_then_scale(const std::string& name);
  /// Work that is checked elsewhere.
  void add(const std::string& name, launcher l) { names_.push_back(name), launchers_.push_back(std::move(l)); }

  /// Times all, interleaved, and sets time, counters and label. Returns the median of each contender.
  timing run(benchmark::State&);
  int index_of(const std::string& name) const;
  const launcher& launcher_at(int i) const { return launchers_[static_cast<std::size_t>(i)]; }

  problem p;
  std::string label;

 private:
  void check(const launcher&, const std::string& name, epilogue, accumulation, const memory& d, std::size_t step,
             element, std::int64_t columns, std::int64_t pitch);
  const reference& expected();
  launcher launcher_of(const kiln_side&, bool with_workspace = true);
  void describe(const kiln_side&);

  memory scratch_;
  std::optional<reference> reference_;
  std::list<kiln_side> kiln_;
  std::list<lt_gemm> lt_;
  std::list<memory> outputs_;
  std::vector<std::string> names_;
  std::vector<launcher> launchers_;
  int lt_algorithms_ = 0, lt_wrong_ = 0;
};

void register_plain();
void register_few_tiles();
void register_quantised();
void register_fused();
void register_ragged();
void register_sm80();
void register_host();

struct projection {
  const char* name;
  std::int64_t n, k;
};
/// The matrices of a layer of GLM-4-9B.
inline constexpr projection glm_projections[] = {
    {"qkv", 4608, 4096}, {"o", 4096, 4096}, {"gate_up", 27392, 4096}, {"down", 4096, 13696}};

}  // namespace bench
