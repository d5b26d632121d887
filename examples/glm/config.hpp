#pragma once
/// The numbers of a model, read from config.json. Nothing about a released model is built in but the class defaults
/// that transformers applies to absent keys.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace glm {

/// glm: two norms a layer (GLM-4-9B). glm4: also a norm on the output of each of the two sublayers (GLM-4-0414, Z1).
enum class architecture { glm, glm4 };

/// How the checkpoint names its tensors: as transformers does, or as ChatGLM's own code did.
enum class naming { transformers, chatglm };

struct config {
  architecture arch = architecture::glm;
  naming names = naming::transformers;
  std::int64_t vocabulary = 151552;
  std::int64_t hidden = 4096;
  std::int64_t intermediate = 13696;
  std::int64_t layers = 40;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 128;
  std::int64_t rotary_dim = 64;  ///< the first channels of a head, those that are rotated
  double rope_theta = 10000.0;
  double eps = 1.5625e-07;
  bool qkv_bias = true;
  bool tied_head = false;  ///< the head's weights are the embedding's
  std::int64_t max_positions = 131072;
  std::vector<std::int64_t> eos_tokens;

  bool sandwich() const { return arch == architecture::glm4; }
  std::int64_t q_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return q_width() + 2 * kv_width(); }
};

/// Reads both layouts: `rope_theta` and `partial_rotary_factor` at the root, or within `rope_parameters` (which wins);
/// and the keys of ChatGLM's own code. Throws `error` with the key, the value seen and the value needed.
config parse_config(std::string_view json_text);
config read_config(const std::filesystem::path& file);

}  // namespace glm
