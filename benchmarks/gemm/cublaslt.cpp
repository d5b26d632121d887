#include <benchmarks/gemm/cublaslt.hpp>

#if defined(KILN_BENCH_CUBLASLT)
#include <cublasLt.h>

namespace bench {

namespace {

constexpr int most_algorithms = 32;

void need_lt(cublasStatus_t s, const char* what) {
  if (s != CUBLAS_STATUS_SUCCESS) throw failure(std::string(what) + ": " + cublasLtGetStatusString(s));
}
cudaDataType_t type_of(element e) {
  switch (e) {
    case element::bf16:
      return CUDA_R_16BF;
    case element::f16:
      return CUDA_R_16F;
    case element::e4m3:
      return CUDA_R_8F_E4M3;
    case element::int8:
      return CUDA_R_8I;
    case element::int32:
      return CUDA_R_32I;
    case element::f32:
      return CUDA_R_32F;
  }
  return CUDA_R_32F;
}
cublasLtHandle_t handle() {
  static cublasLtHandle_t one = [] {
    cublasLtHandle_t h = nullptr;
    need_lt(cublasLtCreate(&h), "cublasLtCreate");
    return h;
  }();
  return one;
}

}  // namespace

struct lt_gemm::state {
  const problem& p;
  void *workspace, *d;
  std::size_t d_step;
  bool integers;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, out = nullptr;
  cublasLtMatmulHeuristicResult_t found[most_algorithms] = {};
  int count = 0;

  ~state() {
    for (cublasLtMatrixLayout_t layout : {a, b, out})
      if (layout != nullptr) (void)cublasLtMatrixLayoutDestroy(layout);
    if (operation != nullptr) (void)cublasLtMatmulDescDestroy(operation);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, const T& value) {
    need_lt(cublasLtMatmulDescSetAttribute(operation, which, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
};

bool lt_gemm::available() { return true; }
std::string lt_gemm::version() { return std::to_string(cublasLtGetVersion()); }
int lt_gemm::size() const { return state_->count; }

lt_gemm::lt_gemm(const problem& p, const lt_settings& settings, void* workspace, void* d, std::size_t d_step,
                 std::int64_t ldd)
    : state_(new state{p, workspace, d, d_step, p.in == element::int8}) {
  state& s = *state_;
  need_lt(s.integers ? cublasLtMatmulDescCreate(&s.operation, CUBLAS_COMPUTE_32I, CUDA_R_32I)
                     : cublasLtMatmulDescCreate(&s.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "cublasLtMatmulDescCreate");
  // The library stores by columns: its A is the weight, transposed, and its D is ours transposed.
  s.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (settings.fast_accumulation) s.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  if (settings.row_wise_scales) {
#if CUBLAS_VERSION >= 120900
    s.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
    s.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
    s.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(p.column_scale.at()));
    s.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(p.row_scale.at()));
#else
    return;
#endif
  }
  const auto m = static_cast<std::uint64_t>(p.m), n = static_cast<std::uint64_t>(p.n * p.products),
             k = static_cast<std::uint64_t>(p.k);
  need_lt(cublasLtMatrixLayoutCreate(&s.a, type_of(p.in), k, n, p.ldb), "cublasLtMatrixLayoutCreate");
  need_lt(cublasLtMatrixLayoutCreate(&s.b, type_of(p.in), k, m, p.lda), "cublasLtMatrixLayoutCreate");
  need_lt(cublasLtMatrixLayoutCreate(&s.out, type_of(settings.out), n, m, ldd), "cublasLtMatrixLayoutCreate");
  cublasLtMatmulPreference_t preference = nullptr;
  need_lt(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  (void)cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                             sizeof workspace_bytes);
  if (cublasLtMatmulAlgoGetHeuristic(handle(), s.operation, s.a, s.b, s.out, s.out, preference, most_algorithms,
                                     s.found, &s.count) != CUBLAS_STATUS_SUCCESS)
    s.count = 0;
  (void)cublasLtMatmulPreferenceDestroy(preference);
}

lt_gemm::~lt_gemm() = default;

bool lt_gemm::launch(cudaStream_t stream, int algorithm, int set) const {
  const state& s = *state_;
  const float one_float = 1, zero_float = 0;
  const int one_int = 1, zero_int = 0;
  const void* one = s.integers ? static_cast<const void*>(&one_int) : &one_float;
  const void* zero = s.integers ? static_cast<const void*>(&zero_int) : &zero_float;
  void* d = static_cast<char*>(s.d) + s.d_step * static_cast<std::size_t>(set);
  return cublasLtMatmul(handle(), s.operation, one, s.p.b_at(set), s.a, s.p.a_at(set), s.b, zero, d, s.out, d, s.out,
                        &s.found[algorithm].algo, s.workspace, workspace_bytes, stream) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace bench

#else

namespace bench {

struct lt_gemm::state {};
bool lt_gemm::available() { return false; }
std::string lt_gemm::version() { return "not linked"; }
int lt_gemm::size() const { return 0; }
lt_gemm::lt_gemm(const problem&, const lt_settings&, void*, void*, std::size_t, std::int64_t) {}
lt_gemm::~lt_gemm() = default;
bool lt_gemm::launch(cudaStream_t, int, int) const { return false; }

}  // namespace bench

#endif
