#include "safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "error.hpp"
#include "file.hpp"
#include "json_text.hpp"

static_assert(std::endian::native == std::endian::little, "the files are little-endian and are read as they are");

namespace glm {
namespace {

using nlohmann::json;

constexpr std::uint64_t max_header_bytes = 100'000'000;

constexpr std::array<dtype, 22> dtypes{
    {{"BOOL", 8, 0},         {"F4", 4, 1},      {"F6_E2M3", 6, 2}, {"F6_E3M2", 6, 3}, {"U8", 8, 4},
     {"I8", 8, 5},           {"F8_E5M2", 8, 6}, {"F8_E4M3", 8, 7}, {"F8_E8M0", 8, 8}, {"F8_E4M3FNUZ", 8, 9},
     {"F8_E5M2FNUZ", 8, 10}, {"I16", 16, 11},   {"U16", 16, 12},   {"F16", 16, 13},   {"BF16", 16, 14},
     {"I32", 32, 15},        {"U32", 32, 16},   {"F32", 32, 17},   {"C64", 64, 18},   {"F64", 64, 19},
     {"I64", 64, 20},        {"U64", 64, 21}}};

/// JSON parsers keep the last of two equal keys; here a name that occurs twice is an error, so the parser's events are
/// watched.
json parse_unique(const std::string& text) {
  std::vector<std::set<std::string>> open;  // the keys seen so far in each object that is still open
  return json::parse(text, [&open](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      fail("the header has the key \"", value.get<std::string>(), "\" twice");
    }
    return true;
  });
}

std::uint64_t whole_number(const json& value, const std::string& what) {
  if (!value.is_number_unsigned()) fail(what, " is ", shown(value), ", needs a whole number that is not negative");
  return value.get<std::uint64_t>();
}

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, const std::string& name) {
  if (a != 0 && b > std::uint64_t(std::numeric_limits<std::int64_t>::max()) / a) {
    fail("tensor ", name, ": its shape has more elements than 64 bits can count");
  }
  return a * b;
}

tensor_entry parse_entry(const std::string& name, const json& info) {
  if (!info.is_object()) fail("tensor ", name, ": its entry is not a JSON object");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!info.contains(key)) fail("tensor ", name, ": its entry has no \"", key, "\"");
  }
  if (!info["dtype"].is_string()) fail("tensor ", name, ": dtype is ", shown(info["dtype"]), ", needs a string");
  const auto type_name = info["dtype"].get<std::string>();
  tensor_entry entry{find_dtype(type_name), {}, 0, 0};
  if (entry.type == nullptr) fail("tensor ", name, ": unknown dtype \"", type_name, "\"");

  if (!info["shape"].is_array()) fail("tensor ", name, ": shape is ", shown(info["shape"]), ", needs an array");
  std::uint64_t elements = 1;
  for (const json& extent : info["shape"]) {
    const std::uint64_t n = whole_number(extent, "tensor " + name + ": an extent of its shape");
    elements = checked_product(elements, n, name);
    entry.shape.push_back(static_cast<std::int64_t>(n));
  }
  const std::uint64_t bits = checked_product(elements, static_cast<std::uint64_t>(entry.type->bits), name);
  if (bits % 8 != 0) fail("tensor ", name, ": ", elements, " elements of ", type_name, " do not fill whole bytes");

  const json& offsets = info["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    fail("tensor ", name, ": data_offsets is ", shown(offsets), ", needs [begin, end]");
  }
  const std::uint64_t begin = whole_number(offsets[0], "tensor " + name + ": the begin in data_offsets");
  const std::uint64_t end = whole_number(offsets[1], "tensor " + name + ": the end in data_offsets");
  if (end < begin || end - begin != bits / 8) {
    fail("tensor ", name, ": data_offsets ", shown(offsets), " do not span the ", bits / 8, " bytes of ", type_name,
         " ", to_string(entry.shape));
  }
  entry.offset = begin;
  entry.bytes = end - begin;
  return entry;
}

/// Sorted by offset the tensors must follow one another from 0 to the end of the data.
void check_tiling(const std::map<std::string, tensor_entry>& tensors, std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, tensor_entry>*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->second.offset, a->second.bytes) < std::pair(b->second.offset, b->second.bytes);
  });
  std::uint64_t end = 0;
  for (const auto* named : order) {
    const auto& [name, entry] = *named;
    if (entry.offset < end)
      fail("tensor ", name, ": begins at ", entry.offset, ", inside the tensor that ends at ", end);
    if (entry.offset > end) fail("tensor ", name, ": begins at ", entry.offset, ", which leaves a hole from ", end);
    end = entry.offset + entry.bytes;
  }
  if (end != data_bytes) fail("the tensors end at ", end, ", but the file has ", data_bytes, " bytes of data");
}

}  // namespace

const dtype* find_dtype(std::string_view name) {
  for (const dtype& t : dtypes) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

std::int64_t tensor_entry::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::string to_string(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

safetensors_file::safetensors_file(std::filesystem::path path) : path_(std::move(path)) {
  stream_ = open_file(path_, std::ios::ate);
  try {
    const auto file_bytes = static_cast<std::uint64_t>(stream_.tellg());
    if (file_bytes < 8) fail("has ", file_bytes, " bytes, too few for the header's length");
    std::uint64_t header_bytes = 0;
    stream_.seekg(0).read(reinterpret_cast<char*>(&header_bytes), 8);
    if (header_bytes > max_header_bytes) {
      fail("the header claims ", header_bytes, " bytes, at most ", max_header_bytes, " are allowed");
    }
    if (header_bytes > file_bytes - 8) {
      fail("the header claims ", header_bytes, " bytes, but only ", file_bytes - 8, " follow: is the file cut off?");
    }
    std::string header(header_bytes, ' ');
    if (!stream_.read(header.data(), static_cast<std::streamsize>(header_bytes))) fail("the header cannot be read");
    parse(header, 8 + header_bytes, file_bytes - 8 - header_bytes);
  } catch (const std::exception& e) {
    fail(path_.string(), ": ", e.what());
  }
}

void safetensors_file::parse(const std::string& header, std::uint64_t data_begin, std::uint64_t data_bytes) {
  // A JSON parser may skip a byte-order mark and stop at a zero byte; the format allows neither.
  const std::size_t first = header.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || header[first] != '{') fail("the header does not begin with {");
  if (header.find('\0') != std::string::npos) fail("the header has a zero byte");
  const json root = parse_unique(header);
  if (!root.is_object()) fail("the header is not a JSON object");
  for (const auto& [name, info] : root.items()) {
    if (name == "__metadata__") {
      if (!info.is_object()) fail("__metadata__ is not a JSON object");
      for (const auto& [key, value] : info.items()) {
        if (!value.is_string()) fail("__metadata__: the value of \"", key, "\" is not a string");
        metadata_[key] = value.get<std::string>();
      }
    } else {
      tensors_.emplace(name, parse_entry(name, info));
    }
  }
  check_tiling(tensors_, data_bytes);
  for (auto& [name, entry] : tensors_) entry.offset += data_begin;
}

const tensor_entry& safetensors_file::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(path_.string(), ": has no tensor ", name);
  return found->second;
}

std::vector<std::byte> safetensors_file::read(const tensor_entry& entry) const {
  std::vector<std::byte> bytes(entry.bytes);
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(entry.offset));
  stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream_) fail(path_.string(), ": cannot read ", entry.bytes, " bytes at ", entry.offset);
  return bytes;
}

template <class T>
std::vector<T> safetensors_file::values(const std::string& name) const {
  const char* wanted = std::is_same_v<T, float> ? "F32" : "I32";
  const tensor_entry& entry = at(name);
  if (entry.type->name != wanted) {
    fail(path_.string(), ": tensor ", name, " is ", std::string(entry.type->name), ", needs ", wanted);
  }
  const std::vector<std::byte> bytes = read(entry);
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}
template std::vector<float> safetensors_file::values<float>(const std::string&) const;
template std::vector<std::int32_t> safetensors_file::values<std::int32_t>(const std::string&) const;

}  // namespace glm
