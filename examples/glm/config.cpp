#include "config.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "error.hpp"
#include "file.hpp"
#include "json_text.hpp"

namespace glm {
namespace {

using nlohmann::json;

/// The value of a key; a key that is null counts as absent.
const json* find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

[[noreturn]] void refuse(const char* key, const json& seen, const std::string& needed) {
  fail("\"", key, "\" is ", shown(seen), ", needs ", needed);
}

/// A count that must be at least 1. An absent key keeps the default.
void read(const json& object, const char* key, std::int64_t& into) {
  const json* value = find(object, key);
  if (value == nullptr) return;
  constexpr std::uint64_t most = 1u << 30;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() == 0 || value->get<std::uint64_t>() > most) {
    refuse(key, *value, "a whole number from 1 to 2^30");
  }
  into = value->get<std::int64_t>();
}

/// A real number above zero that a float holds; integers are numbers too.
void read(const json& object, const char* key, double& into, double most = std::numeric_limits<float>::max()) {
  const json* value = find(object, key);
  if (value == nullptr) return;
  if (!value->is_number() || !(static_cast<float>(value->get<double>()) > 0 && value->get<double>() <= most)) {
    refuse(key, *value, most == 1 ? "a number above 0 and not above 1" : "a number above 0 that float32 holds");
  }
  into = value->get<double>();
}

void read(const json& object, const char* key, bool& into) {
  const json* value = find(object, key);
  if (value == nullptr) return;
  if (!value->is_boolean()) refuse(key, *value, "true or false");
  into = value->get<bool>();
}

void must_be(const json& object, const char* key, const json& needed) {
  const json* value = find(object, key);
  if (value != nullptr && *value != needed) refuse(key, *value, needed.dump());
}

/// One id or a list of ids.
void read_eos(const json& root, std::vector<std::int64_t>& into) {
  const json* value = find(root, "eos_token_id");
  if (value == nullptr) return;
  const auto add = [&](const json& id) {
    if (!id.is_number_integer()) refuse("eos_token_id", *value, "a token id or a list of them");
    into.push_back(id.get<std::int64_t>());
  };
  if (!value->is_array()) return add(*value);
  for (const json& id : *value) add(id);
}

/// int(head_dim * factor), as transformers computes it.
std::int64_t rotary_width(std::int64_t head_dim, double factor) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim) * factor);
}

/// `rope_parameters`, or the older `rope_scaling`, wins over the root, where transformers 5 leaves a stale factor
/// behind.
void read_rope(const json& root, config& c) {
  double factor = 0.5;
  read(root, "rope_theta", c.rope_theta);
  read(root, "partial_rotary_factor", factor, 1);
  const char* key = find(root, "rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  if (const json* rope = find(root, key)) {
    if (!rope->is_object()) refuse(key, *rope, "an object or null");
    for (const char* type : {"rope_type", "type"}) must_be(*rope, type, "default");
    read(*rope, "rope_theta", c.rope_theta);
    read(*rope, "partial_rotary_factor", factor, 1);
  }
  c.rotary_dim = rotary_width(c.head_dim, factor);
}

void parse_transformers(const json& root, config& c) {
  read(root, "vocab_size", c.vocabulary);
  read(root, "hidden_size", c.hidden);
  read(root, "intermediate_size", c.intermediate);
  read(root, "num_hidden_layers", c.layers);
  read(root, "num_attention_heads", c.heads);
  read(root, "num_key_value_heads", c.kv_heads);
  read(root, "head_dim", c.head_dim);
  read(root, "rms_norm_eps", c.eps);
  read(root, "attention_bias", c.qkv_bias);
  read(root, "max_position_embeddings", c.max_positions);
  must_be(root, "hidden_act", "silu");
  read_rope(root, c);
}

/// ChatGLM's own code has no class defaults that can be trusted, so every size must be there.
void parse_chatglm(const json& root, config& c) {
  const auto size = [&root](const char* key, std::int64_t& into) {
    if (find(root, key) == nullptr) fail("\"", key, "\" is missing");
    read(root, key, into);
  };
  c.names = naming::chatglm;
  size("padded_vocab_size", c.vocabulary);
  size("hidden_size", c.hidden);
  size("ffn_hidden_size", c.intermediate);
  size("num_layers", c.layers);
  size("num_attention_heads", c.heads);
  size("kv_channels", c.head_dim);
  size("seq_length", c.max_positions);
  if (find(root, "layernorm_epsilon") == nullptr) fail("\"layernorm_epsilon\" is missing");
  read(root, "layernorm_epsilon", c.eps);
  bool grouped = false;
  read(root, "multi_query_attention", grouped);
  c.kv_heads = c.heads;
  if (grouped) size("multi_query_group_num", c.kv_heads);
  c.qkv_bias = false;
  read(root, "add_qkv_bias", c.qkv_bias);
  must_be(root, "add_bias_linear", false);
  must_be(root, "rmsnorm", true);
  must_be(root, "post_layer_norm", true);
  must_be(root, "apply_residual_connection_post_layernorm", false);
  double ratio = 1.0;
  read(root, "rope_ratio", ratio);
  c.rope_theta = 10000.0 * ratio;
  c.rotary_dim = c.head_dim / 2;
}

void check(const config& c) {
  if (c.heads % c.kv_heads != 0) {
    fail("there are ", c.heads, " attention heads, needs a multiple of the ", c.kv_heads, " key/value heads");
  }
  if (c.rotary_dim <= 0 || c.rotary_dim > c.head_dim || c.rotary_dim % 2 != 0) {
    fail("the rotary width is ", c.rotary_dim, ", needs an even number from 2 to the head's width ", c.head_dim);
  }
}

}  // namespace

config parse_config(std::string_view json_text) {
  const json root = json::parse(json_text);
  if (!root.is_object()) fail("is not a JSON object");
  const json* type = find(root, "model_type");
  if (type == nullptr) fail("\"model_type\" is missing");
  if (find(root, "quantization_config") != nullptr)
    fail("\"quantization_config\" is there: quantised weights are not supported");

  config c;
  if (*type == "glm" || *type == "glm4") {
    c.arch = *type == "glm" ? architecture::glm : architecture::glm4;
    parse_transformers(root, c);
  } else if (*type == "chatglm") {
    parse_chatglm(root, c);
  } else {
    refuse("model_type", *type, "\"glm\", \"glm4\" or \"chatglm\"");
  }
  read(root, "tie_word_embeddings", c.tied_head);
  read_eos(root, c.eos_tokens);
  check(c);
  return c;
}

config read_config(const std::filesystem::path& file) {
  const std::ifstream in = open_file(file);
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return parse_config(text.str());
  } catch (const std::exception& e) {
    fail(file.string(), ": ", e.what());
  }
}

}  // namespace glm
