// config.json in both layouts, absent keys, and wrong values.
#include "examples/glm/config.hpp"

#include "examples/glm/error.hpp"
#include "tests/glm/golden.hpp"

namespace {

using namespace glm_test;

std::string refusal(const std::string& text) {
  try {
    glm::parse_config(text);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

TEST(GlmConfig, ReadsBothLayoutsOfEachGoldenModelAlike) {
  for (const char* model : {"tiny-glm", "tiny-glm4", "mid-glm"}) {
    const auto flat = glm::read_config(model_folder(model) / "config.json");
    const auto nested = glm::read_config(model_folder(model) / "config.v5.json");
    EXPECT_EQ(flat.arch, nested.arch);
    EXPECT_EQ(flat.rope_theta, nested.rope_theta);
    EXPECT_EQ(flat.rotary_dim, nested.rotary_dim);
    EXPECT_EQ(flat.eps, nested.eps);
    EXPECT_EQ(flat.eos_tokens, nested.eos_tokens);
  }
  const auto c = glm::read_config(model_folder("mid-glm") / "config.json");
  EXPECT_EQ(c.arch, glm::architecture::glm);
  EXPECT_EQ(c.vocabulary, 2048);
  EXPECT_EQ(c.hidden, 512);
  EXPECT_EQ(c.intermediate, 1376);
  EXPECT_EQ(c.layers, 8);
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 64);
  EXPECT_EQ(c.rotary_dim, 32);
  EXPECT_EQ(c.rope_theta, 5000000.0);
  EXPECT_EQ(c.eps, 1.5625e-07);
  EXPECT_EQ(c.max_positions, 512);
  EXPECT_TRUE(c.qkv_bias);
  EXPECT_FALSE(c.tied_head);
  EXPECT_EQ(c.eos_tokens, (std::vector<std::int64_t>{2045, 2046, 2047}));
  EXPECT_EQ(glm::read_config(model_folder("tiny-glm4") / "config.json").arch, glm::architecture::glm4);
}

TEST(GlmConfig, FillsAbsentKeysWithTheClassDefaults) {
  for (const char* type : {"glm", "glm4"}) {
    const auto c =
        glm::parse_config(std::string(R"({"model_type": ")") + type + R"(", "head_dim": null, "rope_scaling": null})");
    EXPECT_EQ(c.vocabulary, 151552);
    EXPECT_EQ(c.hidden, 4096);
    EXPECT_EQ(c.intermediate, 13696);
    EXPECT_EQ(c.layers, 40);
    EXPECT_EQ(c.heads, 32);
    EXPECT_EQ(c.kv_heads, 2);
    EXPECT_EQ(c.head_dim, 128);
    EXPECT_EQ(c.rotary_dim, 64);
    EXPECT_EQ(c.rope_theta, 10000.0);
    EXPECT_EQ(c.eps, 1.5625e-07);
    EXPECT_TRUE(c.qkv_bias);  // GLM-06: an absent key does not drop the bias
    EXPECT_FALSE(c.tied_head);
  }
}

TEST(GlmConfig, RopeParametersWinOverTheRoot) {
  const auto rope = [](const std::string& text) {
    return glm::parse_config(R"({"model_type": "glm", "head_dim": 64, )" + text + "}");
  };
  const auto inner = rope(R"("rope_theta": 1, "partial_rotary_factor": 0.5,
                             "rope_parameters": {"rope_type": "default", "rope_theta": 1000000,
                                                 "partial_rotary_factor": 0.25})");
  EXPECT_EQ(inner.rope_theta, 1000000.0);
  EXPECT_EQ(inner.rotary_dim, 16);
  const auto mixed =
      rope(R"("rope_theta": 77, "partial_rotary_factor": 1.0, "rope_parameters": {"rope_type": "default"})");
  EXPECT_EQ(mixed.rope_theta, 77.0);
  EXPECT_EQ(mixed.rotary_dim, 64);
  const auto legacy = rope(R"("rope_scaling": {"type": "default", "rope_theta": 5})");
  EXPECT_EQ(legacy.rope_theta, 5.0);
  EXPECT_EQ(legacy.rotary_dim, 32);
}

TEST(GlmConfig, TakesAnEosTokenOrAList) {
  EXPECT_EQ(glm::parse_config(R"({"model_type": "glm", "eos_token_id": 7})").eos_tokens,
            (std::vector<std::int64_t>{7}));
  EXPECT_TRUE(glm::parse_config(R"({"model_type": "glm", "eos_token_id": null})").eos_tokens.empty());
}

TEST(GlmConfig, ReadsTheRemoteCodeLayout) {
  const auto c = glm::parse_config(
      R"({"model_type": "chatglm", "padded_vocab_size": 65024, "hidden_size": 4096, "ffn_hidden_size": 13696,
    "num_layers": 28, "num_attention_heads": 32, "kv_channels": 128, "seq_length": 8192, "layernorm_epsilon": 1e-05,
    "multi_query_attention": true, "multi_query_group_num": 2, "add_qkv_bias": true, "rope_ratio": 500,
    "eos_token_id": 2})");
  EXPECT_EQ(c.names, glm::naming::chatglm);
  EXPECT_EQ(c.vocabulary, 65024);
  EXPECT_EQ(c.layers, 28);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.rotary_dim, 64);
  EXPECT_EQ(c.rope_theta, 5000000.0);
  EXPECT_TRUE(c.qkv_bias);
  EXPECT_TRUE(says(refusal(R"({"model_type": "chatglm"})"), "\"padded_vocab_size\" is missing"));
  EXPECT_TRUE(says(
      refusal(
          R"({"model_type": "chatglm", "padded_vocab_size": 5, "hidden_size": 4, "ffn_hidden_size": 6, "num_layers": 1,
    "num_attention_heads": 1, "kv_channels": 4, "seq_length": 8, "layernorm_epsilon": 1e-05,
    "post_layer_norm": false})"),
      "\"post_layer_norm\" is false, needs true"));
}

TEST(GlmConfig, NamesTheKeyAndTheValueThatIsWrong) {
  const auto with = [](const std::string& text) { return refusal(R"({"model_type": "glm", )" + text + "}"); };
  EXPECT_TRUE(says(refusal("{"), "parse error"));
  EXPECT_TRUE(says(refusal("[]"), "not a JSON object"));
  EXPECT_TRUE(says(refusal("{}"), "\"model_type\" is missing"));
  EXPECT_TRUE(says(refusal(R"({"model_type": "llama"})"), "\"model_type\" is \"llama\", needs \"glm\""));
  EXPECT_TRUE(says(with(R"("hidden_size": "64")"), "\"hidden_size\" is \"64\", needs a whole number"));
  EXPECT_TRUE(says(with(R"("num_hidden_layers": 0)"), "\"num_hidden_layers\" is 0"));
  EXPECT_TRUE(says(with(R"("vocab_size": -3)"), "\"vocab_size\" is -3"));
  EXPECT_TRUE(says(with(R"("vocab_size": 1e400)"), "number overflow"));
  EXPECT_TRUE(says(with(R"("rms_norm_eps": 0)"), "\"rms_norm_eps\" is 0"));
  EXPECT_TRUE(says(with(R"("attention_bias": 1)"), "\"attention_bias\" is 1, needs true or false"));
  EXPECT_TRUE(says(with(R"("hidden_act": "gelu")"), "\"hidden_act\" is \"gelu\", needs \"silu\""));
  EXPECT_TRUE(says(with(R"("rope_parameters": {"rope_type": "yarn"})"), "\"rope_type\" is \"yarn\""));
  EXPECT_TRUE(says(with(R"("rope_scaling": {"type": "linear"})"), "\"type\" is \"linear\""));
  EXPECT_TRUE(says(with(R"("num_attention_heads": 6, "num_key_value_heads": 4)"), "multiple of the 4"));
  EXPECT_TRUE(says(with(R"("head_dim": 10)"), "rotary width is 5"));
  EXPECT_TRUE(
      says(with(R"("partial_rotary_factor": 1.5)"), "\"partial_rotary_factor\" is 1.5, needs a number above 0"));
  EXPECT_TRUE(says(with(R"("partial_rotary_factor": 1e300)"), "\"partial_rotary_factor\" is 1e+300"));
  EXPECT_TRUE(says(with(R"("rope_theta": 1e301)"), "\"rope_theta\" is 1e+301, needs a number above 0 that float32"));
  EXPECT_TRUE(says(with(R"("rms_norm_eps": 1e39)"), "\"rms_norm_eps\" is 1e+39"));
  EXPECT_TRUE(says(with(R"("quantization_config": {})"), "quantization_config"));
  EXPECT_TRUE(says(with(R"("eos_token_id": ["a"])"), "\"eos_token_id\" is [\"a\"]"));
  EXPECT_THROW(glm::read_config(model_folder("no-such-model") / "config.json"), glm::error);
}

// A message shows a value shortly, and neither it nor the search for the mistake descends into what is nested.
TEST(GlmConfig, SurvivesValuesThatAreDeepOrLong) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const char* key : {"vocab_size", "eos_token_id", "hidden_act", "attention_bias", "rope_theta"}) {
    const std::string text = refusal(R"({"model_type": "glm", ")" + std::string(key) + "\": " + deep + "}");
    EXPECT_TRUE(says(text, "\"" + std::string(key) + "\" is an array of 1, needs "));
  }
  EXPECT_TRUE(says(refusal(R"({"model_type": )" + deep + "}"), "\"model_type\" is an array of 1"));
  const std::string text = refusal(R"({"model_type": ")" + std::string(100000, 'x') + "\"}");
  EXPECT_TRUE(says(text, "xxx..., needs \"glm\""));
  EXPECT_LT(text.size(), 300u);
}

}  // namespace
