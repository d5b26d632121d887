#pragma once
/// The GLM forward: embedding, layers of attention and MLP, head.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "array.hpp"
#include "config.hpp"
#include "kv_cache.hpp"
#include "session.hpp"
#include "weights.hpp"

namespace glm {

/// For which of the new tokens logits are wanted.
enum class positions { all, last };

/// Element type T is float, kiln::bf16 or kiln::f16, compiled in forward_f32.cu and its like for each executor.
///
/// New tokens of several sequences lie one after another as the rows of one matrix, so that sequences of different
/// lengths share every product without padding. The residual stream is float32 whatever T is, so that the sublayers'
/// sums are not rounded one after another.
template <class T, class Executor>
class forward {
 public:
  using cache = kv_cache<T, Executor>;

  forward(const Executor& ex, const config& c, model_weights<T, Executor> weights)
      : ex_(ex), c_(c), w_(std::move(weights)) {}

  cache make_cache(kiln::index_t sequences, kiln::index_t capacity) const {
    if (sequences > 0 && capacity > INT32_MAX / sequences) {
      fail("a cache of ", sequences, " sequences of ", capacity, " tokens, needs rows that 32 bits count");
    }
    return cache(c_, sequences, capacity);
  }

  /// Runs the new tokens of each sequence, behind those that the cache holds, and adds them to the cache.
  void run(const std::vector<sequence>& tokens, cache& past, positions wanted);

  /// What the last run gave: [rows, vocabulary], a row for each token that logits were wanted for.
  std::vector<float> logits() const { return logits_.download(ex_, rows_wanted_ * c_.vocabulary); }

  /// The token of the largest logit of each row; an `error` where a row has a logit that is not finite.
  sequence greedy();

  /// Called with the residual stream behind the embedding (0) and each layer (1, ...), and with the final norm's output
  /// (layers + 1). For tests.
  std::function<void(kiln::index_t, const std::vector<float>&)> watch;

 private:
  using layer_type = layer_weights<T, Executor>;
  template <class U>
  using buffer = array<U, Executor>;

  void lay_out(const std::vector<sequence>& tokens, const cache& past, positions wanted);
  template <class A, class B, class... Sinks>
  void multiply(const A& a, const B& b, const Sinks&... sinks);
  void embed();
  void attention_sublayer(const layer_type& w, const cache& past, kiln::index_t layer);
  void attend(const cache& past, kiln::index_t layer);
  void mlp_sublayer(const layer_type& w, const buffer<T>& next_norm);
  void head();

  template <class U>
  auto rows_of(const buffer<U>& b, kiln::index_t width) const {
    return b.view(rows_, width);
  }
  auto norm_weight(const buffer<T>& w) const { return w.view(c_.hidden); }
  float eps() const { return static_cast<float>(c_.eps); }
  template <class U>
  void show(kiln::index_t at, const buffer<U>& x) const {
    if (!watch) return;
    const std::vector<U> values = x.download(ex_, rows_ * c_.hidden);
    watch(at, std::vector<float>(values.begin(), values.end()));
  }

  Executor ex_;
  config c_;
  model_weights<T, Executor> w_;

  kiln::index_t rows_ = 0, rows_wanted_ = 0;
  std::vector<kiln::index_t> new_tokens_;                               ///< of each sequence
  buffer<std::int32_t> ids_, positions_, places_, wanted_, lengths_;  ///< see lay_out
  buffer<float> x_;                                                   ///< [rows, hidden]: the residual stream
  buffer<T> n_;                                                       ///< [rows, hidden]: its norm
  buffer<T> qkv_, context_, branch_, act_, last_;
  buffer<float> logits_, largest_;  ///< [rows wanted, vocabulary], and the largest magnitudes
  buffer<std::int32_t> chosen_;
  buffer<std::byte> scratch_;
};

}  // namespace glm
