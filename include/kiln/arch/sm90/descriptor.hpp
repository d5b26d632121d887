#pragma once
/// The matrix descriptor: where wgmma finds an operand in shared memory.
/// Source: PTX ISA, "Asynchronous warpgroup level matrix shared memory layout", "Matrix-descriptor".
#include <cstdint>
#include <kiln/arch/host/model.hpp>
#include <kiln/arch/sm90/sync.hpp>
#include <kiln/core/macros.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/layout/swizzle.hpp>

namespace kiln::sm90 {

/// Along which axis neighbours in memory lie: K (A row-major, B column-major), or M of A and N of B.
enum class major { k, mn };

struct matrix_descriptor {
  std::uint64_t bits;

  // First bit of each field. Addresses and offsets are stored in units of 16 bytes, 14 bits each.
  static constexpr int start_bit = 0, leading_bit = 16, stride_bit = 32, pattern_bit = 62;

  /// The operand that starts `bytes` further on, a multiple of 16. Inside a swizzled row this steps along K.
  KILN_FN constexpr matrix_descriptor plus(int bytes) const { return {bits + static_cast<std::uint64_t>(bytes >> 4)}; }

  KILN_FN constexpr std::uint32_t start() const { return field(start_bit); }
  KILN_FN constexpr std::uint32_t leading() const { return field(leading_bit); }
  KILN_FN constexpr std::uint32_t stride() const { return field(stride_bit); }
  KILN_FN constexpr swizzle pattern() const {
    const int mode = static_cast<int>(bits >> pattern_bit);
    return mode == 1 ? swizzle::b128 : mode == 2 ? swizzle::b64 : mode == 3 ? swizzle::b32 : swizzle::none;
  }

 private:
  KILN_FN constexpr std::uint32_t field(int first) const {
    return static_cast<std::uint32_t>(bits >> first & 0x3fff) << 4;
  }
};

/// All in bytes. Meaning of the two offsets, with W the bytes of a swizzled row:
///
/// | major | pattern | leading                          | stride                     |
/// |-------|---------|----------------------------------|----------------------------|
/// | k     | none    | next 16 bytes of K               | next 8 rows                |
/// | k     | W       | not used                         | next 8 rows                |
/// | mn    | none    | next 8 of K                      | next 16 bytes of M or N    |
/// | mn    | W       | next W bytes of M or N           | next 8 of K                |
KILN_FN constexpr matrix_descriptor make_descriptor(std::uint32_t address, int leading, int stride, swizzle pattern) {
  const unsigned mode = pattern == swizzle::b128  ? 1u
                        : pattern == swizzle::b64 ? 2u
                        : pattern == swizzle::b32 ? 3u
                                                  : 0u;
  return {static_cast<std::uint64_t>((address & 0x3ffff) >> 4) << matrix_descriptor::start_bit |
          static_cast<std::uint64_t>(leading >> 4 & 0x3fff) << matrix_descriptor::leading_bit |
          static_cast<std::uint64_t>(stride >> 4 & 0x3fff) << matrix_descriptor::stride_bit |
          static_cast<std::uint64_t>(mode) << matrix_descriptor::pattern_bit};
}

/// Address of a place in shared memory as descriptors hold it.
KILN_HOST_CALLS template <class Where, int Threads>
KILN_FN std::uint32_t descriptor_address(scope<Where, Threads>, [[maybe_unused]] const void* p) {
  if constexpr (scope<Where, Threads>::host) {
    return twin::sm().address(p);
  } else {
#if defined(__CUDA_ARCH__)
    return shared_address(p);
#else
    return 0;
#endif
  }
}

/// A K-major operand: rows of `panel_bytes(S)` bytes follow each other, swizzled by S; the first row at a multiple of
/// `swizzle_alignment(S)`. Along K step with `plus(32)` inside the panel.
template <swizzle S, class Where, int Threads>
KILN_FN matrix_descriptor k_major_descriptor(scope<Where, Threads> all, const void* tile) {
  static_assert(S != swizzle::none,
                "k_major_descriptor: a tile without swizzle needs make_descriptor and its two offsets");
  return make_descriptor(descriptor_address(all, tile), 16, 8 * panel_bytes(S), S);
}

/// An operand whose neighbours lie along M or N (16-bit types): rows are K, cut into panels of `panel_bytes(S)` bytes
/// of M or N that lie `panel_stride` bytes apart. Along K step with `plus(16 * panel_bytes(S))`.
template <swizzle S, class Where, int Threads>
KILN_FN matrix_descriptor mn_major_descriptor(scope<Where, Threads> all, const void* tile, int panel_stride) {
  static_assert(S != swizzle::none,
                "mn_major_descriptor: a tile without swizzle needs make_descriptor and its two offsets");
  return make_descriptor(descriptor_address(all, tile), panel_stride, 8 * panel_bytes(S), S);
}

/// Address of the 16 bytes that hold element `mn` of row or column and bytes [16 * chunk, 16 * chunk + 16) of its K, of
/// a K-major operand, as the hardware finds them: first the plain address, then the swizzle of its bits.
constexpr std::uint32_t k_major_address(matrix_descriptor d, int mn, int chunk) {
  const auto group = static_cast<std::uint32_t>(mn / 8), row = static_cast<std::uint32_t>(mn % 8);
  const auto c = static_cast<std::uint32_t>(chunk);
  if (d.pattern() == swizzle::none) return d.start() + group * d.stride() + row * 16 + c * d.leading();
  const auto width = static_cast<std::uint32_t>(panel_bytes(d.pattern()));
  return static_cast<std::uint32_t>(
      swizzled(d.pattern(), static_cast<int>(d.start() + group * d.stride() + row * width + c * 16)));
}

/// Address of the 16 bytes that hold elements [8 * chunk, 8 * chunk + 8) along M or N at position k, of 16-bit
/// elements.
constexpr std::uint32_t mn_major_address(matrix_descriptor d, int chunk, int k) {
  const auto group = static_cast<std::uint32_t>(k / 8), row = static_cast<std::uint32_t>(k % 8);
  const auto c = static_cast<std::uint32_t>(chunk);
  if (d.pattern() == swizzle::none) return d.start() + c * d.stride() + group * d.leading() + row * 16;
  const auto width = static_cast<std::uint32_t>(panel_bytes(d.pattern()));
  const std::uint32_t chunks = width / 16;
  return static_cast<std::uint32_t>(swizzled(
      d.pattern(),
      static_cast<int>(d.start() + c / chunks * d.leading() + group * d.stride() + row * width + c % chunks * 16)));
}

}  // namespace kiln::sm90
