#pragma once
/// The session of one element type: greedy generation over the forward pass.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"
#include "forward.hpp"
#include "session.hpp"
#include "weights.hpp"

namespace glm {

template <class T, class Executor>
class model_session final : public session {
 public:
  model_session(const Executor& ex, const std::filesystem::path& folder, const config& c)
      : forward_(ex, c, load_weights<T>(ex, checkpoint(folder), c)) {}

  std::vector<float> logits(const sequence& prompt) override {
    auto cache = forward_.make_cache(1, static_cast<kiln::index_t>(prompt.size()));
    forward_.run({prompt}, cache, positions::all);
    return forward_.logits();
  }

  std::vector<sequence> generate(const std::vector<sequence>& prompts, int count) override {
    std::vector<sequence> answers(prompts.size());
    if (count <= 0 || prompts.empty()) return answers;
    std::size_t longest = 0;
    for (const sequence& prompt : prompts) longest = std::max(longest, prompt.size());
    auto cache = forward_.make_cache(static_cast<kiln::index_t>(prompts.size()),
                                     static_cast<kiln::index_t>(longest) + count - 1);

    std::vector<sequence> next = prompts;
    for (int step = 0; step < count; ++step) {
      forward_.run(next, cache, positions::last);
      const sequence chosen = forward_.greedy();
      for (std::size_t b = 0; b < prompts.size(); ++b) {
        answers[b].push_back(chosen[b]);
        next[b] = {chosen[b]};
      }
    }
    return answers;
  }

 private:
  forward<T, Executor> forward_;
};

}  // namespace glm
