#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "error.hpp"
#include "safetensors.hpp"

namespace glm {

void write_safetensors(const std::filesystem::path& path, std::vector<tensor_to_write> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const auto rank = [](const tensor_to_write& t) {
    const dtype* type = find_dtype(t.type);
    if (type == nullptr) fail("tensor ", t.name, ": unknown dtype \"", std::string(t.type), "\"");
    return type->rank;
  };
  std::sort(tensors.begin(), tensors.end(),
            [&](const auto& a, const auto& b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a.name < b.name; });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t end = 0;
  for (const tensor_to_write& t : tensors) {
    const tensor_entry entry{find_dtype(t.type), t.shape, 0, 0};
    const std::uint64_t bytes = static_cast<std::uint64_t>(entry.elements()) * std::uint64_t(entry.type->bits) / 8;
    if (t.bytes.size() != bytes) fail("tensor ", t.name, ": has ", t.bytes.size(), " bytes, its shape needs ", bytes);
    if (header.contains(t.name)) fail("tensor ", t.name, ": is given twice");
    header[t.name] = {{"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = text.size();

  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header_bytes), 8);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const tensor_to_write& t : tensors) {
    out.write(reinterpret_cast<const char*>(t.bytes.data()), static_cast<std::streamsize>(t.bytes.size()));
  }
  out.close();
  if (!out) fail(path.string(), ": cannot be written");
}

tensor_to_write float32_tensor(std::string name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), "F32", std::move(shape), std::move(bytes)};
}

}  // namespace glm
