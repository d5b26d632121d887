#pragma once
/// An attention problem, its float64 reference with error bounds, and the call on packed or strided operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include <kiln/attention.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/fill.hpp"

namespace kiln::test {

struct attention_problem {
  index_t batch = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, dim = 1, value_dim = 1;
  causal mask = causal::none;
  std::optional<float> scale{};
  std::vector<std::int32_t> key_lengths{}, query_lengths{};  // empty: all

  std::size_t q_size() const { return static_cast<std::size_t>(batch * queries * heads * dim); }
  std::size_t k_size() const { return static_cast<std::size_t>(batch * keys * kv_heads * dim); }
  std::size_t v_size() const { return static_cast<std::size_t>(batch * keys * kv_heads * value_dim); }
  std::size_t out_size() const { return static_cast<std::size_t>(batch * queries * heads * value_dim); }
  std::size_t lse_size() const { return static_cast<std::size_t>(batch * queries * heads); }
  std::size_t q_at(index_t b, index_t i, index_t h, index_t c) const {
    return static_cast<std::size_t>(((b * queries + i) * heads + h) * dim + c);
  }
  std::size_t k_at(index_t b, index_t j, index_t h, index_t c) const {
    return static_cast<std::size_t>(((b * keys + j) * kv_heads + h) * dim + c);
  }
  std::size_t v_at(index_t b, index_t j, index_t h, index_t c) const {
    return static_cast<std::size_t>(((b * keys + j) * kv_heads + h) * value_dim + c);
  }
  std::size_t out_at(index_t b, index_t i, index_t h, index_t c) const {
    return static_cast<std::size_t>(((b * queries + i) * heads + h) * value_dim + c);
  }
  std::size_t lse_at(index_t b, index_t i, index_t h) const {
    return static_cast<std::size_t>((b * queries + i) * heads + h);
  }

  index_t keys_of(index_t b) const { return key_lengths.empty() ? keys : key_lengths[static_cast<std::size_t>(b)]; }
  index_t queries_of(index_t b) const {
    return query_lengths.empty() ? queries : query_lengths[static_cast<std::size_t>(b)];
  }
  /// Written out anew, so that the library's own rule is tested against it.
  bool sees(index_t b, index_t i, index_t j) const {
    if (j >= keys_of(b)) return false;
    if (mask == causal::top_left) return j <= i;
    if (mask == causal::bottom_right) return queries_of(b) - 1 - i <= keys_of(b) - 1 - j;
    return true;
  }
};

/// Operands [batch, length, heads, dim], packed.
template <class T>
struct attention_operands {
  std::vector<T> q, k, v;
};
template <class T>
attention_operands<T> hashed_operands(const attention_problem& p, std::uint64_t seed) {
  return {uniform<T>(p.q_size(), seed), uniform<T>(p.k_size(), seed + 1), uniform<T>(p.v_size(), seed + 2)};
}
template <class T>
attention_operands<T> filled(const attention_problem& p, double q, double k, double v) {
  return {std::vector<T>(p.q_size(), value_of<T>(q)), std::vector<T>(p.k_size(), value_of<T>(k)),
          std::vector<T>(p.v_size(), value_of<T>(v))};
}

struct attention_result {
  std::vector<double> out, lse;
};

/// The exact result and how far a right kernel may be from it. With u = 2^-24 the natural logarithm of a weight is off
/// by
///   the score: 2 u (dim + 2) scale sum|q k|  (matrix units may truncate), and 4 u |score| for the scaled product;
///   the exponent: a subtraction for the weight and one for each rise of the maximum, together at most 2 u (range of
///   scores), and 2^-22 for each of these exp2, at most one a step of 16 or more keys, and as much for the products
///   with them.
/// Numerator and denominator are both off by that, and by a rounding for each of their n terms; the weights moreover by
/// `weight_unit` where they are rounded to the element type. Products of these terms are covered by the factor 1.02.
struct attention_reference {
  attention_result exact, bound;
};
template <class T, class Out>
attention_reference reference_of(const attention_problem& p, const attention_operands<T>& x, double weight_unit) {
  const double u = 0x1p-24, scale = p.scale ? static_cast<double>(*p.scale) : 1 / std::sqrt(static_cast<double>(p.dim));
  attention_reference r{{std::vector<double>(p.out_size()), std::vector<double>(p.lse_size())},
                        {std::vector<double>(p.out_size()), std::vector<double>(p.lse_size())}};
  for (index_t b = 0; b < p.batch; ++b)
    for (index_t i = 0; i < p.queries_of(b); ++i)
      for (index_t h = 0; h < p.heads; ++h) {
        const index_t kv = h / (p.heads / p.kv_heads);
        std::vector<double> weight;
        std::vector<index_t> seen;
        double top = -INFINITY, low = INFINITY, magnitude = 0;
        for (index_t j = 0; j < p.keys_of(b); ++j) {
          if (!p.sees(b, i, j)) continue;
          double dot = 0, sizes = 0;
          for (index_t c = 0; c < p.dim; ++c) {
            const double product = as_double(x.q[p.q_at(b, i, h, c)]) * as_double(x.k[p.k_at(b, j, kv, c)]);
            dot += product, sizes += std::abs(product);
          }
          weight.push_back(scale * dot), seen.push_back(j);
          top = std::max(top, scale * dot), low = std::min(low, scale * dot),
          magnitude = std::max(magnitude, std::abs(scale) * sizes);
        }
        if (seen.empty()) {
          r.exact.lse[p.lse_at(b, i, h)] = -INFINITY;
          continue;  // zeros, exactly
        }
        double sum = 0;
        for (auto& w : weight) sum += w = std::exp(w - top);
        const double n = static_cast<double>(seen.size()), steps = std::ceil(n / 16);
        const double largest = std::max(std::abs(top), std::abs(low));
        const double weight_error = 2 * u * static_cast<double>(p.dim + 2) * magnitude + 4 * u * largest +
                                    2 * u * (top - low) + 6 * u * (steps + 1);
        const double lse = top + std::log(sum);
        r.exact.lse[p.lse_at(b, i, h)] = lse;
        r.bound.lse[p.lse_at(b, i, h)] = 1.02 * (weight_error + n * u) + 4 * u * (std::abs(lse) + std::abs(top) + 1);
        for (index_t c = 0; c < p.value_dim; ++c) {
          double value = 0, size = 0, sizes = 0;
          for (std::size_t j = 0; j < seen.size(); ++j) {
            const double v = as_double(x.v[p.v_at(b, seen[j], kv, c)]);
            value += weight[j] / sum * v, size += weight[j] / sum * std::abs(v), sizes += std::abs(v);
          }
          const std::size_t at = p.out_at(b, i, h, c);
          r.exact.out[at] = value;
          // Weights below 2^-14 are subnormal in f16 and off by up to 2^-25; so is a result.
          const double subnormal = std::is_same_v<T, f16> && weight_unit > 0 ? 0x1p-25 * sizes : 0;
          const double rounding = std::ldexp(1.0, -limits<Out>::digits);
          const double before = 1.02 * size * (2 * weight_error + weight_unit + 3 * u * n + 4 * u) + subnormal;
          r.bound.out[at] =
              before + rounding * (std::abs(value) + before) + (std::is_same_v<Out, f16> ? 0x1p-25 : 0x1p-149);
        }
      }
  return r;
}

/// Where an operand lies.
enum class placed {
  packed,       ///< rows of the last axis follow each other
  misaligned,   ///< packed, one element from a 16-byte boundary
  padded,       ///< three elements of NaN behind each row: no vectors
  spread,       ///< every third element of memory, no axis known to be contiguous
  heads_first,  ///< [batch, heads, length, dim] in memory
};

/// Strides of a [batch, length, heads, dim] operand so placed, and the elements that it spans.
struct placement {
  index_t extents[4], strides[4];
  std::size_t span;
  placement(placed how, index_t batch, index_t length, index_t heads, index_t dim)
      : extents{batch, length, heads, dim} {
    const index_t step = how == placed::spread ? 3 : 1, row = dim * step + (how == placed::padded ? 3 : 0);
    if (how == placed::heads_first)
      strides[0] = row * length * heads, strides[1] = row, strides[2] = row * length, strides[3] = step;
    else strides[0] = row * length * heads, strides[1] = row * heads, strides[2] = row, strides[3] = step;
    span = static_cast<std::size_t>(row * length * heads * batch);
  }
  std::size_t at(std::size_t packed) const {
    std::size_t place = 0;
    for (int a = 3; a >= 0; --a) {
      const auto n = static_cast<std::size_t>(extents[a]);
      place += packed % n * static_cast<std::size_t>(strides[a]), packed /= n;
    }
    return place;
  }
  template <class T>
  std::vector<T> spread(const std::vector<T>& packed) const {
    std::vector<T> r(span, value_of<T>(NAN));
    for (std::size_t i = 0; i < packed.size(); ++i) r[at(i)] = packed[i];
    return r;
  }
};

/// Runs attention on guarded copies of the operands. Rows that are not to be written are NaN in the result, and
/// checked.
template <class Config = automatic, class Out, class Fixture, class T, class E>
attention_result attend(Fixture& test, const E& ex, const attention_problem& p, const attention_operands<T>& x,
                        placed how = placed::packed) {
  const placement q(how, p.batch, p.queries, p.heads, p.dim), k(how, p.batch, p.keys, p.kv_heads, p.dim),
      v(how, p.batch, p.keys, p.kv_heads, p.value_dim), out(how, p.batch, p.queries, p.heads, p.value_dim);
  const std::size_t shift = how == placed::misaligned ? 1 : 0;
  auto& dq = test.template input<T>(q.spread(x.q), shift);
  auto& dk = test.template input<T>(k.spread(x.k), shift);
  auto& dv = test.template input<T>(v.spread(x.v), shift);
  auto& dout = test.template output<Out>(out.span, prefill::nan, shift);
  auto& dlse = test.template output<float>(p.lse_size());
  const auto view = [](auto* data, const placement& at) { return view_on<E>(data, at.extents, at.strides); };
  const auto call = [&](const auto&... lengths) {
    const status s = attention<Config>(ex, view(dq.data(), q), view(dk.data(), k), view(dv.data(), v),
                                       view(dout.data(), out), {.scale = p.scale, .mask = p.mask}, lengths...,
                                       log_sum_exp(view_on<E>(dlse.data(), p.batch, p.queries, p.heads)));
    EXPECT_TRUE(s.ok()) << s.message();
  };
  const auto lengths_on = [&](const std::vector<std::int32_t>& l) {
    return view_on<E>(test.template input<std::int32_t>(l).data(), p.batch);
  };
  if (p.key_lengths.empty() && p.query_lengths.empty()) call();
  else if (p.query_lengths.empty()) call(key_lengths(lengths_on(p.key_lengths)));
  else if (p.key_lengths.empty()) call(query_lengths(lengths_on(p.query_lengths)));
  else call(key_lengths(lengths_on(p.key_lengths)), query_lengths(lengths_on(p.query_lengths)));

  attention_result r;
  const auto values = dout.values();
  std::vector<bool> mine(out.span);
  for (std::size_t i = 0; i < p.out_size(); ++i) {
    mine[out.at(i)] = true;
    r.out.push_back(as_double(values[out.at(i)]));
  }
  EXPECT_TRUE(dout.wrote_only([&](std::size_t i) { return mine[i]; }));
  for (float l : dlse.values()) r.lse.push_back(static_cast<double>(l));
  for (index_t b = 0; b < p.batch; ++b)
    for (index_t i = p.queries_of(b); i < p.queries; ++i)
      for (index_t h = 0; h < p.heads; ++h) {
        EXPECT_TRUE(std::isnan(r.lse[p.lse_at(b, i, h)])) << "row " << i << " is behind the queries of sequence " << b;
        for (index_t c = 0; c < p.value_dim; ++c) EXPECT_TRUE(std::isnan(r.out[p.out_at(b, i, h, c)]));
      }
  return r;
}

/// Every element within its bound, rows behind a sequence's queries left out.
inline void expect_within(const attention_problem& p, const attention_result& r, const attention_reference& want) {
  int shown = 0;
  const auto compare = [&](const char* what, double seen, double exact, double bound, index_t b, index_t i, index_t h,
                           index_t c) {
    if (seen == exact || std::abs(seen - exact) <= bound || ++shown > 3) return;
    ADD_FAILURE() << what << " of sequence " << b << ", query " << i << ", head " << h << ", column " << c << " is "
                  << seen << ", needs " << exact << " within " << bound;
  };
  for (index_t b = 0; b < p.batch; ++b)
    for (index_t i = 0; i < p.queries_of(b); ++i)
      for (index_t h = 0; h < p.heads; ++h) {
        const auto l = p.lse_at(b, i, h);
        compare("log-sum-exp", r.lse[l], want.exact.lse[l], want.bound.lse[l], b, i, h, 0);
        for (index_t c = 0; c < p.value_dim; ++c) {
          const auto o = p.out_at(b, i, h, c);
          compare("result", r.out[o], want.exact.out[o], want.bound.out[o], b, i, h, c);
        }
      }
  EXPECT_LE(shown, 3) << "and more";
}

/// What the weights are rounded to before they meet V: nothing on the host's default and for float.
template <class T, class E, class Config = automatic>
constexpr double weight_rounding() {
  bool tensor_cores = sizeof(T) == 2 && !E::on_host;
  if constexpr (is_attention_config_v<Config>) tensor_cores = Config::is_sm80;
  return tensor_cores ? 1.0 / static_cast<double>(std::uint64_t{1} << limits<T>::digits) : 0;
}

}  // namespace kiln::test
