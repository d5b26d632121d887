#pragma once
/// What every example needs and no kernel: arrays that the host and one executor reach, and a run on each executor
/// here.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <kiln/core/executor.hpp>
#include <kiln/core/status.hpp>
#include <kiln/core/types.hpp>
#include <new>
#include <type_traits>

namespace example {

/// `size` elements that start as zeros: managed memory for the device, ordinary memory for the host.
template <class Executor, class T>
class array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit array(int size) : size_(size) {
    const auto bytes = static_cast<std::size_t>(size > 0 ? size : 1) * sizeof(T);
    void* p = nullptr;
    if constexpr (Executor::on_host) {
      p = std::aligned_alloc(256, kiln::round_up<std::size_t>(bytes, 256));
    } else {
#if defined(__CUDACC__)
      if (cudaMallocManaged(&p, bytes) != cudaSuccess) p = nullptr;
#endif
    }
    if (p == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(p);
    for (int i = 0; i < size_; ++i) data_[i] = T{};
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() {
    if constexpr (Executor::on_host) {
      std::free(data_);
    } else {
#if defined(__CUDACC__)
      cudaFree(data_);
#endif
    }
  }

  T* data() const { return data_; }
  int size() const { return size_; }
  T& operator[](int i) const { return data_[i]; }

  /// Sets element i to f(i).
  template <class F>
  void fill(F f) const {
    for (int i = 0; i < size_; ++i) data_[i] = static_cast<T>(f(i));
  }

 private:
  T* data_;
  int size_;
};

/// Waits until the executor has done all its work. The host executor has done it when a call returns.
template <class Executor>
void wait(const Executor&) {
#if defined(__CUDACC__)
  if constexpr (!Executor::on_host) {
    cudaError_t e = cudaGetLastError();  // of a launch
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
      std::printf("%s\n", cudaGetErrorString(e));
      std::exit(1);
    }
  }
#endif
}

/// A small integer that depends on every bit of i: sums of products of such numbers are exact in float32.
constexpr float small_integer(int i, int seed) {
  auto x = static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(seed) * 40503u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return static_cast<float>(static_cast<int>(x % 7u) - 3);
}

/// Prints the message of a failed call and ends the program.
inline void require(const kiln::status& s) {
  if (s.ok()) return;
  std::printf("%s\n", s.message().c_str());
  std::exit(1);
}

/// Calls `run(executor, name)`, which returns whether all was right, on the host and, if there is one, on the GPU. The
/// result is for main to return.
template <class Run>
int on_each_executor(Run run) {
  bool right = run(kiln::host, "host");
#if defined(__CUDACC__)
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0) right = run(kiln::device(), "device") && right;
#endif
  std::puts(right ? "right" : "this is wrong");
  return right ? 0 : 1;
}

}  // namespace example
