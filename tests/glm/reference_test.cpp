// The float64 forward that other tests compare with gives the golden values itself.
#include "tests/glm/reference.hpp"

#include "tests/glm/generator.hpp"
#include "tests/glm/golden.hpp"

namespace {

using namespace glm_test;

std::vector<float> narrowed(const doubles& values) { return {values.begin(), values.end()}; }

class GlmReference : public testing::TestWithParam<const char*> {};

// Both are float64 forwards rounded once, so they differ by one step of float32 at most.
TEST_P(GlmReference, GivesTheGoldenLogitsAndHiddenStates) {
  const std::string model = GetParam();
  const glm::safetensors_file golden(model_folder(model) / "golden.safetensors");
  const reference forward(glm::read_config(model_folder(model) / "config.json"),
                          widened(make_weights(golden_json(model))));
  for (const golden_prompt& prompt : golden_prompts(golden)) {
    const auto result = forward.run(prompt.ids);
    EXPECT_LE(relative_error(narrowed(result.logits), golden_values(golden, prompt, "ref.logits")), 0x1p-23);
    if (prompt.prefix.empty()) {
      EXPECT_LE(relative_error(narrowed(result.hidden[0]), golden_values(golden, prompt, "ref.hidden.embed")), 0x1p-23);
      EXPECT_LE(relative_error(narrowed(result.hidden[1]), golden_values(golden, prompt, "ref.hidden.layer_00")),
                0x1p-23);
      EXPECT_LE(relative_error(narrowed(result.hidden[2]), golden_values(golden, prompt, "ref.hidden.layer_01")),
                0x1p-23);
      EXPECT_LE(relative_error(narrowed(result.final_norm), golden_values(golden, prompt, "ref.hidden.final_norm")),
                0x1p-23);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GlmReference, testing::Values("tiny-glm", "tiny-glm4"),
                         [](const auto& model) { return std::string(model.param) == "tiny-glm" ? "glm" : "glm4"; });

}  // namespace
