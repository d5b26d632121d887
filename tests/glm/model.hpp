#pragma once
/// Models for the tests: the golden ones, and small ones of any shape whose tensors a test may change before they are
/// loaded.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "examples/glm/checkpoint.hpp"
#include "examples/glm/forward.hpp"
#include "tests/glm/generator.hpp"
#include "tests/glm/golden.hpp"
#include "tests/glm/reference.hpp"

namespace glm_test {

inline const bool guarded = glm::fresh_memory_is_nan = true;

/// Tensors in BF16 by name, for any config; and the file that a loader reads them from.
struct made_model {
  glm::config config;
  std::map<std::string, glm::tensor_to_write> tensors;

  explicit made_model(const glm::config& c) : config(c) {
    for (const auto& name : glm::names_of(c).all()) {
      const bool norm = name.name.find("norm") != std::string::npos;
      const double amp = norm                     ? 0.25
                         : name.shape.size() == 1 ? 0.125
                                                  : std::ldexp(1.0, -int(std::log2(double(name.shape[1])) / 2));
      tensors[name.name] =
          make_tensor(name.name, {{"shape", name.shape}, {"center", norm ? 1.0 : 0.0}, {"amp", amp}}, 7);
    }
  }
  /// The stored weights of tiny-glm, tiny-glm4 or mid-glm.
  explicit made_model(const std::string& model) : config(glm::read_config(model_folder(model) / "config.json")) {
    for (auto& t : make_weights(golden_json(model))) tensors[t.name] = std::move(t);
  }

  template <class F>
  void set(const std::string& name, F&& value_at) {
    auto& bytes = tensors.at(name).bytes;
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
      const std::uint16_t bits = to_bf16(value_at(i));
      std::memcpy(bytes.data() + 2 * i, &bits, 2);
    }
  }
  /// Exact for powers of two.
  void scale(const std::string& name, float by) {
    const doubles values = reference_weights().at(name);
    set(name, [&](std::size_t i) { return static_cast<float>(values[i]) * by; });
  }

  std::vector<glm::tensor_to_write> list() const {
    std::vector<glm::tensor_to_write> all;
    for (const auto& [name, t] : tensors) all.push_back(t);
    return all;
  }
  named_weights reference_weights() const { return widened(list()); }

  template <class T, class Executor>
  glm::forward<T, Executor> load(const Executor& ex) const {
    const scratch_folder folder;
    glm::write_safetensors(folder.path() / "model.safetensors", list());
    return {ex, config, glm::load_weights<T>(ex, glm::checkpoint(folder.path()), config)};
  }
};

/// Greedy tokens, each step's logits and the cache that is left.
template <class T, class Executor>
std::vector<sequence> generate(glm::forward<T, Executor>& forward, const std::vector<sequence>& prompts, int count) {
  std::size_t longest = 0;
  for (const auto& p : prompts) longest = std::max(longest, p.size());
  auto cache = forward.make_cache(kiln::index_t(prompts.size()), kiln::index_t(longest) + count);
  std::vector<sequence> next = prompts, answers(prompts.size());
  for (int step = 0; step < count; ++step) {
    forward.run(next, cache, glm::positions::last);
    const sequence chosen = forward.greedy();
    for (std::size_t b = 0; b < prompts.size(); ++b) answers[b].push_back(chosen[b]), next[b] = {chosen[b]};
  }
  return answers;
}

template <class T, class Executor>
std::vector<float> all_logits(glm::forward<T, Executor>& forward, const sequence& prompt) {
  auto cache = forward.make_cache(1, kiln::index_t(prompt.size()));
  forward.run({prompt}, cache, glm::positions::all);
  return forward.logits();
}

}  // namespace glm_test
