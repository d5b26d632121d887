#pragma once
/// Operands for tests: hashed, so that they vary along every axis and a swapped index shows. Fixed seeds, no state.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <kiln/core/numeric.hpp>

namespace kiln::test {

/// SplitMix64's output function (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs.
constexpr std::uint64_t hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t hash(std::uint64_t seed, std::uint64_t i) { return hash(hash(seed) ^ i); }

/// Uniform in [0, 1) with 53 bits.
constexpr double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Value as T, rounded once, as the library rounds.
template <class T>
T value_of(double x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(x);
  } else {
    return convert<T>(x);
  }
}

/// Exact: every type of the library fits in a double.
template <class T>
double as_double(T x) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(x);
  } else {
    return static_cast<double>(convert<float>(x));
  }
}

template <class T>
std::vector<double> as_double(const std::vector<T>& values) {
  std::vector<double> r(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) r[i] = as_double(values[i]);
  return r;
}

/// Integers in [low, high]; small ones keep float sums of products exact, so results can be compared bit by bit.
template <class T>
std::vector<T> small_integers(std::size_t count, std::uint64_t seed, int low = -4, int high = 4) {
  std::vector<T> r(count);
  const auto span = static_cast<std::uint64_t>(high - low + 1);
  for (std::size_t i = 0; i < count; ++i) r[i] = value_of<T>(low + static_cast<int>(hash(seed, i) % span));
  return r;
}

/// Uniform in [-1, 1), rounded to T; of an integer type, uniform over all its values.
template <class T>
std::vector<T> uniform(std::size_t count, std::uint64_t seed) {
  std::vector<T> r(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::integral<T>) {
      r[i] = static_cast<T>(hash(seed, i));
    } else {
      r[i] = value_of<T>(2 * unit_interval(hash(seed, i)) - 1);
    }
  }
  return r;
}

}  // namespace kiln::test
