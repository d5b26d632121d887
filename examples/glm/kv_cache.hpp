#pragma once
/// Keys and values of the tokens seen so far.
#include <vector>

#include "array.hpp"
#include "config.hpp"

namespace glm {

/// For each layer two tensors [sequences, capacity, kv_heads, head_dim]; keys are stored rotated. Each sequence has a
/// length of its own. What lies behind a length is never read, so its memory need not be cleared.
template <class T, class Executor>
class kv_cache {
 public:
  kv_cache(const config& c, kiln::index_t sequences, kiln::index_t capacity)
      : sequences_(sequences),
        capacity_(capacity),
        heads_(c.kv_heads),
        dim_(c.head_dim),
        keys_(c.layers * layer_size()),
        values_(c.layers * layer_size()),
        lengths_(static_cast<std::size_t>(sequences)) {}

  kiln::index_t sequences() const { return sequences_; }
  kiln::index_t capacity() const { return capacity_; }
  /// The tokens of each sequence.
  const std::vector<kiln::index_t>& lengths() const { return lengths_; }
  void grow(std::size_t sequence, kiln::index_t by) { lengths_[sequence] += by; }
  void clear() { lengths_.assign(lengths_.size(), 0); }
  void fill(const Executor& ex, T value) {
    const std::vector<T> values(static_cast<std::size_t>(keys_.size()), value);
    keys_.upload(ex, values);
    values_.upload(ex, values);
  }

  auto keys(kiln::index_t layer) const { return view(keys_, layer); }
  auto values(kiln::index_t layer) const { return view(values_, layer); }

  /// Of all layers.
  const array<T, Executor>& all_keys() const { return keys_; }
  const array<T, Executor>& all_values() const { return values_; }

 private:
  kiln::index_t layer_size() const { return sequences_ * capacity_ * heads_ * dim_; }
  auto view(const array<T, Executor>& all, kiln::index_t layer) const {
    return kiln::view_on<Executor>(all.data() + layer * layer_size(), sequences_, capacity_, heads_, dim_);
  }

  kiln::index_t sequences_, capacity_, heads_, dim_;
  array<T, Executor> keys_, values_;
  std::vector<kiln::index_t> lengths_;
};

}  // namespace glm
