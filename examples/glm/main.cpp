// kiln-glm: greedy generation with a GLM model on Kiln's kernels.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "config.hpp"
#include "demo.hpp"
#include "error.hpp"
#include "options.hpp"
#include "safetensors.hpp"
#include "session.hpp"

namespace {

using namespace glm;
using clock_type = std::chrono::steady_clock;

const char* name_of(place where) { return where == place::host ? "host" : "device"; }
const char* name_of(number type) { return type == number::f32 ? "f32" : type == number::bf16 ? "bf16" : "f16"; }

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

place choose_place(const options& o) {
  const std::string reason = why_no_device();
  if (!o.where) return reason.empty() ? place::device : place::host;
  if (*o.where == place::device && !reason.empty()) fail("--executor device: ", reason);
  return *o.where;
}

void cut_at_eos(sequence& answer, const config& c) {
  const auto ends = [&c](std::int32_t id) {
    return std::find(c.eos_tokens.begin(), c.eos_tokens.end(), id) != c.eos_tokens.end();
  };
  const auto first = std::find_if(answer.begin(), answer.end(), ends);
  if (first != answer.end()) answer.erase(first + 1, answer.end());
}

/// Tensor cores are used by the 16-bit types alone, so the demo shows one of them too unless a type is asked for.
bool demo(const options& o, const config& c, place where) {
  const golden_tokens golden = read_golden(o.folder);
  std::vector<number> types{number::f32, number::bf16};
  if (o.type) types = {*o.type};
  bool equal = true;
  for (const number type : types) {
    std::printf("%s: %zu prompts, type %s, executor %s\n", o.folder.string().c_str(), golden.prompts.size(),
                name_of(type), name_of(where));
    equal = run_demo(*open_session(o.folder, c, where, type), golden) && equal;
  }
  return equal;
}

void warn_of_length(const options& o, const config& c) {
  for (std::size_t b = 0; b < o.prompts.size(); ++b) {
    const std::int64_t length = static_cast<std::int64_t>(o.prompts[b].size()) + o.generate;
    if (length > c.max_positions) {
      std::fprintf(stderr, "kiln-glm: prompt %zu and its answer have %lld tokens, the model was made for %lld\n", b,
                   static_cast<long long>(length), static_cast<long long>(c.max_positions));
    }
  }
}

/// The logits of the first prompt's positions, as they are; an `error` behind that where one is not finite.
void save_logits(const options& o, const config& c, session& model) {
  const std::vector<float> logits = model.logits(o.prompts[0]);
  const std::int64_t length = static_cast<std::int64_t>(o.prompts[0].size());
  write_safetensors(o.logits, {float32_tensor("logits", {length, c.vocabulary}, logits)});
  const auto wrong = std::find_if(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); });
  if (wrong != logits.end()) {
    const std::int64_t at = wrong - logits.begin();
    fail(o.logits.string(), ": the logit of token ", at % c.vocabulary, " at position ", at / c.vocabulary, " is ",
         *wrong, ", which is not finite");
  }
}

void generate(const options& o, const config& c, place where) {
  for (std::size_t b = 0; b < o.prompts.size(); ++b) check_tokens(b, o.prompts[b], c.vocabulary);
  warn_of_length(o, c);
  const number type = o.type.value_or(number::f32);
  const auto loading = clock_type::now();
  const auto model = open_session(o.folder, c, where, type);
  const double load_seconds = seconds_since(loading);

  if (!o.logits.empty()) save_logits(o, c, *model);
  const auto start = clock_type::now();
  std::vector<sequence> answers = model->generate(o.prompts, o.generate);
  const double seconds = seconds_since(start);
  if (o.stop_at_eos) {
    for (sequence& answer : answers) cut_at_eos(answer, c);
  }

  if (o.json) {
    const nlohmann::json result{{"tokens", answers},          {"seconds", seconds},    {"load_seconds", load_seconds},
                                {"executor", name_of(where)}, {"type", name_of(type)}, {"model", o.folder.string()}};
    std::printf("%s\n", result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const sequence& answer : answers) std::printf("%s\n", to_text(answer).c_str());
    std::fprintf(stderr, "executor %s, type %s: loaded in %.3f s, generated in %.3f s\n", name_of(where), name_of(type),
                 load_seconds, seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const options o = parse_options(argc, argv);
    config c = read_config(o.folder / "config.json");
    if (o.rope_theta) c.rope_theta = *o.rope_theta;
    const place where = choose_place(o);
    if (o.demo) return demo(o, c, where) ? 0 : 1;
    generate(o, c, where);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kiln-glm: %s\n", e.what());
    return 2;
  }
}
