#pragma once
/// A warp's share of attention with scalar multiply-adds: every type, float32 in IEEE arithmetic.
///
/// Eight rows of queries; lane l has key l of the step for the scores, and every 32nd group of `width` columns of V for
/// the result. The weights change hands through shared memory.
#include <kiln/kernel/attention/step.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/shared_tile.hpp>

namespace kiln::attn {

template <int Keys, int Dim>
struct simt_math {
  static_assert(Keys == 32, "a lane has one key");
  static constexpr int rows = 8, step = 4;
  static constexpr int cols = Dim / 32, width = cols % 4 == 0 ? 4 : cols % 2 == 0 ? 2 : 1, groups = cols / width;
  static constexpr bool reads_padding = false;
  using tile_value = float;  // widened once on the way in

  struct scratch {
    shared_tile<float, rows, Keys, swizzle::none> weights;
  };
  struct registers {
    float out[rows][cols];
    online_softmax softmax[rows];  // its sum is of this lane's keys
    int seen[rows];
  };

  /// `seen(row)`: how many keys the row sees.
  template <class Seen>
  KILN_FN static void clear(registers& r, int, Seen seen) {
    KILN_UNROLL
    for (int i = 0; i < rows; ++i) {
      KILN_UNROLL
      for (int c = 0; c < cols; ++c) r.out[i][c] = 0;
      r.softmax[i] = {};
      r.seen[i] = seen(i);
    }
  }

  template <class Warp, class QTile, class Of>
  KILN_FN static void begin(Warp, const QTile&, int, Of) {}

  template <class Warp, class QTile, class Tile, class Of>
  KILN_FN static void compute(Warp warp, const QTile& q, const Tile& k, const Tile& v, int row0, const step_extents& e,
                              scratch& memory, Of of) {
    fragments<float, rows, Warp> score, top;
    warp.each([&](int lane) {
      float dot[rows][step] = {};
      KILN_NO_UNROLL
      for (int d = 0; d < e.head_dim; d += step) {
        if (Warp::host && lane >= e.keys) break;
        const auto y = k.template load<step>(warp, lane, lane, d);
        KILN_UNROLL
        for (int i = 0; i < rows; ++i) {
          if (Warp::host && i >= e.rows) break;
          const auto x = q.template load<step>(warp, lane, row0 + i, d);
          KILN_UNROLL
          for (int n = 0; n < step; ++n) dot[i][n] += x[n] * y[n];
        }
      }
      const registers& r = of(lane);
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) {
        const float s = ((dot[i][0] + dot[i][1]) + (dot[i][2] + dot[i][3])) * e.scale;
        const bool visible = e.first + lane < r.seen[i] && i < e.rows;
        score.of(lane)[i] = visible ? s : online_softmax::nothing;
        top.of(lane)[i] = score.of(lane)[i];
      }
    });
    group_reduce<32>(warp, top, kiln::detail::larger_of{});
    warp.each([&](int lane) {
      registers& r = of(lane);
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) {
        if (Warp::host && i >= e.rows) break;
        const float factor = r.softmax[i].raise(top.of(lane)[i]);
        const float weight = r.softmax[i].weight(score.of(lane)[i]);
        r.softmax[i].sum += weight;
        KILN_UNROLL
        for (int c = 0; c < cols; ++c) r.out[i][c] *= factor;
        memory.weights.template store<1>(warp, lane, i, lane, {weight});
      }
    });
    sync(warp);
    warp.each([&](int lane) {
      registers& r = of(lane);
      if (Warp::host && lane * width >= e.value_dim) return;
      KILN_NO_UNROLL
      for (int j = 0; j < e.keys; j += step) {
        vec<float, step> weight[rows];
        KILN_UNROLL
        for (int i = 0; i < rows; ++i) {
          if (Warp::host && i >= e.rows) break;
          weight[i] = memory.weights.template load<step>(warp, lane, i, j);
        }
        KILN_UNROLL
        for (int n = 0; n < step; ++n) {
          KILN_UNROLL
          for (int g = 0; g < groups; ++g) {
            const int col = (g * 32 + lane) * width;
            if (Warp::host && col >= e.value_dim) break;
            const auto x = v.template load<width>(warp, lane, j + n, col);
            KILN_UNROLL
            for (int i = 0; i < rows; ++i) {
              if (Warp::host && i >= e.rows) break;
              // A key of no weight does not reach the result, whatever its value is.
              if (weight[i][n] == 0) continue;
              KILN_UNROLL
              for (int c = 0; c < width; ++c) r.out[i][g * width + c] += weight[i][n] * x[c];
            }
          }
        }
      }
    });
  }

  /// `line(row)` is where the row goes, or null; `note(row, log_sum_exp)` is told once for each row.
  template <class Warp, class Of, class Line, class Note>
  KILN_FN static void finish(Warp warp, int value_dim, Of of, Line line, index_t apart, bool, Note note) {
    fragments<float, rows, Warp> sum;
    warp.each([&](int lane) {
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) sum.of(lane)[i] = of(lane).softmax[i].sum;
    });
    group_reduce<32>(warp, sum, [](float a, float b) { return a + b; });
    warp.each([&](int lane) {
      registers& r = of(lane);
      KILN_UNROLL
      for (int i = 0; i < rows; ++i) {
        const online_softmax whole{r.softmax[i].top, sum.of(lane)[i]};
        auto* to = line(i);
        if (to == nullptr) continue;
        if (lane == 0) note(i, whole.log_sum_exp());
        const float inverse = whole.inverse();
        KILN_UNROLL
        for (int g = 0; g < groups; ++g)
          store_neighbours<width>(to, apart, (g * 32 + lane) * width, value_dim, false, &r.out[i][g * width], inverse);
      }
    });
  }
};

}  // namespace kiln::attn
