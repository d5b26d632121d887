#pragma once
/// A case whose floor is the bytes that it moves: Kiln's kernel, checked first, beside the copy of as many bytes or,
/// where all fits into the L2 and launching is what counts, beside an empty kernel.
#include <benchmarks/measure/data.hpp>
#include <benchmarks/measure/program.hpp>
#include <cmath>
#include <kiln/core/numeric.hpp>
#include <kiln/core/status.hpp>
#include <kiln/view/tensor.hpp>
#include <list>
#include <memory>
#include <type_traits>

namespace bench {

template <class T>
constexpr element element_of() {
  if constexpr (std::is_same_v<T, float>)
    return element::f32;
  else if constexpr (std::is_same_v<T, kiln::bf16>)
    return element::bf16;
  else if constexpr (std::is_same_v<T, kiln::f16>)
    return element::f16;
  else if constexpr (std::is_same_v<T, kiln::e4m3>)
    return element::e4m3;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return element::int8;
  else
    return element::int32;
}

/// The executor of a launch, and views of what it reaches. What a plain C++ compiler builds runs on the host executor:
/// the cases and their references can be checked without a GPU.
#if defined(__CUDACC__)
inline namespace on_device {
inline auto executor_on(cudaStream_t s) { return kiln::device(s); }
template <class T, class... E>
auto packed(T* data, E... extents) {
  return kiln::device_view(data, static_cast<kiln::index_t>(extents)...);
}
}  // namespace on_device
#else
inline namespace on_host {
inline auto executor_on(cudaStream_t) { return kiln::host; }
template <class T, class... E>
auto packed(T* data, E... extents) {
  return kiln::host_view(data, static_cast<kiln::index_t>(extents)...);
}
}  // namespace on_host
#endif

/// An operand in all its copies. Refers to the memory of its case.
template <class T>
struct copies {
  char* data;
  std::size_t step;
  std::int64_t count;

  T* at(int set) const { return reinterpret_cast<T*>(data + step * static_cast<std::size_t>(set)); }
  template <class... E>
  auto view(int set, E... extents) const {
    return packed(at(set), extents...);
  }
  /// The same, to be read.
  template <class... E>
  auto input(int set, E... extents) const {
    return packed(static_cast<const T*>(at(set)), extents...);
  }
};

/// Half a unit in the last place of one, and half of the smallest number above zero.
struct rounding_of_type {
  double relative, absolute;
};
constexpr rounding_of_type rounding_of(element e) {
  switch (e) {
    case element::bf16:
      return {0x1p-8, 0x1p-134};
    case element::f16:
      return {0x1p-11, 0x1p-25};
    case element::e4m3:
      return {0x1p-4, 0x1p-10};
    case element::f32:
      return {0x1p-24, 0x1p-150};
    default:
      return {0, 0};
  }
}

/// 2^-24, the largest relative error of a float32 rounding.
inline constexpr double u32 = 0x1p-24;
/// Roundings that a term of a row's sum passes at worst (docs/numbers.md).
constexpr double depth_of_sum(std::int64_t n) { return static_cast<double>(n / 16 + 41); }

class memory_case {
 public:
  /// `bytes`: each operand's elements once, read or written.
  explicit memory_case(double bytes) : bytes_(bytes), sets_(copies_for(bytes)) {}

  template <class T>
  copies<T> input(std::int64_t count, float low = -1, float high = 1) {
    const copies<T> made = allocate<T>(count);
    fill(buffers_.back(), element_of<T>(), low, high, buffers_.size());
    return made;
  }
  /// The same values in all copies.
  template <class T>
  copies<T> input_of(const std::vector<T>& values) {
    const copies<T> made = allocate<T>(static_cast<std::int64_t>(values.size()));
    for (int set = 0; set < sets_; ++set)
      need(cudaMemcpy(made.at(set), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return made;
  }
  template <class T>
  copies<T> output(std::int64_t count) {
    const copies<T> made = allocate<T>(count);
    outputs_.push_back({made.data, made.step, element_of<T>(), count});
    return made;
  }
  int sets() const { return sets_; }
  double bytes() const { return bytes_; }

  /// `call(executor, set)` returns Kiln's status. Runs once on poisoned outputs; floats have to be overwritten all.
  template <class Call>
  void set_kiln(Call call) {
    first([call](cudaStream_t s, int set) {
      const kiln::status seen = call(executor_on(s), set);
      if (!seen) throw failure(seen.message());
    });
  }
  /// Another contender, checked elsewhere.
  void add(const std::string& name, launcher l) { names_.push_back(name), launchers_.push_back(std::move(l)); }

  /// Elements [begin, begin + count) of the first copy.
  template <class T>
  std::vector<double> values(const copies<T>& from, std::int64_t begin, std::int64_t count) const {
    std::vector<T> stored(static_cast<std::size_t>(count));
    need(cudaMemcpy(stored.data(), from.at(0) + begin, stored.size() * sizeof(T), cudaMemcpyDeviceToHost),
         "cudaMemcpy");
    std::vector<double> result;
    result.reserve(stored.size());
    for (const T x : stored) {
      if constexpr (std::is_integral_v<T>)
        result.push_back(static_cast<double>(x));
      else
        result.push_back(static_cast<double>(::kiln::convert<float>(x)));
    }
    return result;
  }
  /// Holds elements from `begin` on to `want`: off by at most `bound` and one rounding to T.
  template <class T>
  void expect(const char* what, const copies<T>& out, std::int64_t begin, const std::vector<double>& want,
              const std::vector<double>& bound) const {
    const rounding_of_type r = rounding_of(element_of<T>());
    hold(what, begin, values(out, begin, static_cast<std::int64_t>(want.size())), want, bound, r.relative, r.absolute);
  }

  /// Times Kiln, the copy of equal bytes and what was added; sets time, counters and label.
  timing run_beside_copy(benchmark::State&);
  /// Times Kiln and an empty kernel in graphs of many launches; `over_empty_us` is the difference.
  timing run_beside_nothing(benchmark::State&);
  /// Times Kiln and what was added.
  timing run(benchmark::State&, const timing_options&);

 private:
  struct output_data {
    char* data;
    std::size_t step;
    element type;
    std::int64_t count;
  };

  template <class T>
  copies<T> allocate(std::int64_t count) {
    const std::size_t step = padded_to_line(static_cast<std::size_t>(count) * sizeof(T));
    buffers_.emplace_back(step * static_cast<std::size_t>(sets_));
    return {static_cast<char*>(buffers_.back().at()), step, count};
  }
  void first(launcher);
  static void hold(const char* what, std::int64_t begin, const std::vector<double>& got,
                   const std::vector<double>& want, const std::vector<double>& bound, double relative, double absolute);

  double bytes_;
  int sets_;
  std::list<memory> buffers_;
  std::vector<output_data> outputs_;
  std::vector<std::string> names_;
  std::vector<launcher> launchers_;
  std::string label_;
};

/// Some rows of `count`: the ends and a few between them.
std::vector<std::int64_t> some_rows(std::int64_t count);

}  // namespace bench
