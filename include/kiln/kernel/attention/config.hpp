#pragma once
/// Configurations of attention, and those that a default call compiles.
#include <kiln/kernel/gemm/config.hpp>

namespace kiln {

/// `attention_config<tile<64, 64, 128>, stages<2>, instructions::sm80>`: query rows of a block, keys of a step, and the
/// largest head_dim (of q and k, and of v) that it takes; slots of the ring of K and V tiles; the instruction set.
///
/// sm80 (f16, bf16): rows a multiple of 16, one warp each; keys and head_dim multiples of 16. simt (any type): rows a
/// multiple of 8, one warp each; 32 keys; head_dim a multiple of 32; one stage.
///
/// The bits of a result depend on the keys of a step and the instruction set, and on nothing else of it.
template <class Tile, class Stages, class Instructions>
struct attention_config {
  static constexpr int rows = Tile::m, keys = Tile::n, dim = Tile::k, slot_count = Stages::value;
  using instruction_set = Instructions;
  static constexpr bool is_sm80 = std::is_same_v<Instructions, instructions::sm80>;
  static_assert(is_sm80 || std::is_same_v<Instructions, instructions::simt>,
                "attention_config: the instructions are simt or sm80");
  static_assert(!is_sm80 || (rows % 16 == 0 && keys % 16 == 0 && dim % 16 == 0 && slot_count >= 2),
                "attention_config: sm80 takes rows, keys and head_dim in multiples of 16, and at least stages<2>");
  static_assert(
      is_sm80 || (rows % 8 == 0 && keys == 32 && dim % 32 == 0 && slot_count == 1),
      "attention_config: simt takes rows in multiples of 8, 32 keys, head_dim in multiples of 32, and stages<1>");
};

template <class T>
inline constexpr bool is_attention_config_v = false;
template <class T, class S, class Index>
inline constexpr bool is_attention_config_v<attention_config<T, S, Index>> = true;

namespace attn {

template <class... Configs>
struct table {};

template <class T, bool OnHost>
constexpr auto configurations() {
  if constexpr (OnHost) {
    // Loops stop at the extents, so one configuration serves all; the rows of one warp, as the host pays for each lane.
    return table<attention_config<tile<8, 32, 256>, stages<1>, instructions::simt>>{};
  } else if constexpr (sizeof(T) == 2) {
    return table<
        // 64 keys: as many as leave the accumulators, the scores and Q in registers. In decoding one warp multiplies
        // and all four load. All three have 80 to 97 KiB, which every GPU from 8.0 on gives a block.
        attention_config<tile<64, 64, 64>, stages<2>, instructions::sm80>,
        attention_config<tile<64, 64, 128>, stages<2>, instructions::sm80>,
        // The accumulators take 128 registers of a thread: fewer keys, and Q stays in shared memory.
        attention_config<tile<64, 32, 256>, stages<2>, instructions::sm80>>{};
  } else {
    return table<attention_config<tile<32, 32, 64>, stages<1>, instructions::simt>,
                 attention_config<tile<32, 32, 128>, stages<1>, instructions::simt>,
                 attention_config<tile<16, 32, 256>, stages<1>, instructions::simt>>{};
  }
}

}  // namespace attn
}  // namespace kiln
