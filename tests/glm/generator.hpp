#pragma once
/// Weights from an integer hash. The golden models' weights were made by this rule, so a large one need not be stored:
/// every step is exact, and any machine makes the same bits.
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "examples/glm/safetensors.hpp"

namespace glm_test {

inline constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15ull;

/// The finaliser of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
  z ^= z >> 30, z *= 0xBF58476D1CE4E5B9ull;
  z ^= z >> 27, z *= 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// FNV-1a, 64 bits (RFC 9923).
constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

constexpr std::uint64_t state_of(std::string_view tensor, std::uint64_t seed) {
  return fnv1a(tensor) ^ mix(seed + golden_ratio);
}

/// Element `i` (row-major) of a tensor: uniform in center +- amp. Exact in double, so contraction to fma changes
/// nothing.
constexpr float value(std::uint64_t state, std::uint64_t i, double center, double amp) {
  const std::uint64_t u = mix(state + (i + 1) * golden_ratio) >> 40;
  return static_cast<float>(center + (static_cast<double>(2 * u + 1) * 0x1p-24 - 1.0) * amp);
}

/// Rounds to nearest even; the values made here are finite.
constexpr std::uint16_t to_bf16(float f) {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// One tensor by its line in golden.json: {"shape": [...], "center": c, "amp": a}.
inline glm::tensor_to_write make_tensor(const std::string& name, const nlohmann::json& line, std::uint64_t seed) {
  glm::tensor_to_write t{name, "BF16", line.at("shape"), {}};
  std::uint64_t elements = 1;
  for (const std::int64_t extent : t.shape) elements *= static_cast<std::uint64_t>(extent);
  const double center = line.at("center"), amp = line.at("amp");
  const std::uint64_t state = state_of(name, seed);
  t.bytes.resize(2 * elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const std::uint16_t bits = to_bf16(value(state, i, center, amp));
    std::memcpy(t.bytes.data() + 2 * i, &bits, 2);
  }
  return t;
}

/// All tensors that golden.json describes.
inline std::vector<glm::tensor_to_write> make_weights(const nlohmann::json& golden) {
  std::vector<glm::tensor_to_write> tensors;
  for (const auto& [name, line] : golden.at("generator").at("tensors").items()) {
    tensors.push_back(make_tensor(name, line, golden.at("seed")));
  }
  return tensors;
}

}  // namespace glm_test
