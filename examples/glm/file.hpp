#pragma once
/// Opening what the user named. A stream opens folders too, and then reads nothing from them.
#include <filesystem>
#include <fstream>
#include <system_error>

#include "error.hpp"

namespace glm {

inline std::ifstream open_file(const std::filesystem::path& file, std::ios::openmode more = {}) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail(file.string(), ": is a folder, needs a file");
  std::ifstream in(file, std::ios::binary | more);
  if (!in) fail(file.string(), ": cannot be opened");
  return in;
}

}  // namespace glm
