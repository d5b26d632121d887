#pragma once
/// What a GPU did with one-hot operands, as tests/arch/capture.cu printed it: lines of a name and integers, # for
/// comments.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::test {

inline std::string capture_path() { return KILN_TEST_DATA "/captures/warp_matrix.txt"; }

/// The records of one experiment, in file order; empty if there is no such file or name.
inline std::vector<std::vector<int>> captured(const std::string& experiment) {
  std::vector<std::vector<int>> records;
  std::ifstream file(capture_path());
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != experiment) continue;
    auto& record = records.emplace_back();
    for (int number = 0; words >> number;) record.push_back(number);
  }
  return records;
}

}  // namespace kiln::test

#define KILN_NEEDS_CAPTURE()                      \
  if (!std::ifstream(kiln::test::capture_path())) \
  GTEST_SKIP() << kiln::test::capture_path() << " is missing: tests/arch/capture.cu prints it on a GPU"
