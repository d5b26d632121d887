#pragma once
/// Matrix products for tests: operands that lie in memory in many ways between guards, the exact result, and how far
/// from it a right kernel may be.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <kiln/gemm.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {

struct product_extents {
  index_t m = 1, n = 1, k = 1, batch = 1;
};
inline std::ostream& operator<<(std::ostream& to, const product_extents& e) {
  return to << e.batch << " x (" << e.m << " x " << e.n << " x " << e.k << ")";
}

/// The axis of a [batch, rows, columns] view that runs along memory, as in the view's type.
inline constexpr int by_rows = 2, by_columns = 1, spread_out = no_unit;

enum class placed {
  packed,      ///< lines follow each other
  misaligned,  ///< packed, one element from a 256-byte boundary
  odd_pitch,   ///< lines an odd number of elements apart, batches too
  wide_pitch,  ///< lines 16-byte aligned in a wider buffer
};
constexpr placed any_placement(std::uint64_t bits) { return static_cast<placed>(bits % 4); }

template <int Unit>
struct placement {
  index_t extents[3], strides[3];
  std::size_t span, shift;  ///< elements of the buffer, and before the first

  placement(placed how, index_t batch, index_t rows, index_t cols)
      : extents{batch, rows, cols}, shift(how == placed::misaligned ? 1 : 0) {
    constexpr int inner = Unit == by_columns ? 1 : 2, outer = 3 - inner;
    const index_t step = Unit == spread_out ? 3 : 1, packed = extents[inner] * step;
    strides[inner] = step;
    strides[outer] = how == placed::odd_pitch    ? packed + 2 + (packed + 1) % 2
                     : how == placed::wide_pitch ? round_up<index_t>(packed, 16) + 16
                                                 : packed;
    strides[0] = strides[outer] * extents[outer] + (how == placed::odd_pitch ? 5 : how == placed::wide_pitch ? 32 : 0);
    span = static_cast<std::size_t>(batch * strides[0]);
  }
  std::size_t at(index_t b, index_t i, index_t j) const {
    return static_cast<std::size_t>(b * strides[0] + i * strides[1] + j * strides[2]);
  }

  /// Calls `f(place, number)` for each element, numbered as in a packed row-major buffer.
  template <class F>
  void each(F&& f) const {
    std::size_t number = 0;
    for (index_t b = 0; b < extents[0]; ++b)
      for (index_t i = 0; i < extents[1]; ++i)
        for (index_t j = 0; j < extents[2]; ++j) f(at(b, i, j), number++);
  }
  /// A buffer that holds these elements; the gaps are NaN, or a large integer.
  template <class T>
  std::vector<T> spread(const std::vector<T>& packed) const {
    std::vector<T> r(span);
    if (span != 0) std::memset(static_cast<void*>(r.data()), poison_byte<T>, span * sizeof(T));
    each([&](std::size_t place, std::size_t number) { r[place] = packed[number]; });
    return r;
  }
  template <class E, class T>
  auto view(T* data) const {
    const auto v = view_on<E>(data, extents, strides);
    if constexpr (Unit == no_unit) return v;
    else return with_unit<Unit>(v);
  }
};

/// B as `product_of` takes it, of one that lies [n, k].
template <class T>
std::vector<T> by_k(const std::vector<T>& b, index_t n, index_t k) {
  std::vector<T> r(b.size());
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < k; ++j) r[static_cast<std::size_t>(j * n + i)] = b[static_cast<std::size_t>(i * k + j)];
  return r;
}

/// The product [batch, m, n], and for each element the sum of the magnitudes of its products. Integers wrap as int32
/// does.
struct exact_product {
  std::vector<double> value, magnitude;
};
template <class Ta, class Tb>
exact_product product_of(const product_extents& e, const std::vector<Ta>& a, const std::vector<Tb>& b) {
  constexpr bool integers = std::is_integral_v<Ta> && std::is_integral_v<Tb>;
  using number = std::conditional_t<integers, std::int64_t, double>;
  const auto m = static_cast<std::size_t>(e.m), n = static_cast<std::size_t>(e.n), k = static_cast<std::size_t>(e.k),
             batch = static_cast<std::size_t>(e.batch);
  exact_product r{std::vector<double>(batch * m * n), std::vector<double>(batch * m * n)};
  std::vector<number> sums(n);
  std::vector<double> sizes(n);
  for (std::size_t row = 0; row < batch * m; ++row) {
    sums.assign(n, 0), sizes.assign(n, 0);
    for (std::size_t l = 0; l < k; ++l) {
      const auto x = static_cast<number>(as_double(a[row * k + l]));
      const Tb* line = b.data() + (row / m * k + l) * n;
      for (std::size_t j = 0; j < n; ++j) {
        const number product = x * static_cast<number>(as_double(line[j]));
        sums[j] += product, sizes[j] += std::abs(static_cast<double>(product));
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      if constexpr (integers)
        r.value[row * n + j] = static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[j])));
      else r.value[row * n + j] = sums[j];
      r.magnitude[row * n + j] = sizes[j];
    }
  }
  return r;
}

template <class T>
inline constexpr bool is_fp8 = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;

/// How far a float32 sum of k products may be from the exact one: in any order, each product and each addition rounded
/// or cut to 24 bits, first-order terms times 1.01. Integers are exact. Hopper's units add 32 products of 8-bit floats
/// at a time to the sum of a block of 128, and cut each of these 33 terms 13 bits below the largest.
template <class Ta, class Tb, class E>
double sum_error(index_t k, double magnitude) {
  if (std::is_integral_v<Ta> && std::is_integral_v<Tb>) return 0;
  const double cut = is_fp8<Ta> && is_fp8<Tb> && !E::on_host ? 4 * 33 * 0x1p-13 : 0;
  return 1.01 * (static_cast<double>(k + 1) * 0x1p-23 + cut) * magnitude;
}

/// `seen` is `exact` within `error`, stored as Out: rounded once, integers clamped to the type's range.
template <class Out>
bool is_near(Out seen, double exact, double error) {
  if constexpr (std::is_integral_v<Out>) {
    const double low = static_cast<double>(limits<Out>::lowest()), high = static_cast<double>((limits<Out>::max)());
    const double clamped = exact < low ? low : exact > high ? high : exact;
    return std::abs(as_double(seen) - clamped) <= (error == 0 && exact == std::floor(exact) ? 0 : error + 0.5);
  } else {
    const double half_ulp = std::ldexp(1.0, -limits<Out>::digits) * (std::abs(exact) + error);
    const double half_subnormal = as_double(limits<Out>::smallest()) / 2;
    return std::abs(as_double(seen) - exact) <= error + half_ulp + half_subnormal;
  }
}

/// What was checked, and the first few elements that are wrong.
class mismatches {
 public:
  void add(const char* what, index_t batch, index_t row, index_t col, double seen, double exact, double error) {
    if (++count_ > 3) return;
    ADD_FAILURE() << what << " of batch " << batch << ", row " << row << ", column " << col << " is " << seen
                  << ", needs " << exact << " within " << error;
  }
  ~mismatches() { EXPECT_LE(count_, 3) << "elements are wrong"; }

 private:
  int count_ = 0;
};

/// Where A, B and D lie.
struct places {
  placed a = placed::packed, b = placed::packed, d = placed::packed;
};

/// D = A B of packed values, everything guarded: D's elements in a packed buffer. `Config` may pin a configuration.
template <class Out, int UnitA, int UnitB, int UnitD = by_rows, class Config = automatic, class Fixture, class E,
          class Ta, class Tb>
std::vector<Out> multiplied(Fixture& test, const E& ex, const product_extents& e, const std::vector<Ta>& a,
                            const std::vector<Tb>& b, const places& at = {}) {
  const placement<UnitA> at_a(at.a, e.batch, e.m, e.k);
  const placement<UnitB> at_b(at.b, e.batch, e.k, e.n);
  const placement<UnitD> at_d(at.d, e.batch, e.m, e.n);
  auto& da = test.template input<Ta>(at_a.spread(a), at_a.shift);
  auto& db = test.template input<Tb>(at_b.spread(b), at_b.shift);
  auto& dd = test.template output<Out>(at_d.span, std::is_integral_v<Out> ? prefill::x55 : prefill::nan, at_d.shift);
  const status s = gemm<Config>(ex, at_a.template view<E>(da.data()), at_b.template view<E>(db.data()),
                                store(at_d.template view<E>(dd.data()), acc));
  EXPECT_TRUE(s.ok()) << s.message();
  const auto d = dd.values();
  std::vector<Out> packed(static_cast<std::size_t>(e.batch * e.m * e.n));
  std::vector<bool> mine(at_d.span);
  at_d.each([&](std::size_t place, std::size_t i) { mine[place] = true, packed[i] = d[place]; });
  EXPECT_TRUE(dd.wrote_only([&](std::size_t i) { return mine[i]; }));
  return packed;
}

/// Random A and B against the exact product.
template <class Ta, class Tb, class Out, int UnitA, int UnitB, int UnitD = by_rows, class Config = automatic,
          class Fixture, class E>
void expect_product(Fixture& test, const E& ex, const product_extents& e, std::uint64_t seed, const places& at) {
  SCOPED_TRACE(::testing::Message() << e << ", seed " << seed << ", placed " << static_cast<int>(at.a)
                                    << static_cast<int>(at.b) << static_cast<int>(at.d));
  const auto a = uniform<Ta>(static_cast<std::size_t>(e.batch * e.m * e.k), hash(seed, 1));
  const auto b = uniform<Tb>(static_cast<std::size_t>(e.batch * e.k * e.n), hash(seed, 2));
  const auto d = multiplied<Out, UnitA, UnitB, UnitD, Config>(test, ex, e, a, b, at);
  const auto want = product_of(e, a, b);
  mismatches wrong;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const double error = sum_error<Ta, Tb, E>(e.k, want.magnitude[i]);
    if (is_near(d[i], want.value[i], error)) continue;
    const auto number = static_cast<index_t>(i);
    wrong.add("D", number / (e.m * e.n), number / e.n % e.m, number % e.n, as_double(d[i]), want.value[i], error);
  }
}

/// Elements f(i, j) of a packed matrix.
template <class T, class F>
std::vector<T> matrix_of(index_t rows, index_t cols, F&& f) {
  std::vector<T> r;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) r.push_back(value_of<T>(static_cast<double>(f(i, j))));
  return r;
}
/// Every element of a packed matrix is exactly f(i, j).
template <class T, class F>
void expect_matrix(const std::vector<T>& d, index_t rows, index_t cols, F&& f) {
  ASSERT_EQ(d.size(), static_cast<std::size_t>(rows * cols));
  mismatches wrong;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) {
      const double seen = as_double(d[static_cast<std::size_t>(i * cols + j)]), want = static_cast<double>(f(i, j));
      if (!(seen == want)) wrong.add("D", 0, i, j, seen, want, 0);
    }
}

/// All of 1, 7, 33, 65 and one more than a K of 128 bytes for M, N and K, then random extents; on the device also some
/// that take many tiles. Placements vary.
template <class Ta, class Tb, class Out, int UnitA, int UnitB, int UnitD = by_rows, class Config = automatic,
          class Fixture>
void expect_products(Fixture& test, std::uint64_t seed) {
  const auto ex = test.executor();
  const auto check = [&](const product_extents& e, std::uint64_t number) {
    const std::uint64_t bits = hash(seed, number);
    expect_product<Ta, Tb, Out, UnitA, UnitB, UnitD, Config>(
        test, ex, e, bits, {any_placement(bits), any_placement(bits >> 8), any_placement(bits >> 16)});
  };
  const index_t odd[] = {1, 7, 33, 65, 128 / static_cast<index_t>(sizeof(Ta)) + 1};
  std::uint64_t number = 0;
  for (const index_t m : odd)
    for (const index_t n : odd)
      for (const index_t k : odd) check({m, n, k, 1}, ++number);
  const auto below = [&](std::uint64_t i, index_t limit) {
    return static_cast<index_t>(hash(seed + 77, i) % static_cast<std::uint64_t>(limit));
  };
  for (std::uint64_t i = 0; i < 10; ++i)
    check({1 + below(4 * i, 90), 1 + below(4 * i + 1, 90), below(4 * i + 2, 200), 1 + below(4 * i + 3, 3)}, ++number);
  if constexpr (!std::decay_t<decltype(ex)>::on_host)
    for (const product_extents e : {product_extents{300, 520, 391, 1},
                                    {257, 129, 1000, 2},
                                    {1, 4099, 256, 1},
                                    {1031, 8, 72, 3},
                                    {640, 768, 512, 1}})
      check(e, ++number);
}

/// A pinned configuration on a few extents, watched on the host. `aligned`: operands as TMA needs them.
template <class Ta, class Tb, class Out, int UnitA, int UnitB, class Config, class Fixture, class E>
void expect_pinned(Fixture& test, const E& ex, std::initializer_list<product_extents> all, std::uint64_t seed,
                   bool aligned = false) {
  std::uint64_t number = 0;
  for (const product_extents& e : all) {
    const std::uint64_t bits = hash(seed, ++number);
    const placed a = aligned ? placed::wide_pitch : any_placement(bits),
                 b = aligned ? placed::wide_pitch : any_placement(bits >> 8);
    expect_product<Ta, Tb, Out, UnitA, UnitB, by_rows, Config>(test, ex, e, bits, {a, b, any_placement(bits >> 16)});
  }
}

/// A fixture whose guarded buffers are views at once.
template <class E>
class with_views : public on_executor<E> {
 protected:
  /// Guarded copies as views.
  template <class T, class... I>
  auto in(const std::vector<T>& values, I... extents) {
    return view_on<E>(this->template input<T>(values).data(), extents...);
  }
  template <class T, class... I>
  auto out(I... extents) {
    auto& buffer = this->template output<T>((static_cast<std::size_t>(extents) * ...),
                                            std::is_integral_v<T> ? prefill::x55 : prefill::nan);
    return std::pair{view_on<E>(buffer.data(), extents...), &buffer};
  }
};

/// A configuration for the device; the host keeps its own, which compiles soonest. Others run there in ring_test and
/// warp_specialized_test.
template <class E, class Config>
using on_gpu = std::conditional_t<E::on_host, automatic, Config>;

/// Why warp_specialized cannot run here; empty if it can.
template <class E>
std::string no_hopper_here() {
#if defined(__CUDACC__)
  if (!E::on_host && (!detail::builds_for_hopper || device_attribute(cudaDevAttrComputeCapabilityMajor, 0) != 9))
    return "needs a GPU of compute capability 9.0 and a build for sm_90a";
#endif
  return {};
}

template <class E>
auto watched(const E& ex) {
  if constexpr (E::on_host) return ex.with_checks();
  else return ex;
}

/// Runs a plan with as much workspace as it asks for: guarded memory on the device, the executor's own on the host,
/// watched.
template <class E, class Plan>
status run_with_workspace(on_executor<E>& test, const Plan& plan) {
  if constexpr (E::on_host) {
    return plan.run(watched(test.executor()));
  } else {
    auto& scratch = test.template output<unsigned char>(plan.workspace_size());
    return plan.run(E{nullptr, {scratch.data(), scratch.size()}});
  }
}

}  // namespace kiln::test
