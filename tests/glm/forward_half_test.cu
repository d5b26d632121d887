// The forward in bfloat16 and float16. Its roundings are fewer than those of transformers, whose own distance from
// float64 is stored with the goldens; twice that distance is the bound.
#include "tests/glm/model.hpp"
#include "tests/support/executors.hpp"

namespace {

using namespace glm_test;

KILN_ON_EXECUTORS(GlmHalf);

TYPED_TEST(GlmHalf, Bfloat16IsAsNearAsTransformersIs) {
  for (const char* name : {"tiny-glm", "tiny-glm4"}) {
    const glm::safetensors_file values(model_folder(name) / "golden.safetensors");
    auto forward = made_model(std::string(name)).load<kiln::bf16>(this->executor());
    const auto hf = golden_json(name).at("hf_bfloat16");
    const double largest = hf["logits_vs_ref_f64"]["rel_to_max"], rms = hf["rms_error"];
    for (const golden_prompt& prompt : golden_prompts(values)) {
      const auto got = all_logits(forward, prompt.ids), want = golden_values(values, prompt, "ref.logits");
      EXPECT_LT(relative_error(got, want), 2 * largest) << name << " " << prompt.prefix;
      EXPECT_LT(rms_error(got, want), 2 * rms) << name << " " << prompt.prefix;
    }
  }
}

TYPED_TEST(GlmHalf, Bfloat16GeneratesTheGoldenTokens) {
  for (const char* name : {"tiny-glm", "tiny-glm4"}) {
    const glm::safetensors_file values(model_folder(name) / "golden.safetensors");
    auto forward = made_model(std::string(name)).load<kiln::bf16>(this->executor());
    const auto prompts = golden_prompts(values);
    const auto answers = generate(forward, {prompts[0].ids, prompts[1].ids}, 16);
    EXPECT_EQ(answers[0], prompts[0].greedy) << name;
    EXPECT_EQ(answers[1], prompts[1].greedy) << name;
  }
}

// GLM-11: what overflows float16 is finite in bfloat16.
TYPED_TEST(GlmHalf, OverflowInFloat16IsReportedAndBfloat16IsFinite) {
  made_model made("tiny-glm");
  made.scale("model.layers.0.mlp.gate_up_proj.weight", 256);  // activations beyond 65504
  auto narrow = made.load<kiln::f16>(this->executor());
  auto cache = narrow.make_cache(1, 4);
  narrow.run({{1, 2, 3}}, cache, glm::positions::last);
  EXPECT_THROW((void)narrow.greedy(), glm::error);

  auto wide = made.load<kiln::bf16>(this->executor());
  auto wide_cache = wide.make_cache(1, 4);
  wide.run({{1, 2, 3}}, wide_cache, glm::positions::last);
  EXPECT_NO_THROW((void)wide.greedy());
}

// GLM-01: activations some hundred times as large as usual stay right in float16, since products sum in float32.
TYPED_TEST(GlmHalf, Float16SumsInFloat32) {
  made_model made("tiny-glm");
  made.scale("model.layers.0.mlp.gate_up_proj.weight", 16);
  auto forward = made.load<kiln::f16>(this->executor());
  const sequence prompt{35, 97, 72, 102, 60, 19, 46};
  const auto want = reference(made.config, made.reference_weights()).run(prompt).logits;
  EXPECT_LT(relative_error(all_logits(forward, prompt), {want.begin(), want.end()}), 2e-2);
}

}  // namespace
