// The middle model has every tile of a product full, and more layers; its weights are made here. Decoding is quick on
// the device; on the host a few tokens show the same.
#include "tests/glm/model.hpp"
#include "tests/support/executors.hpp"

namespace {

using namespace glm_test;

/// Runs all prompts of the middle model as one ragged batch: `near(got, want)` for each prompt's last logits, then
/// `count` greedy tokens, which have to be the golden ones for the first `sure` prompts.
template <class T, class Executor, class Near>
void check_middle_model(glm::forward<T, Executor>& forward, const glm::safetensors_file& values, std::size_t count,
                        std::size_t sure, Near near) {
  const auto prompts = golden_prompts(values);
  std::vector<sequence> next;
  for (const auto& p : prompts) next.push_back(p.ids);
  auto cache = forward.make_cache(kiln::index_t(prompts.size()), 100);
  for (std::size_t i = 0; i < count; ++i) {
    forward.run(next, cache, glm::positions::last);
    if (i == 0) {
      const auto logits = forward.logits();
      const std::size_t vocabulary = logits.size() / prompts.size();
      for (std::size_t b = 0; b < prompts.size(); ++b) {
        const auto at = logits.begin() + std::ptrdiff_t(b * vocabulary);
        near(std::vector<float>(at, at + std::ptrdiff_t(vocabulary)),
             golden_values(values, prompts[b], "ref.last_logits"));
      }
    }
    const sequence chosen = forward.greedy();
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      if (b < sure) {
        EXPECT_EQ(chosen[b], prompts[b].greedy[i]) << "prompt " << b << ", token " << i;
      }
      next[b] = {prompts[b].greedy[i]};
    }
  }
}

KILN_ON_EXECUTORS(GlmMiddleModel);

TYPED_TEST(GlmMiddleModel, GivesTheGoldenLogitsAndTokens) {
  const made_model made("mid-glm");
  const glm::safetensors_file values(model_folder("mid-glm") / "golden.safetensors");
  auto forward = made.load<float>(this->executor());
  check_middle_model(forward, values, TypeParam::on_host ? 4 : 16, 5,
                     [](const auto& got, const auto& want) { EXPECT_LT(relative_error(got, want), 2e-5); });
}

TYPED_TEST(GlmMiddleModel, InBfloat16IsAsNearAsTransformersIs) {
  const made_model made("mid-glm");
  const glm::safetensors_file values(model_folder("mid-glm") / "golden.safetensors");
  const auto hf = golden_json("mid-glm").at("hf_bfloat16");
  const double largest = hf["logits_vs_ref_f64"]["rel_to_max"], rms = hf["rms_error"];
  auto forward = made.load<kiln::bf16>(this->executor());
  // Only the first two prompts were chosen so that no two logits are closer than bfloat16 can tell apart.
  check_middle_model(forward, values, TypeParam::on_host ? 2 : 16, 2, [&](const auto& got, const auto& want) {
    EXPECT_LT(relative_error(got, want), 2 * largest);
    EXPECT_LT(rms_error(got, want), 2 * rms);
  });
}

}  // namespace
