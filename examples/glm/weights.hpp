#pragma once
/// The weights of a model in the run's element type and in the executor's memory.
#include <cstring>
#include <kiln/core/numeric.hpp>
#include <string_view>
#include <vector>

#include "array.hpp"
#include "checkpoint.hpp"
#include "config.hpp"

namespace glm {

template <class T, class Executor>
struct layer_weights {
  using part = array<T, Executor>;
  part input_norm;           ///< [hidden]
  part qkv;                  ///< [qkv_width, hidden]: rows of q, k and v, so that one product gives all three
  part qkv_bias;             ///< [qkv_width], or empty
  part o;                    ///< [hidden, q_width]
  part post_self_attn_norm;  ///< [hidden], glm4
  part post_attention_norm;  ///< [hidden]: before the MLP
  part gate_up;              ///< [2 * intermediate, hidden]: rows of gate, then rows of up
  part down;                 ///< [hidden, intermediate]
  part post_mlp_norm;        ///< [hidden], glm4
};

template <class T, class Executor>
struct model_weights {
  array<T, Executor> embedding;  ///< [vocabulary, hidden]
  std::vector<layer_weights<T, Executor>> layers;
  array<T, Executor> final_norm;  ///< [hidden]
  array<T, Executor> own_head;    ///< [vocabulary, hidden], or empty

  const array<T, Executor>& head() const { return own_head.empty() ? embedding : own_head; }
};

/// Stored values in the run's type, each rounded once.
template <class T>
std::vector<T> converted(const stored_tensor& stored) {
  const auto from = [&stored]<class Stored>(Stored) {
    std::vector<T> values(stored.bytes.size() / sizeof(Stored));
    for (std::size_t i = 0; i < values.size(); ++i) {
      Stored s;
      std::memcpy(&s, stored.bytes.data() + i * sizeof(Stored), sizeof(Stored));
      values[i] = kiln::convert<T>(s);
    }
    return values;
  };
  if (stored.type == "BF16") return from(kiln::bf16{});
  if (stored.type == "F16") return from(kiln::f16{});
  return from(float{});
}

/// Tensors one after another in one array.
template <class T, class Executor>
array<T, Executor> load(const Executor& ex, const checkpoint& files, const tensor_names& names) {
  kiln::index_t size = 0;
  for (const tensor_name& name : names) {
    kiln::index_t elements = 1;
    for (const kiln::index_t extent : name.shape) elements *= extent;
    size += elements;
  }
  array<T, Executor> all(size);
  kiln::index_t at = 0;
  for (const tensor_name& name : names) {
    const std::vector<T> values = converted<T>(files.read(name));
    all.upload(ex, values, at);
    at += static_cast<kiln::index_t>(values.size());
  }
  return all;
}

template <class T, class Executor>
model_weights<T, Executor> load_weights(const Executor& ex, const checkpoint& files, const config& c) {
  files.check(c);
  const auto get = [&](const tensor_names& names) { return load<T>(ex, files, names); };
  const model_names names = names_of(c);
  model_weights<T, Executor> w;
  w.embedding = get(names.embedding);
  for (const layer_names& n : names.layers) {
    w.layers.push_back({get(n.input_norm), get(n.qkv), get(n.qkv_bias), get(n.o), get(n.post_self_attn_norm),
                        get(n.post_attention_norm), get(n.gate_up), get(n.down), get(n.post_mlp_norm)});
  }
  w.final_norm = get(names.final_norm);
  w.own_head = get(names.head);
  return w;
}

}  // namespace glm
