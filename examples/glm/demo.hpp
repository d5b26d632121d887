#pragma once
/// The golden prompts of a model's folder, run under a trace.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "error.hpp"
#include "file.hpp"
#include "session.hpp"
#include "trace.hpp"

namespace glm {

struct golden_tokens {
  std::vector<sequence> prompts, greedy;
};

inline golden_tokens read_golden(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "golden.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) fail(file.string(), ": is missing, --demo needs golden prompts");
  std::ifstream in = open_file(file);
  try {
    const auto root = nlohmann::json::parse(in);
    const auto& tokens = root.at("tokens");
    golden_tokens golden{tokens.at("prompt"), tokens.at("greedy")};
    if (golden.prompts.empty() || golden.prompts.size() != golden.greedy.size())
      fail("prompts and answers differ in number");
    return golden;
  } catch (const std::exception& e) {
    fail(file.string(), ": ", e.what());
  }
}

inline std::string to_text(const sequence& ids) {
  std::string text;
  for (const std::int32_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  return text;
}

/// Prints the trace and each answer beside its golden one; true if all are equal.
inline bool run_demo(session& model, const golden_tokens& golden) {
  std::vector<sequence> answers;
  {
    launch_trace trace;
    answers = model.generate(golden.prompts, static_cast<int>(golden.greedy[0].size()));
    trace.print(stdout);
  }
  bool all_equal = true;
  for (std::size_t b = 0; b < answers.size(); ++b) {
    const bool equal = answers[b] == golden.greedy[b];
    all_equal = all_equal && equal;
    std::printf("prompt %zu: %s\n  tokens: %s\n", b, equal ? "tokens equal the golden ones" : "TOKENS DIFFER",
                to_text(answers[b]).c_str());
    if (!equal) std::printf("  golden: %s\n", to_text(golden.greedy[b]).c_str());
  }
  return all_equal;
}

}  // namespace glm
