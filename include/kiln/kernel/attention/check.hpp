#pragma once
/// What can be wrong with the arguments of attention, found before anything is launched.
#include <kiln/core/status.hpp>
#include <kiln/kernel/attention/arguments.hpp>
#include <kiln/view/overlap.hpp>

namespace kiln::attn {

inline constexpr index_t largest_head_dim = 256;
inline constexpr index_t most_keys = index_t{1} << 30;  // numbers of keys are ints in the kernels

template <class T, int R, class S, int U>
status check_operand(const char* name, const tensor<T, R, S, U>& v) {
  for (int a = 0; a < R; ++a)
    if (v.extents[a] < 0)
      return fail(errc::bad_shape, "operand `", name, "` has extent ", v.extents[a], " on axis ", a,
                  ", needs at least 0");
  if (v.empty()) return {};
  if (v.data == nullptr) return fail(errc::null_pointer, "operand `", name, "` is null, needs ", v.size(), " elements");
  if (v.size() == INT64_MAX)
    return fail(errc::bad_shape, "operand `", name, "` has more elements than a 64-bit index counts");
  const auto past = reinterpret_cast<std::uintptr_t>(v.data) % alignof(T);
  if (past != 0)
    return fail(errc::bad_alignment, "operand `", name, "` is at an address ", past, " bytes past a multiple of ",
                alignof(T), ", needs a multiple");
  return {};
}

inline status check_extent(const char* name, const char* what, index_t seen, index_t needed, const char* why) {
  if (seen == needed) return {};
  return fail(errc::bad_shape, "operand `", name, "` has ", what, " ", seen, ", needs ", needed, " (", why, ")");
}

template <class A, class B>
status check_apart(const char* name, const A& out, const char* other, const B& in, bool same_is_fine = false) {
  const overlap o = overlaps(out, in);
  if (o == overlap::none || (same_is_fine && o == overlap::same)) return {};
  return fail(errc::overlap, "operand `", name, "` shares memory with `", other, "`, needs memory of its own",
              same_is_fine ? ", or to be the same view" : "");
}

template <class Lengths>
status check_lengths(const char* name, const Lengths& lengths, index_t batch, index_t most) {
  KILN_TRY(check_operand(name, lengths));
  KILN_TRY(check_extent(name, "extent", lengths.extents[0], batch, "the batch of `q`"));
  if constexpr (std::is_same_v<typename Lengths::space, host_space>) {
    for (index_t b = 0; b < batch; ++b)
      if (lengths(b) < 0 || lengths(b) > most)
        return fail(errc::bad_option, "operand `", name, "`: sequence ", b, " has length ", lengths(b), ", needs 0 to ",
                    most);
  }
  return {};
}

/// Which options a call has, each 0 or 1, and the scale of its scores.
struct given {
  int key_lengths, query_lengths, lse;
  float scale;
};

template <class Arguments>
status check(const Arguments& p, const given& has) {
  KILN_TRY(check_operand("q", p.q));
  KILN_TRY(check_operand("k", p.k));
  KILN_TRY(check_operand("v", p.v));
  KILN_TRY(check_operand("out", p.out));
  const index_t *q = p.q.extents, *k = p.k.extents, *v = p.v.extents, *out = p.out.extents;
  KILN_TRY(check_extent("k", "batch", k[0], q[0], "the batch of `q`"));
  KILN_TRY(check_extent("v", "batch", v[0], q[0], "the batch of `q`"));
  KILN_TRY(check_extent("v", "length", v[1], k[1], "the keys of `k`"));
  KILN_TRY(check_extent("v", "heads", v[2], k[2], "the heads of `k`"));
  KILN_TRY(check_extent("k", "head_dim", k[3], q[3], "the head_dim of `q`"));
  KILN_TRY(check_extent("out", "batch", out[0], q[0], "the batch of `q`"));
  KILN_TRY(check_extent("out", "length", out[1], q[1], "the queries of `q`"));
  KILN_TRY(check_extent("out", "heads", out[2], q[2], "the heads of `q`"));
  KILN_TRY(check_extent("out", "head_dim", out[3], v[3], "the head_dim of `v`"));
  if (q[2] > 0 && (k[2] == 0 || q[2] % k[2] != 0))
    return fail(errc::bad_shape, "operand `q` has ", q[2], " heads and `k` has ", k[2],
                ", needs the first to be a multiple of the second");
  if (q[3] > largest_head_dim)
    return fail(errc::unsupported, "operand `q` has head_dim ", q[3], ", needs at most ", largest_head_dim);
  if (v[3] > largest_head_dim)
    return fail(errc::unsupported, "operand `v` has head_dim ", v[3], ", needs at most ", largest_head_dim);
  if (k[1] > most_keys) return fail(errc::unsupported, "operand `k` has ", k[1], " keys, needs at most ", most_keys);
  if (p.mask != causal::none && p.mask != causal::bottom_right && p.mask != causal::top_left)
    return fail(errc::bad_option, "option `mask` is ", static_cast<int>(p.mask),
                ", needs causal::none, causal::bottom_right or causal::top_left");
  if (!(p.scale - p.scale == 0))
    return fail(errc::bad_option, "option `scale` is ", has.scale,
                ", needs a finite number of magnitude at most 2.35e38");  // times log2(e) it is one, too
  if (has.key_lengths != 0) KILN_TRY(check_lengths("key_lengths", p.key_lengths, q[0], k[1]));
  if (has.query_lengths != 0) KILN_TRY(check_lengths("query_lengths", p.query_lengths, q[0], q[1]));

  if (overlaps_itself(p.out))
    return fail(errc::bad_stride, "operand `out` has two elements at one address, needs a place for each");
  KILN_TRY(check_apart("out", p.out, "q", p.q, true));
  KILN_TRY(check_apart("out", p.out, "k", p.k));
  KILN_TRY(check_apart("out", p.out, "v", p.v));
  KILN_TRY(check_apart("out", p.out, "key_lengths", p.key_lengths));
  KILN_TRY(check_apart("out", p.out, "query_lengths", p.query_lengths));
  if (has.lse == 0) return {};
  KILN_TRY(check_operand("log_sum_exp", p.lse));
  KILN_TRY(check_extent("log_sum_exp", "batch", p.lse.extents[0], q[0], "the batch of `q`"));
  KILN_TRY(check_extent("log_sum_exp", "length", p.lse.extents[1], q[1], "the queries of `q`"));
  KILN_TRY(check_extent("log_sum_exp", "heads", p.lse.extents[2], q[2], "the heads of `q`"));
  if (overlaps_itself(p.lse))
    return fail(errc::bad_stride, "operand `log_sum_exp` has two elements at one address, needs a place for each");
  KILN_TRY(check_apart("log_sum_exp", p.lse, "q", p.q));
  KILN_TRY(check_apart("log_sum_exp", p.lse, "k", p.k));
  KILN_TRY(check_apart("log_sum_exp", p.lse, "v", p.v));
  KILN_TRY(check_apart("log_sum_exp", p.lse, "out", p.out));
  KILN_TRY(check_apart("log_sum_exp", p.lse, "key_lengths", p.key_lengths));
  return check_apart("log_sum_exp", p.lse, "query_lengths", p.query_lengths);
}

}  // namespace kiln::attn
