#pragma once
/// Random numbers from a counter: Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
/// easy as 1, 2, 3; SC 2011). The same counter and key give the same numbers everywhere, and nothing is stored between
/// draws.
#include <cstdint>
#include <kiln/core/macros.hpp>

namespace kiln::rows {

struct philox {
  std::uint32_t v[4];
};

namespace detail {
KILN_FN constexpr std::uint32_t high_of(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}
}  // namespace detail

/// The four numbers of a counter of 128 bits, low word first, and a key of 64.
KILN_FN constexpr philox philox_of(philox counter, std::uint64_t key) {
  constexpr std::uint32_t first = 0xd2511f53u, second = 0xcd9e8d57u;
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  philox c = counter;
  KILN_UNROLL
  for (int round = 0; round < 10; ++round) {
    c = {{detail::high_of(second, c.v[2]) ^ c.v[1] ^ k0, second * c.v[2], detail::high_of(first, c.v[0]) ^ c.v[3] ^ k1,
          first * c.v[0]}};
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return c;
}

/// 64 random bits for element `at` of draw `number`.
KILN_FN constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t number, std::uint64_t at) {
  const philox r = philox_of({{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                               static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32)}},
                             seed);
  return (static_cast<std::uint64_t>(r.v[1]) << 32) | r.v[0];
}

/// floor(bits * n / 2^64): evenly distributed in [0, n), but for n / 2^64 of the probability.
KILN_FN constexpr std::uint64_t scaled_to(std::uint64_t bits, std::uint64_t n) {
  const std::uint64_t low_mask = 0xffffffffu;
  const std::uint64_t a = bits >> 32, b = bits & low_mask, c = n >> 32, d = n & low_mask;
  const std::uint64_t middle = ((b * d) >> 32) + ((a * d) & low_mask) + ((b * c) & low_mask);
  return a * c + ((a * d) >> 32) + ((b * c) >> 32) + (middle >> 32);
}

}  // namespace kiln::rows
