#pragma once
/// Device memory, streams and events that free themselves; a CUDA error becomes an exception that ends the case.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void need(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw failure(std::string(what) + ": " + cudaGetErrorString(e));
}

class memory {
 public:
  memory() = default;
  explicit memory(std::size_t size) : bytes_(size) {
    if (size > 0) need(cudaMalloc(&data_, size), "cudaMalloc");
  }
  memory(memory&& m) noexcept : data_(std::exchange(m.data_, nullptr)), bytes_(std::exchange(m.bytes_, 0)) {}
  memory& operator=(memory&& m) noexcept {
    std::swap(data_, m.data_), std::swap(bytes_, m.bytes_);
    return *this;
  }
  ~memory() { (void)cudaFree(data_); }

  void* at(std::size_t offset = 0) const { return static_cast<char*>(data_) + offset; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class stream {
 public:
  stream() { need(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { (void)cudaStreamDestroy(handle_); }
  operator cudaStream_t() const { return handle_; }
  void wait() const { need(cudaStreamSynchronize(handle_), "a kernel"); }

 private:
  cudaStream_t handle_ = nullptr;
};

class event {
 public:
  event() { need(cudaEventCreate(&handle_), "cudaEventCreate"); }
  event(event&& e) noexcept : handle_(std::exchange(e.handle_, nullptr)) {}
  event& operator=(event&&) = delete;
  ~event() {
    if (handle_ != nullptr) (void)cudaEventDestroy(handle_);
  }
  void record(cudaStream_t s) const { need(cudaEventRecord(handle_, s), "cudaEventRecord"); }
  void wait() const { need(cudaEventSynchronize(handle_), "a kernel"); }
  double microseconds_since(const event& begin) const {
    float ms = 0;
    need(cudaEventElapsedTime(&ms, begin.handle_, handle_), "cudaEventElapsedTime");
    return 1e3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace bench
