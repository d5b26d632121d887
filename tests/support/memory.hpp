#pragma once
/// Bytes in host or device memory through one interface.
#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <kiln/core/executor.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace kiln::test {

inline constexpr std::size_t buffer_alignment = 256;

template <class Space>
struct memory;

template <>
struct memory<host_space> {
  static void* allocate(std::size_t bytes) { return ::operator new(bytes, std::align_val_t{buffer_alignment}); }
  static void release(void* p) { ::operator delete(p, std::align_val_t{buffer_alignment}); }
  static void upload(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  static void download(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
  /// Under address sanitizer any access to forbidden bytes ends the test with a report; elsewhere nothing.
  static void forbid([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(p, bytes);
#endif
  }
  static void allow([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(p, bytes);
#endif
  }
};

#if defined(__CUDACC__)
inline void check_cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <>
struct memory<device_space> {
  static void* allocate(std::size_t bytes) {
    void* p = nullptr;
    check_cuda(cudaMalloc(&p, bytes), "cudaMalloc");
    return p;
  }
  static void release(void* p) { (void)cudaFree(p); }
  /// Both wait for all work of the device, on whatever stream.
  static void upload(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaDeviceSynchronize(), "before upload");
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "upload");
  }
  static void download(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaDeviceSynchronize(), "before download");
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "download");
  }
  static void forbid(const void*, std::size_t) {}
  static void allow(const void*, std::size_t) {}
};
#endif

}  // namespace kiln::test
