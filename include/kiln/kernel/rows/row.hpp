#pragma once
/// One row in the hands of a scope: reduced and written in phases, read from memory once if registers hold it.
///
/// A program says what it reads and writes (`lines`), what it keeps of each element (`held`), and in `run(row)` its
/// phases:
///
///     float m = row.reduce(-infinity, [](float a, float x, index_t) { return larger(a, x); }, maximum_of{});
///     row.map([&](index_t c, int n, const auto& kept) { ... store(lines.y, c, n, ...); });
///
/// Every output is written in the last phase, so a row may be its own output, and rows too long for registers may be
/// read again in each phase.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/tile/block_reduce.hpp>

namespace kiln::rows {

/// Thread t of the scope has chunks t, t + threads, t + 2 threads ... of `Width` elements. Items > 0: as many chunks of
/// each thread are held in registers, and the row has at most threads * Items * Width elements. Items == 0: any length,
/// read anew in each phase. Whole: the length is a multiple of Width, and above 0.
template <class Program, class Where, int Threads, int Width, int Items, bool Whole = false>
class row_of {
 public:
  using held = typename Program::held;
  using lines_type = typename Program::lines;
  using scope_type = scope<Where, Threads>;
  using storage = reduce_storage<Where, Threads>;
  static constexpr int width = Width;

  /// `lines` of the row; `length` is 0 and nothing is touched if the scope has no row left (`active` false).
  KILN_HOST_CALLS KILN_FN row_of(const Program& program, const lines_type& at, index_t length, bool active,
                                 scope_type threads, storage& shared)
      : lines(at),
        program_(program),
        length_(active ? length : 0),
        active_(active),
        threads_(threads),
        shared_(shared) {
    if constexpr (Items > 0) {
      threads_.each([&](int t) {
        KILN_UNROLL
        for (int i = 0; i < Items; ++i) {
          const int c = (i * Threads + t) * Width;
          // Without a branch all loads are under way before the first is used. Each row has a first chunk to read
          // instead, and a scope without a row looks at one that is there.
          if constexpr (Whole)
            program_.template load<Width>(lines, c < static_cast<int>(length) ? c : 0, Width, kept_.of(t)[i]);
          else if (c < length_)
            program_.template load<Width>(lines, c, valid(c), kept_.of(t)[i]);
        }
      });
    }
  }

  KILN_FN index_t length() const { return length_; }

  /// Combines `each(accumulator, value, column)` over the row; all threads get the result. Every thread starts Width
  /// accumulators from `identity`; `merge` joins them in an order that the configuration fixes.
  KILN_HOST_CALLS template <class A, class Each, class Merge>
  KILN_FN A reduce(A identity, Each each, Merge merge) {
    return reduce_chunks(
        identity,
        [&](auto& a, index_t c, int n, const chunk<held, Width>& x) {
          if (n == Width) {
            KILN_UNROLL
            for (int v = 0; v < Width; ++v) a[v] = each(a[v], program_.value(x[v]), c + v);
          } else {
            KILN_UNROLL
            for (int v = 0; v < Width; ++v)
              if (v < n) a[v] = each(a[v], program_.value(x[v]), c + v);
          }
        },
        merge);
  }

  /// The same in chunks, for operands that are read beside the row: `each(accumulators, column, n, kept)` adds the
  /// first n of a chunk, each to the accumulator of its place.
  KILN_HOST_CALLS template <class A, class Each, class Merge>
  KILN_FN A reduce_chunks(A identity, Each each, Merge merge) {
    fragments<A, 1, scope_type> partial;
    threads_.each([&](int t) {
      // `over(f)` calls f for chunks of thread t.
      const auto joined = [&](auto over) {
        A a[Width];
        KILN_UNROLL
        for (int v = 0; v < Width; ++v) a[v] = identity;
        over([&](index_t c, int n, const chunk<held, Width>& x) { each(a, c, n, x); });
        KILN_UNROLL
        for (int w = Width / 2; w > 0; w /= 2) {
          KILN_UNROLL
          for (int v = 0; v < w; ++v) a[v] = merge(a[v], a[v + w]);
        }
        return a[0];
      };
      if constexpr (Items == 0 && rounds<Merge, A>) {
        A all = identity;
        for (index_t c = static_cast<index_t>(t) * Width; c < length_;) {
          const auto next = [&](auto f) {
            for (int left = most_in_turn; left > 0 && c < length_; --left, c += step) read(c, f);
          };
          all = merge(all, joined(next));
        }
        partial.of(t)[0] = all;
      } else {
        partial.of(t)[0] = joined([&](auto f) { chunks(t, f); });
      }
    });
    return block_reduce(threads_, shared_, partial, merge);
  }

  /// Combines `each(accumulator, value, column)` over columns [begin, end); of a row that registers do not hold, only
  /// these are read.
  KILN_HOST_CALLS template <class A, class Each, class Merge>
  KILN_FN A reduce_within(index_t begin, index_t end, A identity, Each each, Merge merge) {
    constexpr index_t all = index_t{Threads} * Width;
    fragments<A, 1, scope_type> partial;
    threads_.each([&](int t) {
      A a = identity;
      const auto add = [&](index_t c, int n, const chunk<held, Width>& x) {
        KILN_UNROLL
        for (int v = 0; v < Width; ++v)
          if (v < n && c + v >= begin && c + v < end) a = each(a, program_.value(x[v]), c + v);
      };
      if constexpr (Items > 0) {
        chunks(t, add);
      } else {
        for (index_t c = begin / all * all + static_cast<index_t>(t) * Width; c < min_of(end, length_); c += all) {
          chunk<held, Width> x;
          program_.template load<Width>(lines, c, valid(c), x);
          add(c, valid(c), x);
        }
      }
      partial.of(t)[0] = a;
    });
    return block_reduce(threads_, shared_, partial, merge);
  }

  /// Calls `f(column, n, kept)` for each chunk, n of its elements being the row's.
  KILN_HOST_CALLS template <class F>
  KILN_FN void map(F f) {
    threads_.each([&](int t) { chunks(t, f); });
  }

  /// Writes `f(value)` of each element to a line.
  KILN_HOST_CALLS template <class Y, class F>
  KILN_FN void write(const line<Y>& to, F f) {
    map([&](index_t c, int n, const chunk<held, Width>& x) {
      chunk<float, Width> y;
      KILN_UNROLL
      for (int v = 0; v < Width; ++v) y[v] = f(program_.value(x[v]));
      store(to, c, n, rounded<Y>(y));
    });
  }

  /// Runs `f` once for the row, in one thread.
  KILN_HOST_CALLS template <class F>
  KILN_FN void once(F f) {
    threads_.each([&](int t) {
      if (t == 0 && active_) f();
    });
  }

  /// The row's first value, 0 if it is empty. Only before the phase that writes.
  KILN_FN float first() const {
    if (length_ == 0) return 0;
    chunk<held, 1> x;
    program_.template load<1>(lines, 0, 1, x);
    return program_.value(x[0]);
  }

  const lines_type lines;

 private:
  KILN_FN int valid([[maybe_unused]] index_t c) const {
    if constexpr (Whole)
      return Width;
    else
      return length_ - c < Width ? static_cast<int>(length_ - c) : Width;
  }

  KILN_HOST_CALLS template <class F>
  KILN_FN void chunks(int t, F&& f) {
    if constexpr (Items > 0) {
      KILN_UNROLL
      for (int i = 0; i < Items; ++i) {
        const int c = (i * Threads + t) * Width;
        if (c < static_cast<int>(length_)) f(static_cast<index_t>(c), valid(c), kept_.of(t)[i]);
      }
    } else {
      for (index_t c = static_cast<index_t>(t) * Width; c < length_; c += step) read(c, f);
    }
  }

  /// The chunk at column c of a row that is not held.
  KILN_HOST_CALLS template <class F>
  KILN_FN void read(index_t c, F& f) {
    chunk<held, Width> x;
    program_.template load<Width>(lines, c, valid(c), x);
    f(c, valid(c), x);
  }

  static constexpr index_t step = index_t{Threads} * Width;  ///< between chunks of a thread
  struct nothing {};
  const Program& program_;
  index_t length_;
  bool active_;
  scope_type threads_;
  storage& shared_;
  [[no_unique_address]] std::conditional_t<(Items > 0), fragments<chunk<held, Width>, Items, scope_type>, nothing>
      kept_;
};

}  // namespace kiln::rows
