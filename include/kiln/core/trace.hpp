#pragma once
/// An optional observer of launches, for the whole process. Without one a launch pays a pointer test.
///
///     trace::scope watch(ex, {.program = "rms_norm", .schedule = "rows", .fused = "residual add", .bytes = 3.0 * n});
///     return watch.done(launch(...));
///
/// With a sink set each launch is timed by itself: between two events on the device, which waits for the stream; by the
/// clock on the host. A launch into a stream that is being captured has no time (`seconds` < 0).
#include <ctime>
#include <kiln/core/cuda_error.hpp>
#include <kiln/core/executor.hpp>
#include <kiln/core/shared_value.hpp>
#include <kiln/core/status.hpp>

namespace kiln::trace {

/// What one launch was. The strings live as long as the program (literals).
struct launch_record {
  const char* program = "";   ///< "gemm", "rms_norm": the tile program
  const char* schedule = "";  ///< "multistage", "rows: one warp a row": who does what when
  const char* fused = "";     ///< what rides along: "bias, gelu, residual"; empty if nothing
  double bytes = 0;           ///< read plus written in global memory, each operand once
  double operations = 0;      ///< multiplications plus additions, where they are worth counting
  bool on_host = true;
  double seconds = -1;  ///< filled by the trace; negative if not known
};

/// Receives each record after its launch has run. Called in the launching thread; may be called from several at once.
struct sink {
  void (*finished)(void* context, const launch_record& record) = nullptr;
  void* context = nullptr;
};

namespace detail {
inline constinit kiln::detail::shared_value<const sink*> current;
}

/// Sets the observer (null: none) and returns the one before. The sink must outlive every launch made while it is set.
inline const sink* set_sink(const sink* s) { return detail::current.exchange(s); }

inline bool on() { return detail::current.load() != nullptr; }

namespace detail {

template <class Executor>
class timer {
 public:
  explicit timer(const Executor&) { (void)std::timespec_get(&start_, TIME_UTC); }
  double seconds() {
    std::timespec now{};
    (void)std::timespec_get(&now, TIME_UTC);
    return static_cast<double>(now.tv_sec - start_.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - start_.tv_nsec);
  }

 private:
  std::timespec start_{};
};

#if defined(__CUDACC__)
template <>
class timer<device> {
 public:
  explicit timer(const device& ex) : stream_(ex.stream) {
    usable_ = quiet_call([&] {
                cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
                if (auto e = cudaStreamIsCapturing(stream_, &capture); e != cudaSuccess) return e;
                if (capture != cudaStreamCaptureStatusNone) return cudaErrorNotReady;
                if (auto e = cudaEventCreate(&start_); e != cudaSuccess) return e;
                if (auto e = cudaEventCreate(&stop_); e != cudaSuccess) return e;
                return cudaEventRecord(start_, stream_);
              }) == cudaSuccess;
  }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  ~timer() {
    if (start_ != nullptr) (void)cudaEventDestroy(start_);
    if (stop_ != nullptr) (void)cudaEventDestroy(stop_);
  }
  double seconds() {
    float ms = -1000;
    if (usable_) {
      (void)quiet_call([&] {
        if (auto e = cudaEventRecord(stop_, stream_); e != cudaSuccess) return e;
        if (auto e = cudaEventSynchronize(stop_); e != cudaSuccess) return e;
        return cudaEventElapsedTime(&ms, start_, stop_);
      });
    }
    return 1e-3 * static_cast<double>(ms);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  bool usable_ = false;
};
#endif

}  // namespace detail

/// Watches what is launched between its construction and `done`. Reports nothing if `done` is not reached or gets a
/// failure.
template <executor Executor>
class scope {
 public:
  scope(const Executor& ex, const launch_record& record) : sink_(detail::current.load()) {
    if (sink_ == nullptr) return;
    record_ = record;
    record_.on_host = Executor::on_host;
    timer_ = new detail::timer<Executor>(ex);
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() { delete timer_; }

  status done(status s) {
    if (timer_ == nullptr) return s;
    if (s.ok()) {
      record_.seconds = timer_->seconds();
      sink_->finished(sink_->context, record_);
    }
    delete timer_;
    timer_ = nullptr;
    return s;
  }

 private:
  const sink* sink_;
  launch_record record_{};
  detail::timer<Executor>* timer_ = nullptr;
};

}  // namespace kiln::trace
