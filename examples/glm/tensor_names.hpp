#pragma once
/// Which tensors a checkpoint must have, under which names and with which shapes.
#include <cstdint>
#include <string>
#include <vector>

#include "config.hpp"

namespace glm {

struct tensor_name {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Several names stand for one matrix whose rows are those of the tensors one after another.
using tensor_names = std::vector<tensor_name>;

struct layer_names {
  tensor_names input_norm;     ///< before attention
  tensor_names qkv, qkv_bias;  ///< rows of q, then k, then v; no bias names where the model has none
  tensor_names o;
  tensor_names post_self_attn_norm;  ///< glm4: on attention's output, before the residual is added
  tensor_names post_attention_norm;  ///< before the MLP, in every model, whatever its name says
  tensor_names gate_up;              ///< rows of gate, then rows of up
  tensor_names down;
  tensor_names post_mlp_norm;  ///< glm4: on the MLP's output, before the residual is added
};

struct model_names {
  tensor_names embedding;
  std::vector<layer_names> layers;
  tensor_names final_norm;
  tensor_names head;  ///< empty where the head is the embedding

  /// All of them in one list.
  std::vector<tensor_name> all() const;
};

model_names names_of(const config& c);

/// Tensors that some checkpoints carry and the forward does not need: rotary frequencies, the head beside a tied
/// embedding.
bool may_be_ignored(const std::string& name, const config& c);

}  // namespace glm
