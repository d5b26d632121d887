#pragma once
/// A warp's share of attention with mma.sync m16n8k16: f16 and bf16, 16 rows of queries.
///
/// The scores of a step are the accumulators of Q K^T; rounded to the element type they are, register by register, the
/// A operand of the product with V, so they never leave the lane.
#include <kiln/arch/sm80.hpp>
#include <kiln/kernel/attention/step.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln::attn {

template <class T, int Keys, int Dim>
struct sm80_math {
  static_assert(sizeof(T) == 2, "attention: the sm80 instructions take f16 and bf16; float takes instructions::simt");
  static constexpr int rows = 16, depth = sm80::mma_k<T>;
  static constexpr bool reads_padding = true;
  using tile_value = T;
  // Wider rows would not fit into the registers beside the accumulators.
  static constexpr bool q_stays = Dim <= 128;
  static constexpr int score_blocks = Keys / 8, out_blocks = Dim / 8;

  struct scratch {};
  struct registers {
    float out[out_blocks * 4];  // block j of 16 x 8: registers 4 j to 4 j + 3, at mma_c
    online_softmax softmax[2];  // rows lane / 4 and lane / 4 + 8; the sum is of this lane's keys
    int seen[2];                // keys that the rows see
    int least;                  // seen by the warp's first row; no row sees fewer keys
    std::uint32_t q[q_stays ? Dim / depth * 4 : 1];
  };

  template <class Seen>
  KILN_FN static void clear(registers& r, int lane, Seen seen) {
    KILN_UNROLL
    for (int i = 0; i < out_blocks * 4; ++i) r.out[i] = 0;
    KILN_UNROLL
    for (int h = 0; h < 2; ++h) r.softmax[h] = {}, r.seen[h] = seen(lane / 4 + 8 * h);
    r.least = seen(0);
  }

  template <class Warp, class QTile, class Of>
  KILN_FN static void begin(Warp warp, const QTile& q, int row0, Of of) {
    if constexpr (q_stays) {
      KILN_UNROLL
      for (int d = 0; d < Dim; d += depth)
        load_q(warp, q, row0, d, [&](int lane) { return of(lane).q + d / depth * 4; });
    }
  }

  template <class Warp, class QTile, class Tile, class Of>
  KILN_FN static void compute(Warp warp, const QTile& q, const Tile& k, const Tile& v, int row0, const step_extents& e,
                              scratch&, Of of) {
    fragments<float, score_blocks * 4, Warp> score;
    scores(warp, q, k, row0, e, of, score);

    // Keys are masked by number, never by adding to their scores: what lies in them does not matter.
    const int least = of(0).least;
    const bool masked = e.first + Keys > least;
    fragments<float, 2, Warp> top;
    warp.each([&](int lane) {
      const registers& r = of(lane);
      float* s = score.of(lane);
      const int seen[2] = {r.seen[0] - e.first, r.seen[1] - e.first};
      float most[2] = {online_softmax::nothing, online_softmax::nothing};
      KILN_UNROLL
      for (int i = 0; i < score_blocks * 4; ++i) {
        s[i] *= e.scale;
        if (masked && i / 4 * 8 + mma_c(lane, i % 4).col >= seen[i % 4 / 2]) s[i] = online_softmax::nothing;
        most[i % 4 / 2] = kiln::detail::larger_number(most[i % 4 / 2], s[i]);
      }
      top.of(lane)[0] = most[0], top.of(lane)[1] = most[1];
    });
    group_reduce<4>(warp, top, kiln::detail::larger_of{});

    fragments<std::uint32_t, score_blocks * 2, Warp> weight;
    warp.each([&](int lane) {
      registers& r = of(lane);
      const float factor[2] = {r.softmax[0].raise(top.of(lane)[0]), r.softmax[1].raise(top.of(lane)[1])};
      KILN_UNROLL
      for (int i = 0; i < out_blocks * 4; ++i) r.out[i] *= factor[i % 4 / 2];
      const float* s = score.of(lane);
      KILN_UNROLL
      for (int i = 0; i < score_blocks * 2; ++i) {
        online_softmax& row = r.softmax[i % 2];
        const float low = row.weight(s[2 * i]), high = row.weight(s[2 * i + 1]);
        row.sum += low + high;
        weight.of(lane)[i] = pack2<T>(low, high);
      }
    });

    // Where one row sees a key and another does not, 0 * V is not always 0.
    const bool uneven = masked && least < e.first + e.keys;
    if (uneven && not_all_finite(warp, v, e)) {
      values<true>(warp, v, e, of, weight);
      add_not_finite(warp, v, e, of);
    } else {
      values<false>(warp, v, e, of, weight);
    }
  }

  template <class Warp, class Of, class Line, class Note>
  KILN_FN static void finish(Warp warp, int value_dim, Of of, Line line, index_t apart, bool pairs, Note note) {
    fragments<float, 2, Warp> sum;
    warp.each([&](int lane) { sum.of(lane)[0] = of(lane).softmax[0].sum, sum.of(lane)[1] = of(lane).softmax[1].sum; });
    group_reduce<4>(warp, sum, [](float a, float b) { return a + b; });
    warp.each([&](int lane) {
      const registers& r = of(lane);
      KILN_UNROLL
      for (int h = 0; h < 2; ++h) {
        auto* to = line(lane / 4 + 8 * h);
        if (to == nullptr) continue;
        const online_softmax whole{r.softmax[h].top, sum.of(lane)[h]};
        if (lane % 4 == 0) note(lane / 4 + 8 * h, whole.log_sum_exp());
        const float inverse = whole.inverse();
        KILN_UNROLL
        for (int j = 0; j < out_blocks; ++j)
          store_neighbours<2>(to, apart, 8 * j + lane % 4 * 2, value_dim, pairs, r.out + 4 * j + 2 * h, inverse);
      }
    });
  }

 private:
  /// The address of (row + down, col + right) in a tile, `down` a multiple of 8 and `right` of 16. Only the part that
  /// the swizzle mixes is computed for each lane: a few sums serve all steps, where one for each would fill the
  /// registers.
  template <class Tile>
  KILN_FN static const T* address(const Tile& from, int row, int col, int down, int right) {
    const int at = Tile::offset(row, col + right % Tile::panel_cols) + down * Tile::row_bytes +
                   right / Tile::panel_cols * Tile::panel_bytes;
    return reinterpret_cast<const T*>(from.storage + at);
  }

  template <class Warp, class QTile, class To>
  KILN_FN static void load_q(Warp warp, const QTile& q, int row0, int d, To to) {
    sm80::ldmatrix<4>(
        warp, [&](int lane) { return address(q, row0 + ldmatrix_a<16>(lane).row, ldmatrix_a<16>(lane).col, 0, d); },
        to);
  }

  template <class Warp, class QTile, class Tile, class Of>
  KILN_FN static void scores(Warp warp, const QTile& q, const Tile& k, int row0, const step_extents& e, Of of,
                             fragments<float, score_blocks * 4, Warp>& score) {
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < score_blocks * 4; ++i) score.of(lane)[i] = 0;
    });
    fragments<std::uint32_t, 4, Warp> x, y;
    KILN_UNROLL
    for (int d = 0; d < Dim; d += depth) {
      if (Warp::host && d >= e.head_dim) break;
      if constexpr (!q_stays) load_q(warp, q, row0, d, [&](int lane) { return x.of(lane); });
      const auto a = [&](int lane) -> const std::uint32_t* {
        if constexpr (q_stays) return of(lane).q + d / depth * 4;
        else return x.of(lane);
      };
      KILN_UNROLL
      for (int j = 0; j < score_blocks; j += 2) {
        if (Warp::host && 8 * j >= e.keys) break;
        sm80::ldmatrix<4>(
            warp, [&](int lane) { return address(k, ldmatrix_b<16>(lane).row, ldmatrix_b<16>(lane).col, 8 * j, d); },
            [&](int lane) { return y.of(lane); });
        KILN_UNROLL
        for (int h = 0; h < 2; ++h)
          sm80::mma<T>(
              warp, a, [&](int lane) { return y.of(lane) + 2 * h; },
              [&](int lane) { return score.of(lane) + 4 * (j + h); });
      }
    }
  }

  /// out += weight * V. With `Clean` elements of V that are not finite count as 0.
  template <bool Clean, class Warp, class Tile, class Of>
  KILN_FN static void values(Warp warp, const Tile& v, const step_extents& e, Of of,
                             fragments<std::uint32_t, score_blocks * 2, Warp>& weight) {
    fragments<std::uint32_t, 4, Warp> y;
    KILN_UNROLL
    for (int j = 0; j < Keys; j += depth) {
      if (Warp::host && j >= e.keys) break;
      KILN_UNROLL
      for (int c = 0; c < out_blocks; c += 2) {
        if (Warp::host && 8 * c >= e.value_dim) break;
        sm80::ldmatrix_trans<4>(
            warp,
            [&](int l) {
              const int lane = Clean ? computed_here(l) : l;
              return address(v, ldmatrix_b_trans(lane).row, ldmatrix_b_trans(lane).col, j, 8 * c);
            },
            [&](int lane) { return y.of(lane); });
        if constexpr (Clean) {
          warp.each([&](int lane) {
            KILN_UNROLL
            for (int i = 0; i < 4; ++i) y.of(lane)[i] = only_finite(y.of(lane)[i]);
          });
        }
        KILN_UNROLL
        for (int h = 0; h < 2; ++h)
          sm80::mma<T>(
              warp, [&](int lane) { return weight.of(lane) + j / 4; }, [&](int lane) { return y.of(lane) + 2 * h; },
              [&](int lane) { return of(lane).out + 4 * (c + h); });
      }
    }
  }

  /// Hides where a number comes from, so that the rare path's addresses are not kept in registers for the whole loop.
  KILN_FN static int computed_here(int x) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x));
#endif
    return x;
  }

  static constexpr std::uint32_t exponent = std::is_same_v<T, f16> ? 0x7c00 : 0x7f80;
  KILN_FN static bool is_finite(std::uint32_t bits) { return (bits & exponent) != exponent; }
  KILN_FN static std::uint32_t only_finite(std::uint32_t both) {
    return (is_finite(both) ? both & 0xffffu : 0u) | (is_finite(both >> 16) ? both & 0xffff0000u : 0u);
  }

  template <class Warp, class Tile>
  KILN_FN static bool not_all_finite(Warp warp, const Tile& v, const step_extents& e) {
    fragments<int, 1, Warp> found;
    warp.each([&](int l) {
      const int lane = computed_here(l);
      int any = 0;
      KILN_NO_UNROLL
      for (int c = lane; c < Keys * Dim / 8; c += 32) {
        const int key = c / (Dim / 8), col = c % (Dim / 8) * 8;
        if (key >= e.keys || col >= e.value_dim) continue;
        const auto x = v.template load<8>(warp, lane, key, col);
        KILN_UNROLL
        for (int i = 0; i < 8; ++i) any |= is_finite(x[i].bits) ? 0 : 1;
      }
      found.of(l)[0] = any;
    });
    group_reduce<32>(warp, found, [](int a, int b) { return a | b; });
    return found.of(0)[0] != 0;
  }

  /// Infinities and NaNs of V, to the rows that see them.
  template <class Warp, class Tile, class Of>
  KILN_FN static void add_not_finite(Warp warp, const Tile& v, const step_extents& e, Of of) {
    warp.each([&](int l) {
      const int lane = computed_here(l);
      registers& r = of(l);
      const int seen[2] = {r.seen[0] - e.first, r.seen[1] - e.first};
      KILN_UNROLL
      for (int c = 0; c < out_blocks; ++c) {
        float more[4] = {};
        KILN_NO_UNROLL
        for (int j = 0; j < e.keys; ++j) {
          const auto x = v.template load<2>(warp, lane, j, 8 * c + lane % 4 * 2);
          KILN_UNROLL
          for (int i = 0; i < 4; ++i)
            if (!is_finite(x[i % 2].bits) && j < seen[i / 2]) more[i] += static_cast<float>(x[i % 2]);
        }
        KILN_UNROLL
        for (int i = 0; i < 4; ++i) r.out[4 * c + i] += more[i];
      }
    });
  }
};

}  // namespace kiln::attn
