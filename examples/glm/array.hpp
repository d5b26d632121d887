#pragma once
/// Elements in the memory of an executor, and views of them.
#include <cstddef>
#include <cstring>
#include <kiln/core/executor.hpp>
#include <kiln/view/tensor.hpp>
#include <memory>
#include <new>
#include <vector>

#include "error.hpp"

namespace glm {

/// Tests set it: fresh memory holds NaN then, and who reads what nobody wrote is seen.
inline bool fresh_memory_is_nan = false;

template <class Space>
struct memory;

template <>
struct memory<kiln::host_space> {
  static constexpr std::align_val_t alignment{256};
  static void* allocate(std::size_t bytes) {
    void* p = ::operator new(bytes, alignment, std::nothrow);
    if (p == nullptr) fail("host memory: there are no ", bytes, " bytes");
    if (fresh_memory_is_nan) std::memset(p, 0xff, bytes);
    return p;
  }
  static void release(void* p) { ::operator delete(p, alignment); }
  static void upload(const kiln::host_executor&, void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
  static void download(const kiln::host_executor&, void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
  }
};

#if defined(__CUDACC__)
inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) fail(what, ": ", cudaGetErrorString(e));
}

/// Copies run in the executor's stream; both ends are done when the call returns.
template <>
struct memory<kiln::device_space> {
  static void* allocate(std::size_t bytes) {
    void* p = nullptr;
    check(cudaMalloc(&p, bytes), "device memory");
    if (fresh_memory_is_nan) {
      check(cudaMemset(p, 0xff, bytes), "device memory");
      check(cudaDeviceSynchronize(), "device memory");
    }
    return p;
  }
  static void release(void* p) { (void)cudaFree(p); }
  static void upload(const kiln::device& ex, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, ex.stream), "upload");
    check(cudaStreamSynchronize(ex.stream), "upload");
  }
  static void download(const kiln::device& ex, void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, ex.stream), "download");
    check(cudaStreamSynchronize(ex.stream), "download");
  }
};
#endif

/// Owns `size` elements of T. Their values are what the memory held.
template <class T, class Executor>
class array {
  using where = memory<typename Executor::space>;

 public:
  array() = default;
  explicit array(kiln::index_t size)
      : data_(size > 0 ? where::allocate(static_cast<std::size_t>(size) * sizeof(T)) : nullptr), size_(size) {}
  array(const Executor& ex, const std::vector<T>& values) : array(static_cast<kiln::index_t>(values.size())) {
    upload(ex, values);
  }

  T* data() const { return static_cast<T*>(data_.get()); }
  kiln::index_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void upload(const Executor& ex, const std::vector<T>& values, kiln::index_t at = 0) {
    if (!values.empty()) where::upload(ex, data() + at, values.data(), values.size() * sizeof(T));
  }
  std::vector<T> download(const Executor& ex, kiln::index_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) where::download(ex, values.data(), data(), values.size() * sizeof(T));
    return values;
  }

  /// Row-major view of the first elements: `weights.view(rows, columns)`.
  template <class... Extents>
  auto view(Extents... extents) const {
    return kiln::view_on<Executor>(data(), extents...);
  }

 private:
  struct releaser {
    void operator()(void* p) const { where::release(p); }
  };
  std::unique_ptr<void, releaser> data_;
  kiln::index_t size_ = 0;
};

}  // namespace glm
