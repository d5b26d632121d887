#pragma once
/// JSON values in messages: short, and without recursion, for a file may nest them as deeply as it likes.
#include <nlohmann/json.hpp>
#include <string>

namespace glm {

/// The value where it is a scalar or a short list of scalars, cut off at 80 characters; else what kind of value it is.
inline std::string shown(const nlohmann::json& value) {
  const auto scalar = [](const nlohmann::json& v) {
    constexpr std::size_t most = 80;
    const std::string text = v.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return text.size() <= most ? text : text.substr(0, most) + "...";
  };
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  if (!value.is_array()) return scalar(value);
  std::string list = "[";
  for (const auto& v : value) {
    if (v.is_structured() || value.size() > 8) return "an array of " + std::to_string(value.size());
    list += (list.size() == 1 ? "" : ",") + scalar(v);
  }
  return list + "]";
}

}  // namespace glm
