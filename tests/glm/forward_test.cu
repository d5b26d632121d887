// The float32 forward against the goldens (float64, rounded once): within 2e-5 of the largest value for any order of
// summation.
#include "tests/glm/model.hpp"
#include "tests/support/executors.hpp"

namespace {

using namespace glm_test;

constexpr double bound = 2e-5;

/// One of the tiny golden models, loaded from its stored files.
template <class Executor>
struct golden_model {
  explicit golden_model(const std::string& name, const Executor& ex)
      : values(model_folder(name) / "golden.safetensors"),
        prompts(golden_prompts(values)),
        config(glm::read_config(model_folder(name) / "config.json")),
        forward(ex, config, glm::load_weights<float>(ex, glm::checkpoint(model_folder(name)), config)) {}

  std::vector<sequence> ids() const {
    std::vector<sequence> all;
    for (const auto& p : prompts) all.push_back(p.ids);
    return all;
  }

  glm::safetensors_file values;
  std::vector<golden_prompt> prompts;
  glm::config config;
  glm::forward<float, Executor> forward;
};

const char* const tiny_models[] = {"tiny-glm", "tiny-glm4"};

std::vector<float> rows(const std::vector<float>& values, std::size_t begin, std::size_t count, std::size_t width) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(begin * width);
  return {at, at + static_cast<std::ptrdiff_t>(count * width)};
}

KILN_ON_EXECUTORS(GlmForward);

TYPED_TEST(GlmForward, GivesTheGoldenLogitsOfEachPrompt) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    for (const golden_prompt& prompt : model.prompts) {
      EXPECT_LT(
          relative_error(all_logits(model.forward, prompt.ids), golden_values(model.values, prompt, "ref.logits")),
          bound)
          << name << " " << prompt.prefix;
    }
  }
}

TYPED_TEST(GlmForward, GivesTheGoldenLogitsOfARaggedBatch) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    auto cache = model.forward.make_cache(kiln::index_t(model.prompts.size()), 40);
    model.forward.run(model.ids(), cache, glm::positions::all);
    const auto logits = model.forward.logits();
    std::size_t row = 0;
    for (const golden_prompt& prompt : model.prompts) {
      const auto own = rows(logits, row, prompt.ids.size(), std::size_t(model.config.vocabulary));
      EXPECT_LT(relative_error(own, golden_values(model.values, prompt, "ref.logits")), bound)
          << name << " " << prompt.prefix;
      row += prompt.ids.size();
    }
  }
}

TYPED_TEST(GlmForward, GivesTheGoldenHiddenStates) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    const char* const names[] = {"ref.hidden.embed", "ref.hidden.layer_00", "ref.hidden.layer_01",
                                 "ref.hidden.final_norm"};
    const golden_prompt& prompt = model.prompts[1];
    kiln::index_t seen = 0;
    model.forward.watch = [&](kiln::index_t at, const std::vector<float>& x) {
      EXPECT_EQ(at, seen++);
      EXPECT_LT(relative_error(x, golden_values(model.values, prompt, names[at])), at == 0 ? 1e-9 : bound)
          << name << " " << names[at];
    };
    (void)all_logits(model.forward, prompt.ids);
    EXPECT_EQ(seen, 4);
  }
}

TYPED_TEST(GlmForward, FillsTheCacheWithTheGoldenKeysAndValues) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    const golden_prompt& prompt = model.prompts[0];
    const std::size_t length = prompt.ids.size(), heads = std::size_t(model.config.kv_heads),
                      dim = std::size_t(model.config.head_dim);
    auto cache = model.forward.make_cache(1, kiln::index_t(length));
    model.forward.run({prompt.ids}, cache, glm::positions::last);
    const auto stored = [&](const glm::array<float, TypeParam>& all, std::size_t layer) {
      const auto memory = all.download(this->executor(), all.size());
      std::vector<float> by_head;  // the goldens are [head, position, dim], the cache is [position, head, dim]
      for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t at = 0; at < length; ++at) {
          const auto own = rows(memory, (layer * length + at) * heads + head, 1, dim);
          by_head.insert(by_head.end(), own.begin(), own.end());
        }
      return by_head;
    };
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const std::string golden = "ref.l0" + std::to_string(layer);
      EXPECT_LT(
          relative_error(stored(cache.all_keys(), layer), golden_values(model.values, prompt, golden + ".k_cache")),
          bound)
          << name << layer;
      EXPECT_LT(
          relative_error(stored(cache.all_values(), layer), golden_values(model.values, prompt, golden + ".v_cache")),
          bound)
          << name << layer;
    }
  }
}

TYPED_TEST(GlmForward, GeneratesTheGoldenTokensInOneRaggedBatch) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    const auto answers = generate(model.forward, model.ids(), 16);
    for (std::size_t b = 0; b < answers.size(); ++b) EXPECT_EQ(answers[b], model.prompts[b].greedy) << name << " " << b;
  }
}

// The goldens of decoding are logits of the whole sequence without a cache.
TYPED_TEST(GlmForward, DecodesWithTheCacheAsWithoutOne) {
  for (const char* name : tiny_models) {
    golden_model model(name, this->executor());
    for (const golden_prompt& prompt : model.prompts) {
      auto cache = model.forward.make_cache(1, 64);
      model.forward.run({prompt.ids}, cache, glm::positions::last);
      std::vector<float> logits = model.forward.logits();
      for (std::size_t i = 0; i + 1 < prompt.greedy.size(); ++i) {
        model.forward.run({{prompt.greedy[i]}}, cache, glm::positions::last);
        const auto step = model.forward.logits();
        logits.insert(logits.end(), step.begin(), step.end());
      }
      EXPECT_LT(relative_error(logits, golden_values(model.values, prompt, "ref.decode_logits")), bound)
          << name << " " << prompt.prefix;
    }
  }
}

TYPED_TEST(GlmForward, ReadsAPromptInPiecesAsInOne) {
  golden_model model("tiny-glm4", this->executor());
  const golden_prompt& prompt = model.prompts.back();
  auto cache = model.forward.make_cache(1, 40);
  std::vector<float> logits;
  for (std::size_t at = 0, piece = 1; at < prompt.ids.size(); at += piece, piece += 4) {
    const std::size_t end = std::min(at + piece, prompt.ids.size());
    model.forward.run({sequence(prompt.ids.begin() + std::ptrdiff_t(at), prompt.ids.begin() + std::ptrdiff_t(end))},
                      cache, glm::positions::all);
    const auto part = model.forward.logits();
    logits.insert(logits.end(), part.begin(), part.end());
  }
  EXPECT_LT(relative_error(logits, golden_values(model.values, prompt, "ref.logits")), bound);
}

// GLM-13: nothing of an earlier prompt stays, whatever the cache's memory held.
TYPED_TEST(GlmForward, AnswersAgainAsTheFirstTime) {
  golden_model model("tiny-glm", this->executor());
  auto cache = model.forward.make_cache(1, 40);
  std::vector<float> answers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    cache.fill(this->executor(), std::numeric_limits<float>::quiet_NaN());
    cache.clear();
    model.forward.run({model.prompts[i == 1 ? 4 : 0].ids}, cache, glm::positions::all);
    answers[i] = model.forward.logits();
  }
  EXPECT_EQ(answers[0], answers[2]);
  EXPECT_LT(relative_error(answers[1], golden_values(model.values, model.prompts[4], "ref.logits")), bound);
}

// GLM-12: an id outside the vocabulary is an error before anything runs, and the model stays usable.
TYPED_TEST(GlmForward, RefusesTokensOutsideTheVocabulary) {
  golden_model model("tiny-glm", this->executor());
  auto cache = model.forward.make_cache(2, 20);
  for (const std::int32_t id : {-1, 131, 2147483647}) {
    try {
      model.forward.run({{1, 2}, {3, id}}, cache, glm::positions::last);
      FAIL() << id << " was accepted";
    } catch (const glm::error& e) {
      EXPECT_TRUE(says(e.what(), "prompt 1: token 1 is " + std::to_string(id)));
    }
  }
  EXPECT_THROW(model.forward.run({{1}, {}}, cache, glm::positions::last), glm::error);
  EXPECT_THROW(model.forward.run({{1}, sequence(21, 1)}, cache, glm::positions::last), glm::error);
  auto none = model.forward.make_cache(0, 20);
  EXPECT_THROW(model.forward.run({}, none, glm::positions::last), glm::error);
  EXPECT_THROW(model.forward.make_cache(3, 1 << 30), glm::error);
  EXPECT_EQ(generate(model.forward, {model.prompts[0].ids}, 3)[0],
            sequence(model.prompts[0].greedy.begin(), model.prompts[0].greedy.begin() + 3));
}

// Every size awkward: heads * head_dim is not the hidden size, no bias, the head is the embedding, an odd vocabulary.
TYPED_TEST(GlmForward, RunsModelsOfAwkwardSizes) {
  for (const auto arch : {glm::architecture::glm, glm::architecture::glm4}) {
    glm::config c;
    c.arch = arch;
    c.vocabulary = 257, c.hidden = 121, c.intermediate = 173, c.layers = 3, c.heads = 6, c.kv_heads = 3,
    c.head_dim = 24, c.rotary_dim = 12;
    c.rope_theta = 500000, c.eps = 1e-6, c.qkv_bias = false, c.tied_head = true;
    const made_model made(c);
    auto forward = made.load<float>(this->executor());
    const reference exact(c, made.reference_weights());
    for (const sequence& prompt : {sequence{256}, sequence{0, 1, 2, 3, 4, 5, 6, 7, 250, 5, 5, 33, 200}}) {
      const auto want = exact.run(prompt).logits;
      EXPECT_LT(relative_error(all_logits(forward, prompt), {want.begin(), want.end()}), bound);
    }
  }
}

/// One layer of width four and two heads of width two, with all weights zero but the norms'.
made_model mini_block() {
  glm::config c;
  c.vocabulary = 5, c.hidden = 4, c.intermediate = 2, c.layers = 1, c.heads = 2, c.kv_heads = 1, c.head_dim = 2,
  c.rotary_dim = 2;
  made_model made(c);
  for (const auto& [name, t] : made.tensors) {
    const float all = name.find("norm") != std::string::npos ? 1.0f : 0.0f;
    made.set(name, [all](std::size_t) { return all; });
  }
  made.set("lm_head.weight", [](std::size_t i) { return float(i % 3); });
  return made;
}

// GLM-06: with zero weights the biases alone make attention's output, and o_proj adds none of its own.
TYPED_TEST(GlmForward, AddsTheBiasesOfQueryKeyAndValue) {
  made_model made = mini_block();
  const std::string attention = "model.layers.0.self_attn.";
  made.set("model.embed_tokens.weight", [](std::size_t i) { return float(i) / 4; });
  made.set(attention + "q_proj.bias", [](std::size_t) { return 1.0f; });
  made.set(attention + "k_proj.bias", [](std::size_t) { return 1.0f; });
  made.set(attention + "v_proj.bias", [](std::size_t) { return 3.0f; });
  made.set(attention + "o_proj.weight", [](std::size_t i) { return i % 5 == 0 ? 1.0f : 0.0f; });
  auto forward = made.load<float>(this->executor());
  std::vector<float> embedded, behind;
  forward.watch = [&](kiln::index_t at, const std::vector<float>& x) {
    if (at == 0) embedded = x;
    if (at == 1) behind = x;
  };
  (void)all_logits(forward, {1, 2, 4});
  ASSERT_EQ(behind.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(behind[i], embedded[i] + 3, 1e-6);
}

// GLM-08: the first half of gate_up's rows is the gate.
TYPED_TEST(GlmForward, TakesTheGateFromTheFirstHalf) {
  made_model made = mini_block();
  made.config.eps = 1e-30;
  made.set("model.embed_tokens.weight",
           [](std::size_t i) { return i % 4 == 0 ? 1.0f : 0.0f; });  // rms 1/2, so the norm gives 2
  made.set("model.layers.0.mlp.gate_up_proj.weight",
           [](std::size_t i) { return i % 4 == 0 ? 0.5f * float(i / 4 + 1) : 0.0f; });
  made.set("model.layers.0.mlp.down_proj.weight", [](std::size_t i) { return i == 2 || i == 5 ? 1.0f : 0.0f; });
  auto forward = made.load<float>(this->executor());
  std::vector<float> behind;
  forward.watch = [&](kiln::index_t at, const std::vector<float>& x) { behind = at == 1 ? x : behind; };
  (void)all_logits(forward, {3});
  ASSERT_EQ(behind.size(), 4u);
  EXPECT_NEAR(behind[1], 2.193176, 1e-5);
  EXPECT_NEAR(behind[2], 7.046377, 1e-5);
}

// GLM-11: a NaN anywhere shows as an error and not as token 0.
TYPED_TEST(GlmForward, ReportsLogitsThatAreNotFinite) {
  for (const char* tensor : {"model.layers.1.mlp.down_proj.weight", "lm_head.weight"}) {
    made_model made("tiny-glm");
    const doubles values = made.reference_weights().at(tensor);
    made.set(tensor, [&](std::size_t i) { return i == 77 ? NAN : float(values[i]); });
    auto forward = made.load<float>(this->executor());
    auto cache = forward.make_cache(2, 4);
    forward.run({{1, 2, 3}, {4}}, cache, glm::positions::last);
    try {
      (void)forward.greedy();
      FAIL() << "no error for a NaN in " << tensor;
    } catch (const glm::error& e) {
      EXPECT_TRUE(says(e.what(), "not finite"));
    }
  }
}

}  // namespace
