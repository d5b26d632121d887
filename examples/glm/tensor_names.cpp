#include "tensor_names.hpp"

namespace glm {
namespace {

layer_names transformers_layer(const config& c, std::int64_t n) {
  const std::string layer = "model.layers." + std::to_string(n) + ".";
  const std::string attention = layer + "self_attn.";
  layer_names names;
  names.qkv = {{attention + "q_proj.weight", {c.q_width(), c.hidden}},
               {attention + "k_proj.weight", {c.kv_width(), c.hidden}},
               {attention + "v_proj.weight", {c.kv_width(), c.hidden}}};
  if (c.qkv_bias) {
    names.qkv_bias = {{attention + "q_proj.bias", {c.q_width()}},
                      {attention + "k_proj.bias", {c.kv_width()}},
                      {attention + "v_proj.bias", {c.kv_width()}}};
  }
  names.o = {{attention + "o_proj.weight", {c.hidden, c.q_width()}}};
  names.gate_up = {{layer + "mlp.gate_up_proj.weight", {2 * c.intermediate, c.hidden}}};
  names.down = {{layer + "mlp.down_proj.weight", {c.hidden, c.intermediate}}};
  names.input_norm = {{layer + "input_layernorm.weight", {c.hidden}}};
  names.post_attention_norm = {{layer + "post_attention_layernorm.weight", {c.hidden}}};
  if (c.sandwich()) {
    names.post_self_attn_norm = {{layer + "post_self_attn_layernorm.weight", {c.hidden}}};
    names.post_mlp_norm = {{layer + "post_mlp_layernorm.weight", {c.hidden}}};
  }
  return names;
}

layer_names chatglm_layer(const config& c, std::int64_t n) {
  const std::string layer = "transformer.encoder.layers." + std::to_string(n) + ".";
  layer_names names;
  names.qkv = {{layer + "self_attention.query_key_value.weight", {c.qkv_width(), c.hidden}}};
  if (c.qkv_bias) names.qkv_bias = {{layer + "self_attention.query_key_value.bias", {c.qkv_width()}}};
  names.o = {{layer + "self_attention.dense.weight", {c.hidden, c.q_width()}}};
  names.gate_up = {{layer + "mlp.dense_h_to_4h.weight", {2 * c.intermediate, c.hidden}}};
  names.down = {{layer + "mlp.dense_4h_to_h.weight", {c.hidden, c.intermediate}}};
  names.input_norm = {{layer + "input_layernorm.weight", {c.hidden}}};
  names.post_attention_norm = {{layer + "post_attention_layernorm.weight", {c.hidden}}};
  return names;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

model_names names_of(const config& c) {
  const bool chatglm = c.names == naming::chatglm;
  model_names names;
  names.embedding = {{chatglm ? "transformer.embedding.word_embeddings.weight" : "model.embed_tokens.weight",
                      {c.vocabulary, c.hidden}}};
  for (std::int64_t n = 0; n < c.layers; ++n) {
    names.layers.push_back(chatglm ? chatglm_layer(c, n) : transformers_layer(c, n));
  }
  names.final_norm = {{chatglm ? "transformer.encoder.final_layernorm.weight" : "model.norm.weight", {c.hidden}}};
  if (!c.tied_head) {
    names.head = {{chatglm ? "transformer.output_layer.weight" : "lm_head.weight", {c.vocabulary, c.hidden}}};
  }
  return names;
}

std::vector<tensor_name> model_names::all() const {
  std::vector<tensor_name> list;
  const auto add = [&list](const tensor_names& some) { list.insert(list.end(), some.begin(), some.end()); };
  add(embedding);
  for (const layer_names& layer : layers) {
    for (const tensor_names* some :
         {&layer.input_norm, &layer.qkv, &layer.qkv_bias, &layer.o, &layer.post_self_attn_norm,
          &layer.post_attention_norm, &layer.gate_up, &layer.down, &layer.post_mlp_norm}) {
      add(*some);
    }
  }
  add(final_norm);
  add(head);
  return list;
}

bool may_be_ignored(const std::string& name, const config& c) {
  if (ends_with(name, "rotary_emb.inv_freq") || ends_with(name, "rotary_pos_emb.inv_freq")) return true;
  return c.tied_head && (name == "lm_head.weight" || name == "transformer.output_layer.weight");
}

}  // namespace glm
