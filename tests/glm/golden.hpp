#pragma once
/// The golden models under tests/data: where they are, and what they must answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/glm/safetensors.hpp"

namespace glm_test {

namespace fs = std::filesystem;
using sequence = std::vector<std::int32_t>;

inline fs::path data_folder() { return fs::path(KILN_TEST_DATA); }
inline fs::path model_folder(const std::string& model) { return data_folder() / model; }

inline nlohmann::json golden_json(const std::string& model) {
  std::ifstream in(model_folder(model) / "golden.json");
  return nlohmann::json::parse(in);
}

inline testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

/// A folder of this test alone, empty at first and removed at its end.
class scratch_folder {
 public:
  scratch_folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("kiln-") + test->test_suite_name() + "-" + test->name();
    std::replace(name.begin(), name.end(), '/', '-');
    path_ = fs::path(testing::TempDir()) / name;
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// One golden prompt: its ids, the greedy tokens that follow, and the name under which its tensors are stored.
struct golden_prompt {
  sequence ids, greedy;
  std::string prefix;       ///< "" or "ragged.1."
  std::size_t batch_index;  ///< its place in the stored batch
};

inline std::vector<sequence> rows_of(const glm::safetensors_file& file, const std::string& name) {
  const auto flat = file.values<std::int32_t>(name);
  const auto& shape = file.at(name).shape;
  std::vector<sequence> rows;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    rows.emplace_back(flat.begin() + b * shape[1], flat.begin() + (b + 1) * shape[1]);
  }
  return rows;
}

/// The batch of equal lengths, then the prompts of other lengths, 1 among them.
inline std::vector<golden_prompt> golden_prompts(const glm::safetensors_file& file) {
  std::vector<golden_prompt> prompts;
  const auto ids = rows_of(file, "prompt.input_ids"), greedy = rows_of(file, "decode.tokens");
  for (std::size_t b = 0; b < ids.size(); ++b) prompts.push_back({ids[b], greedy[b], "", b});
  for (int i = 0; file.tensors().count("ragged." + std::to_string(i) + ".input_ids") != 0; ++i) {
    const std::string prefix = "ragged." + std::to_string(i) + ".";
    prompts.push_back({rows_of(file, prefix + "input_ids")[0], rows_of(file, prefix + "tokens")[0], prefix, 0});
  }
  return prompts;
}

/// The part of a stored tensor [batch, ...] that belongs to one prompt.
inline std::vector<float> golden_values(const glm::safetensors_file& file, const golden_prompt& prompt,
                                        const std::string& name) {
  const auto all = file.values<float>(prompt.prefix + name);
  const auto batch = static_cast<std::size_t>(file.at(prompt.prefix + name).shape[0]);
  const std::size_t each = all.size() / batch;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(prompt.batch_index * each);
  return {begin, begin + static_cast<std::ptrdiff_t>(each)};
}

/// Root of the mean of squared differences.
inline double rms_error(const std::vector<float>& got, const std::vector<float>& want) {
  double sum = 0;
  for (std::size_t i = 0; i < want.size(); ++i) sum += std::pow(double(got.at(i)) - double(want[i]), 2);
  return std::sqrt(sum / double(want.size()));
}

/// max|got - want| / max|want|; infinite where sizes differ or a value is not finite.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return INFINITY;
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    error = std::max(error, std::abs(double(got[i]) - double(want[i])));
    largest = std::max(largest, std::abs(double(want[i])));
  }
  return error / largest;
}

}  // namespace glm_test
