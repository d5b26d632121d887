#pragma once
/// The command line.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "error.hpp"
#include "session.hpp"

namespace glm {

struct options {
  std::filesystem::path folder;
  std::vector<sequence> prompts;
  int generate = 16;
  std::optional<place> where;
  std::optional<number> type;
  std::optional<double> rope_theta;
  std::filesystem::path logits;
  bool json = false, demo = false, stop_at_eos = false;
};

/// "1,2,3". Ids are checked against the vocabulary later; here they must be numbers that 32 bits hold.
inline sequence parse_tokens(const std::string& text) {
  sequence ids;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int32_t id = 0;
    const auto [rest, problem] = std::from_chars(text.data() + at, text.data() + end, id);
    if (problem != std::errc() || rest != text.data() + end) {
      fail("--tokens: \"", text.substr(at, end - at), "\" in \"", text,
           "\" is not a token id, needs whole numbers with commas between");
    }
    ids.push_back(id);
    if (end == text.size()) return ids;
    at = end + 1;
  }
}

/// Ends the program with a message for a wrong command line (and for --help); throws `error` for wrong token lists.
inline options parse_options(int argc, const char* const* argv) {
  options o;
  CLI::App app("Runs a GLM model (glm, glm4) from a Hugging Face folder through Kiln's kernels.", "kiln-glm");
  std::vector<std::string> tokens;
  std::string where, type;
  double theta = 0;
  app.add_option("model", o.folder, "Folder with config.json and the weights")->required();
  app.add_option("--tokens", tokens, "Token ids of a prompt: 1,2,3. Give it again for a batch")
      ->allow_extra_args(false);
  app.add_option("--generate", o.generate, "How many tokens to generate for each prompt")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--executor", where, "host or device; without it the device where there is one")
      ->check(CLI::IsMember({"host", "device"}));
  app.add_option("--type", type, "Element type of weights and activations; f32 by default")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  app.add_option("--logits", o.logits, "Write the logits of the first prompt's positions to this safetensors file");
  auto* theta_option = app.add_option("--rope-theta", theta, "Rotary base, in place of the config's");
  app.add_flag("--json", o.json, "Print one JSON object");
  app.add_flag("--stop-at-eos", o.stop_at_eos, "Cut each answer off behind its first end-of-sequence token");
  auto* demo = app.add_flag("--demo", o.demo,
                            "Run the folder's golden prompts, print a trace of the kernels and compare the tokens");
  for (const char* other : {"--tokens", "--generate", "--logits", "--json", "--stop-at-eos"}) demo->excludes(other);
  // CLI11 takes arguments in reverse order.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e));
  }
  for (const std::string& list : tokens) o.prompts.push_back(parse_tokens(list));
  if (!where.empty()) o.where = where == "host" ? place::host : place::device;
  if (!type.empty()) o.type = type == "f32" ? number::f32 : type == "bf16" ? number::bf16 : number::f16;
  if (theta_option->count() > 0) {
    if (!(theta > 0 && theta <= std::numeric_limits<float>::max()))
      fail("--rope-theta: ", theta, ", needs a number above 0 that float32 holds");
    o.rope_theta = theta;
  }
  if (o.prompts.empty() && !o.demo) fail("no prompt: give --tokens 1,2,3 or --demo");
  return o;
}

}  // namespace glm
