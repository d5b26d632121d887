#pragma once
/// Keys and values of the tokens seen so far.
#include <vector>

#include <kiln/view/reshape.hpp>

#include "array.hpp"
#include "config.hpp"

namespace glm {

/// For each layer, sequence and position one row: the keys of all key/value heads, already rotated, then their values. The
/// sequences have lengths of their own; what lies behind a length is never read, so its memory need not be cleared.
template <class T, class Executor>
class kv_cache {
 public:
  kv_cache(const config& c, kiln::index sequences, kiln::index capacity)
      : heads_(c.kv_heads), dim_(c.head_dim), sequences_(sequences), capacity_(capacity),
        rows_(c.layers * sequences * capacity * 2 * c.kv_width()), lengths_(static_cast<std::size_t>(sequences)) {}

  kiln::index sequences() const { return sequences_; }
  kiln::index capacity() const { return capacity_; }
  kiln::index length(std::size_t sequence) const { return lengths_[sequence]; }
  void grow(std::size_t sequence, kiln::index by) { lengths_[sequence] += by; }
  void clear() { lengths_.assign(lengths_.size(), 0); }
  void fill(const Executor& ex, T value) { rows_.upload(ex, std::vector<T>(static_cast<std::size_t>(rows_.size()), value)); }
  const array<T, Executor>& memory() const { return rows_; }

  /// [sequences, capacity, kv_heads, head_dim]
  auto keys(kiln::index layer) const { return kiln::slice(heads(layer), 2, 0, heads_); }
  auto values(kiln::index layer) const { return kiln::slice(heads(layer), 2, heads_, 2 * heads_); }

  /// The rows of `count` tokens from the end of a sequence on: [count, 2 * kv_heads * head_dim].
  auto next_rows(kiln::index layer, std::size_t sequence, kiln::index count) const {
    const kiln::index row = (layer * sequences_ + static_cast<kiln::index>(sequence)) * capacity_ + lengths_[sequence];
    return kiln::view_on<Executor>(rows_.data() + row * 2 * heads_ * dim_, count, 2 * heads_ * dim_);
  }

 private:
  auto heads(kiln::index layer) const {
    return kiln::view_on<Executor>(rows_.data() + layer * sequences_ * capacity_ * 2 * heads_ * dim_, sequences_, capacity_,
                                   2 * heads_, dim_);
  }

  kiln::index heads_, dim_, sequences_, capacity_;
  array<T, Executor> rows_;
  std::vector<kiln::index> lengths_;
};

}  // namespace glm
