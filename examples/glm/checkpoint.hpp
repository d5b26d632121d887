#pragma once
/// The tensors of a model's folder: one model.safetensors, or several files with an index.
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config.hpp"
#include "safetensors.hpp"
#include "tensor_names.hpp"

namespace glm {

/// The bytes of one tensor as they are stored: float32, bfloat16 or float16.
struct stored_tensor {
  std::string_view type;
  std::vector<std::byte> bytes;
};

class checkpoint {
 public:
  /// Opens model.safetensors, or where there is none the files that model.safetensors.index.json names.
  explicit checkpoint(const std::filesystem::path& folder);

  /// An `error` unless the folder has each tensor that the config asks for, with its shape and a type that can be read,
  /// and no other: a bias that a model has no place for is a mistake, as is one that is missing.
  void check(const config& c) const;

  stored_tensor read(const tensor_name& wanted) const;

 private:
  void open_index(const std::filesystem::path& list);
  const tensor_entry& entry(const tensor_name& wanted) const;

  std::filesystem::path folder_;
  std::vector<std::unique_ptr<safetensors_file>> files_;
  std::map<std::string, const safetensors_file*> file_of_;
};

}  // namespace glm
