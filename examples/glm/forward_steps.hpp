#pragma once
/// The steps of the forward. Each is one kernel, with what follows a product fused into its epilogue.
#include <algorithm>
#include <cmath>
#include <kiln/argmax.hpp>
#include <kiln/attention.hpp>
#include <kiln/embedding.hpp>
#include <kiln/gemm.hpp>
#include <kiln/norm.hpp>
#include <kiln/rotary.hpp>
#include <string>
#include <vector>

#include "error.hpp"
#include "forward.hpp"
#include "trace.hpp"

namespace glm {

/// Makes an array at least as large as asked for; its values are lost when it grows.
template <class T, class Executor>
void reserve(array<T, Executor>& a, kiln::index_t size) {
  if (a.size() < size) a = array<T, Executor>(size);
}

/// Checks the ids and lays the tokens out as rows.
template <class T, class Executor>
void forward<T, Executor>::lay_out(const std::vector<sequence>& tokens, const cache& past, positions wanted) {
  if (static_cast<kiln::index_t>(tokens.size()) != past.sequences()) {
    fail("there are ", tokens.size(), " prompts, the cache is for ", past.sequences());
  }
  if (tokens.empty()) fail("there are no prompts");
  std::vector<std::int32_t> ids, at, places, rows, lengths;
  new_tokens_.clear();
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    const kiln::index_t before = past.lengths()[b], count = static_cast<kiln::index_t>(tokens[b].size());
    check_tokens(b, tokens[b], c_.vocabulary);
    if (before + count > past.capacity())
      fail("prompt ", b, " needs ", before + count, " rows of a cache of ", past.capacity());
    for (std::size_t i = 0; i < tokens[b].size(); ++i) {
      const kiln::index_t position = before + static_cast<kiln::index_t>(i);
      ids.push_back(tokens[b][i]);
      at.push_back(static_cast<std::int32_t>(position));
      places.push_back(static_cast<std::int32_t>(static_cast<kiln::index_t>(b) * past.capacity() + position));
      if (wanted == positions::all || i + 1 == tokens[b].size())
        rows.push_back(static_cast<std::int32_t>(ids.size()) - 1);
    }
    new_tokens_.push_back(count);
    lengths.push_back(static_cast<std::int32_t>(before + count));
  }
  rows_ = static_cast<kiln::index_t>(ids.size());
  rows_wanted_ = static_cast<kiln::index_t>(rows.size());
  const auto send = [this](buffer<std::int32_t>& to, const std::vector<std::int32_t>& values) {
    reserve(to, static_cast<kiln::index_t>(values.size()));
    to.upload(ex_, values);
  };
  send(ids_, ids);          // of each row
  send(positions_, at);     // of each row, in its sequence
  send(places_, places);    // of each row, in the cache
  send(wanted_, rows);      // the rows whose logits are wanted
  send(lengths_, lengths);  // of each sequence, the new tokens counted

  reserve(x_, rows_ * c_.hidden);
  for (buffer<T>* b : {&n_, &branch_}) reserve(*b, rows_ * c_.hidden);
  reserve(qkv_, rows_ * c_.qkv_width());
  reserve(context_, rows_ * c_.q_width());
  reserve(act_, rows_ * c_.intermediate);
  reserve(last_, rows_wanted_ * c_.hidden);
  reserve(logits_, rows_wanted_ * c_.vocabulary);
  reserve(largest_, rows_wanted_);
  reserve(chosen_, rows_wanted_);
}

template <class T, class Executor>
void forward<T, Executor>::run(const std::vector<sequence>& tokens, cache& past, positions wanted) {
  lay_out(tokens, past, wanted);
  embed();
  for (std::size_t layer = 0; layer < w_.layers.size(); ++layer) {
    attention_sublayer(w_.layers[layer], past, static_cast<kiln::index_t>(layer));
    const bool last = layer + 1 == w_.layers.size();
    mlp_sublayer(w_.layers[layer], last ? w_.final_norm : w_.layers[layer + 1].input_norm);
    show(static_cast<kiln::index_t>(layer) + 1, x_);
  }
  show(c_.layers + 1, n_);
  head();
  for (std::size_t b = 0; b < tokens.size(); ++b) past.grow(b, static_cast<kiln::index_t>(tokens[b].size()));
}

/// One product with its epilogue. Reductions need scratch memory, and with it a product of few rows may be split over
/// K.
template <class T, class Executor>
template <class A, class B, class... Sinks>
void forward<T, Executor>::multiply(const A& a, const B& b, const Sinks&... sinks) {
  const auto plan = kiln::plan_gemm(a, b, sinks...);
  plan.state().or_throw();
  reserve(scratch_, static_cast<kiln::index_t>(plan.workspace_size()));
  Executor ex = ex_;
  ex.scratch = {scratch_.data(), static_cast<std::size_t>(scratch_.size())};
  plan.run(ex).or_throw();
}

template <class T, class Executor>
void forward<T, Executor>::embed() {
  const auto x = rows_of(x_, c_.hidden);
  const auto n = rows_of(n_, c_.hidden);
  launch_trace::step("embedding");
  kiln::embedding(ex_, ids_.view(rows_), w_.embedding.view(c_.vocabulary, c_.hidden), x).or_throw();
  show(0, x_);
  launch_trace::step("input norm");
  kiln::rms_norm(ex_, x, norm_weight(w_.layers[0].input_norm), n, eps()).or_throw();
}

/// From n, the normed stream, to x + attention and its norm.
template <class T, class Executor>
void forward<T, Executor>::attention_sublayer(const layer_type& w, const cache& past, kiln::index_t layer) {
  using namespace kiln;
  const auto x = rows_of(x_, c_.hidden);
  const auto n = rows_of(n_, c_.hidden), branch = rows_of(branch_, c_.hidden);
  const auto qkv = rows_of(qkv_, c_.qkv_width());
  const auto qkv_weight = transposed(w.qkv.view(c_.qkv_width(), c_.hidden));
  launch_trace::step(c_.qkv_bias ? "q, k, v + bias" : "q, k, v");
  if (c_.qkv_bias) {
    multiply(n, qkv_weight, store(qkv, acc + per_column(w.qkv_bias.view(c_.qkv_width()))));
  } else {
    multiply(n, qkv_weight, store(qkv, acc));
  }
  attend(past, layer);

  const auto context = rows_of(context_, c_.q_width());
  const auto o_weight = transposed(w.o.view(c_.hidden, c_.q_width()));
  const auto post_norm = norm_weight(w.post_attention_norm);
  if (c_.sandwich()) {
    launch_trace::step("o");
    multiply(context, o_weight, store(branch, acc));
    launch_trace::step("norms");
    rms_norm(ex_, branch, norm_weight(w.post_self_attn_norm), branch, eps()).or_throw();
    add_rms_norm(ex_, branch, x, post_norm, x, n, eps()).or_throw();
  } else {
    launch_trace::step("o + residual");
    multiply(context, o_weight, store(x, acc + elem(x)));
    launch_trace::step("norms");
    rms_norm(ex_, x, post_norm, n, eps()).or_throw();
  }
}

/// Turns queries and keys by their positions, puts keys and values into the cache, and attends to all that is there.
template <class T, class Executor>
void forward<T, Executor>::attend(const cache& past, kiln::index_t layer) {
  using namespace kiln;
  const kiln::index_t all_heads = c_.heads + 2 * c_.kv_heads;
  const auto heads = qkv_.view(rows_, all_heads, c_.head_dim);
  const auto q = slice(heads, 1, 0, c_.heads);
  const auto k = slice(heads, 1, c_.heads, c_.heads + c_.kv_heads);
  const auto v = slice(heads, 1, c_.heads + c_.kv_heads, all_heads);
  const auto keys = past.keys(layer), values = past.values(layer);
  const rotary_options turn{
      .theta = c_.rope_theta, .width = static_cast<int>(c_.rotary_dim), .pairs = pairing::interleaved};
  launch_trace::step("rotary, cache");
  rotary_append(ex_, q, q, k, v, positions_.view(rows_), places_.view(rows_), keys, values, turn).or_throw();

  launch_trace::step("attention");
  // Sequences with equally many new tokens, as when decoding, are one launch.
  const auto sequences = static_cast<kiln::index_t>(new_tokens_.size());
  const bool even = std::equal(new_tokens_.begin() + 1, new_tokens_.end(), new_tokens_.begin());
  const kiln::index_t together = even ? sequences : 1;
  kiln::index_t row = 0;
  for (kiln::index_t b = 0; b < sequences; b += together) {
    const kiln::index_t count = new_tokens_[static_cast<std::size_t>(b)];
    const auto part = [&](const buffer<T>& all, kiln::index_t width) {
      return view_on<Executor>(all.data() + row * width * c_.head_dim, together, count, width, c_.head_dim);
    };
    attention(ex_, slice(part(qkv_, all_heads), 2, 0, c_.heads), slice(keys, 0, b, b + together),
              slice(values, 0, b, b + together), part(context_, c_.heads), {.mask = causal::bottom_right},
              key_lengths(slice(lengths_.view(sequences), 0, b, b + together)))
        .or_throw();
    row += together * count;
  }
}

/// From n to x + MLP, and the norm that comes next.
template <class T, class Executor>
void forward<T, Executor>::mlp_sublayer(const layer_type& w, const buffer<T>& next_norm) {
  using namespace kiln;
  const auto x = rows_of(x_, c_.hidden);
  const auto n = rows_of(n_, c_.hidden), branch = rows_of(branch_, c_.hidden);
  const auto act = rows_of(act_, c_.intermediate);
  const auto both = w.gate_up.view(2, c_.intermediate, c_.hidden);
  const auto gate = transposed(pick<0>(both, 0)), up = transposed(pick<0>(both, 1));
  launch_trace::step("silu(gate) * up");
  multiply(n, dual(gate, up), store(act, silu(acc_<0>) * acc_<1>));

  const auto down = transposed(w.down.view(c_.hidden, c_.intermediate));
  if (c_.sandwich()) {
    launch_trace::step("down");
    multiply(act, down, store(branch, acc));
    launch_trace::step("norms");
    rms_norm(ex_, branch, norm_weight(w.post_mlp_norm), branch, eps()).or_throw();
    add_rms_norm(ex_, branch, x, norm_weight(next_norm), x, n, eps()).or_throw();
  } else {
    launch_trace::step("down + residual");
    multiply(act, down, store(x, acc + elem(x)));
    launch_trace::step("norms");
    rms_norm(ex_, x, norm_weight(next_norm), n, eps()).or_throw();
  }
}

/// Logits of the rows that are wanted, and the largest magnitude of each row, in which a NaN or an infinity shows.
template <class T, class Executor>
void forward<T, Executor>::head() {
  using namespace kiln;
  auto n = rows_of(n_, c_.hidden);
  if (rows_wanted_ != rows_) {
    launch_trace::step("last rows");
    const auto last = last_.view(rows_wanted_, c_.hidden);
    embedding(ex_, wanted_.view(rows_wanted_), n, last).or_throw();
    n = last;
  }
  launch_trace::step("head, largest");
  multiply(n, transposed(w_.head().view(c_.vocabulary, c_.hidden)),
           store(logits_.view(rows_wanted_, c_.vocabulary), acc),
           reduce_rows<reduction::amax>(largest_.view(rows_wanted_), acc));
}

template <class T, class Executor>
sequence forward<T, Executor>::greedy() {
  const auto largest = largest_.download(ex_, rows_wanted_);
  for (std::size_t row = 0; row < largest.size(); ++row) {
    if (!std::isfinite(largest[row]))
      fail("row ", row, " has logits that are not finite (the largest magnitude is ", largest[row], ")");
  }
  launch_trace::step("argmax");
  kiln::argmax(ex_, logits_.view(rows_wanted_, c_.vocabulary), chosen_.view(rows_wanted_)).or_throw();
  return chosen_.download(ex_, rows_wanted_);
}

}  // namespace glm
