#pragma once
/// Reading and writing safetensors: an 8-byte little-endian header length, a JSON header, then the tensors' bytes.
/// Format: https://github.com/huggingface/safetensors (README, "Format").
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace glm {

/// An element type, named as in the file: "F32", "BF16", "F16", "I32", ...
struct dtype {
  std::string_view name;
  int bits;
  int rank;  ///< the official writer puts tensors of higher rank first
};

/// The dtype of this name, or null.
const dtype* find_dtype(std::string_view name);

/// Where a tensor lies in its file. Row-major, little-endian, aligned to nothing.
struct tensor_entry {
  const dtype* type;
  std::vector<std::int64_t> shape;
  std::uint64_t offset;  ///< from the start of the file
  std::uint64_t bytes;

  std::int64_t elements() const;
};

/// "[131, 64]"
std::string to_string(const std::vector<std::int64_t>& shape);

/// An open file whose header has passed every check of the format: known dtypes, sizes without overflow, unique names,
/// and tensors that tile the data section without a hole. Throws `error` with the file's name otherwise.
class safetensors_file {
 public:
  explicit safetensors_file(std::filesystem::path path);

  const std::map<std::string, tensor_entry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }

  /// The entry of this name; an `error` that names the file where there is none.
  const tensor_entry& at(const std::string& name) const;
  std::vector<std::byte> read(const tensor_entry& entry) const;

  /// The values of a tensor that must be stored as exactly this type: float for "F32", std::int32_t for "I32".
  template <class T>
  std::vector<T> values(const std::string& name) const;

 private:
  void parse(const std::string& header, std::uint64_t data_begin, std::uint64_t data_bytes);

  std::filesystem::path path_;
  mutable std::ifstream stream_;
  std::map<std::string, tensor_entry> tensors_;
  std::map<std::string, std::string> metadata_;
};

struct tensor_to_write {
  std::string name;
  std::string_view type;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Writes the same bytes as the official writer does: tensors by descending rank of their dtype, then by name; the
/// header padded with spaces to a multiple of 8.
void write_safetensors(const std::filesystem::path& path, std::vector<tensor_to_write> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A float32 tensor to write.
tensor_to_write float32_tensor(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& values);

}  // namespace glm
