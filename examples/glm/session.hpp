#pragma once
/// A model that is ready to run, whatever its element type and executor are.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config.hpp"
#include "error.hpp"

namespace glm {

using sequence = std::vector<std::int32_t>;

/// An `error` where a prompt has no tokens, or one that is not in the vocabulary. `number` is the prompt's.
inline void check_tokens(std::size_t number, const sequence& prompt, std::int64_t vocabulary) {
  if (prompt.empty()) fail("prompt ", number, " has no tokens");
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= vocabulary) {
      fail("prompt ", number, ": token ", i, " is ", prompt[i], ", the vocabulary has ids 0 to ", vocabulary - 1);
    }
  }
}

enum class place { host, device };
enum class number { f32, bf16, f16 };

class session {
 public:
  virtual ~session() = default;

  /// The logits of every position of a prompt: float32, row-major [length, vocabulary].
  virtual std::vector<float> logits(const sequence& prompt) = 0;

  /// `count` greedy tokens behind each prompt. The prompts are one batch and may differ in length.
  virtual std::vector<sequence> generate(const std::vector<sequence>& prompts, int count) = 0;
};

/// Why this program cannot use a GPU here; empty if it can.
std::string why_no_device();

/// Loads the weights of a folder. Throws `error` where they do not fit the config.
std::unique_ptr<session> open_session(const std::filesystem::path& folder, const config& c, place where, number type);

}  // namespace glm
