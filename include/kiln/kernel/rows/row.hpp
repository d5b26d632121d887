#pragma once
/// One row in the hands of a scope: reduced and written in phases, read from memory once if registers hold it.
///
/// A program says what it reads and writes (`lines`), what it keeps of each element (`held`), and in `run(row)` its
/// phases:
///
///     float m = row.reduce(-infinity, [](float a, float x, index_t) { return larger(a, x); }, maximum_of{});
///     row.map([&](index_t c, int n, const auto& kept) { ... store(lines.y, c, n, ...); });
///
/// Outputs are written in the last phase, or when no thread reads the row again: it may be its own output, and rows too
/// long for registers may be read again in each phase.
#include <kiln/kernel/rows/access.hpp>
#include <kiln/kernel/rows/beside.hpp>
#include <kiln/kernel/rows/forget.hpp>
#include <kiln/kernel/rows/config.hpp>
#include <kiln/kernel/rows/extreme.hpp>
#include <kiln/kernel/rows/math.hpp>
#include <kiln/tile/block_reduce.hpp>

namespace kiln::rows {

/// Thread t of the scope has chunks t, t + threads, t + 2 threads ... of `Width` elements. Items > 0: as many chunks of
/// each thread are held in registers, and the row has at most threads * Items * Width elements. Items == 0: any length,
/// read anew in each phase; `Rare`: for rows that few calls have, so that little code is spent on loads ahead.
template <class Program, class Where, int Threads, int Width, int Items, fit Fit = fit::any, int Blocks = 1,
          keep Keep = keep::nothing, bool Rare = false>
class row_of {
 public:
  using held = typename Program::held;
  using lines_type = typename Program::lines;
  using scope_type = std::conditional_t<(Blocks > 1), cluster_scope<Where, Threads, Blocks>, scope<Where, Threads>>;
  using storage = reduce_storage<Where, Threads, Blocks>;
  static constexpr int width = Width;
  static constexpr int block = Threads / Blocks;
  static constexpr bool host = scope_type::host;
  static constexpr index_t step = index_t{Threads} * Width;  ///< between chunks of a thread
  static constexpr bool in_registers = Items > 0;
  /// Whether there are registers for what is read beside the row while it is reduced.
  static constexpr bool early = Items > 0 && Items <= 2;

  struct nothing {};

  KILN_HOST_CALLS KILN_FN row_of(const Program& program, const lines_type& at, index_t length, scope_type threads,
                                 storage& shared, int& turn)
      : lines(at),
        program_(program),
        length_(Fit == fit::full ? index_t{Threads} * Items * Width : length),
        threads_(threads),
        shared_(shared),
        turn_(turn) {
    if constexpr (Keep != keep::next_row) begin(at);  // else it is sent and taken
  }

  /// Reads a row from memory.
  KILN_HOST_CALLS KILN_FN void begin(const lines_type& at) {
    lines = at;
    if constexpr (Items > 0) {
      threads_.each([&](int t) {
        hide(t);
        KILN_UNROLL
        for (int i = 0; i < Items; ++i) {
          const int c = column(t, i);
          // Without a branch all loads are under way before the first is used. Each row has a first chunk to read
          // instead.
          if constexpr (Fit == fit::full)
            program_.template load<Width>(lines, c, Width, kept_.of(t)[i]);
          else if constexpr (Fit == fit::whole)
            program_.template load<Width>(lines, c < static_cast<int>(length_) ? c : 0, Width, kept_.of(t)[i]);
          else if (c < length_)
            program_.template load<Width>(lines, c, valid(c), kept_.of(t)[i]);
        }
      });
    }
  }

  KILN_FN index_t length() const { return length_; }

  /// What lies beside all rows of a block, on its way to shared memory, where it takes `beside_bytes`. On the host it
  /// is read at once.
  template <class Beside>
  static constexpr int beside_bytes = Items * block * static_cast<int>(sizeof(Beside));
  KILN_HOST_CALLS template <class Beside, class Load>
  KILN_FN auto keep_beside(Load load, [[maybe_unused]] unsigned char* memory) {
    if constexpr (scope_type::host) {
      companion<Beside, Load, scope_type, Items> b{load, {}};
      threads_.each([&](int t) {
        for (int i = 0; i < Items; ++i)
          if (has(t, i)) load(column(t, i), valid(column(t, i)), b.loaded.of(t)[i]);
      });
      return b;
    } else {
      load.each_line([&](auto& l) { copy_to_shared(l, memory), memory += bytes_of(l); });
      end_group_of_copies();
      return kept_companion<Beside, Load, Keep == keep::next_row>{load};
    }
  }

  /// The first row, or the one after this: `send` begins to bring it to shared memory, where it takes `stage_bytes`,
  /// and `take` makes it this one; `Later` groups of copies began since. In between the registers hold this one.
  KILN_FN static constexpr int stage_bytes() {
    int bytes = 0;
    lines_type none{};
    Program::each_input(none, [&](const auto& l) { bytes += bytes_of(l); });
    return bytes;
  }
  KILN_FN void send(bool exists, const lines_type& next, [[maybe_unused]] unsigned char* memory) {
    next_.lines = next;
    if (exists) {
      next_.next_first = first_of(next);
      lines_type from = next;
      if constexpr (!scope_type::host)
        Program::each_input(from, [&](auto& l) { copy_to_shared(l, memory), memory += bytes_of(l); });
    }
    end_group_of_copies();
  }
  KILN_HOST_CALLS template <int Later>
  KILN_FN void take([[maybe_unused]] unsigned char* memory) {
    next_.first = next_.next_first;
    if constexpr (scope_type::host) {
      begin(next_.lines);
    } else {
      lines = next_.lines;
      lines_type from = lines;
      Program::each_input(from, [&](auto& l) { l.data = in_shared(l, memory), memory += bytes_of(l); });
      wait_for_copies<Later>();
      threads_.each([&](int t) {
        KILN_UNROLL
        for (int i = 0; i < Items; ++i) program_.template load<Width>(from, place(t, i), Width, kept_.of(t)[i]);
      });
    }
  }

  /// The same row, read again in each phase: for what few rows need, lest it take registers from the others. Only
  /// before the phase that writes.
  using read_again =
      row_of<Program, Where, Threads, Width, 0, Fit == fit::full ? fit::whole : Fit, Blocks, keep::nothing, true>;
  KILN_HOST_CALLS KILN_FN read_again again() { return read_again(program_, lines, length_, threads_, shared_, turn_); }

  /// What is read beside the row: `load(column, n, to)` fills a chunk's part.
  KILN_HOST_CALLS template <class Beside, class Load>
  KILN_FN auto beside(Load load) {
    companion<Beside, Load, scope_type, early ? Items : 0> b{load, {}};
    if constexpr (early)
      threads_.each([&](int t) {
        KILN_UNROLL
        for (int i = 0; i < Items; ++i)
          if (has(t, i)) load(column(t, i), valid(column(t, i)), b.loaded.of(t)[i]);
      });
    return b;
  }
  /// Combines `each(accumulator, value, column)` over the row; all threads get the result. Every thread starts Width
  /// accumulators from `identity`; `merge` joins them in an order that the configuration fixes.
  KILN_HOST_CALLS template <class A, class Each, class Merge>
  KILN_FN A reduce(A identity, Each each, Merge merge) {
    no_companion none;
    return reduce_chunks(
        none, identity,
        [&](A(&a)[Width], index_t c, int n, const chunk<held, Width>& kept, no_companion::type) {
          const chunk<float, Width> x = values(kept);
          if (n == Width) {
            KILN_UNROLL
            for (int v = 0; v < Width; ++v) a[v] = each(a[v], x[v], c + v);
          } else {
            KILN_UNROLL
            for (int v = 0; v < Width; ++v)
              if (v < n) a[v] = each(a[v], x[v], c + v);
          }
        },
        merge);
  }
  /// The same in chunks, with what is read beside the row: `each(accumulators, column, n, kept, beside)` adds the first
  /// n of a chunk, each to the accumulator of its place.
  KILN_HOST_CALLS template <class Companion, class A, class Each, class Merge>
  KILN_FN A reduce_chunks(Companion& b, A identity, Each each, Merge merge) {
    fragments<A, 1, scope_type> partial;
    each_thread([&](int t) {
      // `over(f)` calls f for chunks of thread t.
      const auto joined = [&](auto over) {
        A a[Width];
        KILN_UNROLL
        for (int v = 0; v < Width; ++v) a[v] = identity;
        over([&](index_t c, int n, const chunk<held, Width>& x, const typename Companion::type& beside) {
          each(a, c, n, x, beside);
        });
        KILN_UNROLL
        for (int w = Width / 2; w > 0; w /= 2) {
          KILN_UNROLL
          for (int v = 0; v < w; ++v) a[v] = merge(a[v], a[v + w]);
        }
        return a[0];
      };
      if constexpr (Items == 0 && rounds<Merge, A>) {
        A all = identity;
        for (index_t c = static_cast<index_t>(t) * Width; c < length_;)
          all = merge(all, joined([&](auto f) { c = chunks_from(b, c, most_in_turn, f); }));
        partial.of(t)[0] = all;
      } else {
        partial.of(t)[0] = joined([&](auto f) { chunks(b, t, f); });
      }
    });
    return block_reduce(threads_, shared_, turn_, partial, merge);
  }

  /// The largest or smallest value of the first n of a chunk, or the largest magnitude; NaN if any is.
  template <extreme What>
  KILN_FN float find(const chunk<held, Width>& x, int n) const {
    using op = extreme_of<What>;
    if constexpr (comes_in_pairs<held> && Width > 1) {
      extreme_pairs<held, Width, What> a;
      a.add(x, n);
      return a.all();
    } else {
      float a = op::identity;
      KILN_UNROLL
      for (int v = 0; v < Width; ++v)
        if (v < n) a = op{}(a, program_.value(x[v]), v);
      return a;
    }
  }
  /// The same of the row.
  KILN_HOST_CALLS template <extreme What>
  KILN_FN float find() {
    using op = extreme_of<What>;
    if constexpr (comes_in_pairs<held> && Width > 1)
      return fold(
          extreme_pairs<held, Width, What>{}, [](auto& a, index_t, int n, const chunk<held, Width>& x) { a.add(x, n); },
          [](const auto& a) { return a.all(); }, op{});
    else
      return reduce(op::identity, op{}, op{});
  }

  /// Each thread folds its chunks into a state of its own, `each(state, column, n, kept)`; `merge` joins what
  /// `finish(state)` makes of those.
  KILN_HOST_CALLS template <class State, class Each, class Finish, class Merge>
  KILN_FN auto fold(State start, Each each, Finish finish, Merge merge) {
    no_companion none;
    return fold(
        none, start,
        [&](State& s, index_t c, int n, const chunk<held, Width>& x, no_companion::type) { each(s, c, n, x); }, finish,
        merge);
  }
  /// The same with what is read beside the row: `each(state, column, n, kept, beside)`.
  KILN_HOST_CALLS template <class Companion, class State, class Each, class Finish, class Merge>
  KILN_FN auto fold(Companion& b, State start, Each each, Finish finish, Merge merge) {
    fragments<decltype(finish(start)), 1, scope_type> partial;
    each_thread([&](int t) {
      const auto part = [&](auto over) {
        State state = start;
        over([&](index_t c, int n, const chunk<held, Width>& x, const typename Companion::type& beside) {
          each(state, c, n, x, beside);
        });
        return finish(state);
      };
      if constexpr (Items > 0) {
        partial.of(t)[0] = part([&](auto f) { chunks(b, t, f); });
      } else {
        auto all = finish(start);
        for (index_t c = static_cast<index_t>(t) * Width; c < length_;)
          all = merge(all, part([&](auto f) { c = chunks_from(b, c, most_in_turn, f); }));
        partial.of(t)[0] = all;
      }
    });
    return block_reduce(threads_, shared_, turn_, partial, merge);
  }

  /// The same for a state that takes values: `add(values, n)`, and `all()` in the end.
  KILN_HOST_CALLS template <class State, class Merge>
  KILN_FN auto fold(State start, Merge merge) {
    return fold(
        start, [&](State& s, index_t, int n, const chunk<held, Width>& x) { s.add(values(x), n); },
        [](const State& s) { return s.all(); }, merge);
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
        no_companion none;
        chunks(none, t, [&](index_t c, int n, const chunk<held, Width>& x, no_companion::type) { add(c, n, x); });
      } else {
        for (index_t c = begin / all * all + static_cast<index_t>(t) * Width; c < min_of(end, length_); c += all) {
          chunk<held, Width> x;
          program_.template load<Width>(lines, c, valid(c), x);
          add(c, valid(c), x);
        }
      }
      partial.of(t)[0] = a;
    });
    return block_reduce(threads_, shared_, turn_, partial, merge);
  }

  /// Calls `f(column, n, kept)` for each chunk, n of its elements being the row's.
  KILN_HOST_CALLS template <class F>
  KILN_FN void map(F f) {
    no_companion none;
    map(none, [&](index_t c, int n, const chunk<held, Width>& x, no_companion::type) { f(c, n, x); });
  }
  /// Calls `f(column, n, kept, beside)` for each chunk.
  KILN_HOST_CALLS template <class Companion, class F>
  KILN_FN void map(Companion& b, F f) {
    each_thread([&](int t) { chunks(b, t, f); });
  }

  /// Writes `f(value)` of each element to a line.
  KILN_HOST_CALLS template <class Y, class F>
  KILN_FN void write(const line<Y>& to, F f) {
    map([&](index_t c, int n, const chunk<held, Width>& x) {
      const chunk<float, Width> from = values(x);
      chunk<float, Width> y;
      KILN_UNROLL
      for (int v = 0; v < Width; ++v) y[v] = f(from[v]);
      store(to, c, n, rounded<Y>(y));
    });
  }

  /// Runs `f` once for the row, in one thread.
  KILN_HOST_CALLS template <class F>
  KILN_FN void once(F f) {
    threads_.each([&](int t) {
      if (t == 0) f();
    });
  }

  /// The row's first value, 0 if it is empty. Only before the phase that writes.
  KILN_FN float first() const {
    if constexpr (Keep == keep::next_row)
      return program_.value(next_.first[0]);
    else
      return length_ == 0 ? 0 : program_.value(first_of(lines)[0]);
  }

  /// How many elements of the chunk at column c are the row's.
  KILN_FN int valid([[maybe_unused]] index_t c) const {
    if constexpr (Fit != fit::any)
      return Width;
    else
      return length_ - c < Width ? static_cast<int>(length_ - c) : Width;
  }

  /// The values of what is kept of a chunk.
  KILN_FN chunk<float, Width> values(const chunk<held, Width>& x) const {
    if constexpr (comes_in_pairs<held>) {
      return widened(x);
    } else {
      chunk<float, Width> y;
      KILN_UNROLL
      for (int v = 0; v < Width; ++v) y[v] = program_.value(x[v]);
      return y;
    }
  }

  lines_type lines;

 private:
  /// The column of a chunk of thread t, and whether it is the row's.
  KILN_FN static int column(int t, int i) { return (i * Threads + t) * Width; }
  KILN_FN bool has(int t, int i) const { return Fit == fit::full || column(t, i) < static_cast<int>(length_); }

  /// Where a chunk lies among those of the block.
  KILN_FN static index_t place(int t, int i) { return (i * block + (Blocks == 1 ? t : t % block)) * Width; }

  template <class T>
  KILN_FN static constexpr int bytes_of(const line<T>&) {
    return Items * block * Width * static_cast<int>(sizeof(T));
  }
  template <class T>
  KILN_FN static T* in_shared(const line<T>&, unsigned char* memory) {
    return reinterpret_cast<T*>(memory);
  }
  /// Begins to copy this thread's chunks of a line; it lies in shared memory then.
  template <class T>
  KILN_FN void copy_to_shared(line<T>& l, unsigned char* memory) {
    auto* const to = const_cast<std::remove_const_t<T>*>(in_shared(l, memory));
    threads_.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < Items; ++i)
        copy_later<Width * static_cast<int>(sizeof(T))>(to + place(t, i), l.data + (has(t, i) ? column(t, i) : 0));
    });
    l.data = to;
  }
  KILN_FN chunk<held, 1> first_of(const lines_type& l) const {
    chunk<held, 1> x;
    program_.template load<1>(l, 0, 1, x);
    return x;
  }

  /// Of rare rows nothing is worked out before it is known that there is one.
  KILN_HOST_CALLS template <class F>
  KILN_FN void each_thread(F f) {
    threads_.each([&](int t) {
      if constexpr (Rare) hide(t);
      f(t);
    });
  }
  /// Calls `f(column, n, kept, beside)` for the chunks of thread t.
  KILN_HOST_CALLS template <class Companion, class F>
  KILN_FN void chunks(Companion& b, int t, F&& f) {
    if constexpr (Items == 0) {
      chunks_from(b, static_cast<index_t>(t) * Width, length_, f);
    } else {
      forget(kept_.of(t), t);
      if constexpr (Companion::early) {
        KILN_UNROLL
        for (int i = 0; i < Items; ++i)
          if (has(t, i)) f(column(t, i), valid(column(t, i)), kept_.of(t)[i], b.loaded.of(t)[i]);
      } else if constexpr (Companion::kept) {
        b.wait();
        KILN_UNROLL
        for (int i = 0; i < Items; ++i) {
          typename Companion::type beside;
          b.load.from_shared(place(t, i), beside);
          if (has(t, i)) f(column(t, i), Width, kept_.of(t)[i], beside);
        }
      } else {
        // Several are under way before the first is used, without a branch.
        constexpr bool much = sizeof(typename Companion::type) > 16 || sizeof(held) * Width * Items > 64;
        constexpr bool one_by_one = sizeof(typename Companion::type) >= 64 || sizeof(held) * Width * Items > 128;
        constexpr int most = one_by_one ? 1 : much ? 2 : 4;
        constexpr int together = Items < most ? Items : most;
        static_assert(Items % together == 0 || Fit == fit::any);
        KILN_UNROLL
        for (int first = 0; first < Items; first += together) {
          typename Companion::type beside[together];
          KILN_UNROLL
          for (int k = 0; k < together; ++k) {
            const int c = column(t, first + k);
            if constexpr (Fit != fit::any)
              b.load(has(t, first + k) ? c : 0, Width, beside[k]);
            else if (first + k < Items && has(t, first + k))
              b.load(c, valid(c), beside[k]);
          }
          KILN_UNROLL
          for (int k = 0; k < together; ++k) {
            const int c = column(t, first + k);
            if (first + k < Items && has(t, first + k)) f(c, valid(c), kept_.of(t)[first + k], beside[k]);
          }
        }
      }
    }
  }

  /// Up to `most` chunks of a thread from the one at column c on; the column after them.
  KILN_HOST_CALLS template <class Companion, class F>
  KILN_FN index_t chunks_from(Companion& b, index_t c, index_t most, F&& f) {
    const index_t end = most >= length_ ? length_ : min_of(length_, c + most * step);
    if constexpr (!scope_type::host && Fit != fit::any) {
      // Loads of several chunks are under way before the first is used.
      KILN_NO_UNROLL
      for (; c + (ahead - 1) * step < end; c += ahead * step) {
        chunk<held, Width> x[ahead];
        typename Companion::type beside[ahead];
        KILN_UNROLL
        for (int i = 0; i < ahead; ++i) {
          program_.template load<Width>(lines, c + i * step, Width, x[i]);
          b.load(c + i * step, Width, beside[i]);
        }
        KILN_UNROLL
        for (int i = 0; i < ahead; ++i) f(c + i * step, Width, x[i], beside[i]);
      }
    }
    for (; c < end; c += step) {
      chunk<held, Width> x;
      typename Companion::type beside;
      program_.template load<Width>(lines, c, valid(c), x);
      b.load(c, valid(c), beside);
      f(c, valid(c), x, beside);
    }
    return c;
  }

  static constexpr int ahead = Rare ? 2 : sizeof(held) * Width <= 16 ? 4 : 2;
  const Program& program_;
  index_t length_;
  scope_type threads_;
  storage& shared_;
  int& turn_;
  [[no_unique_address]] std::conditional_t<(Items > 0), fragments<chunk<held, Width>, Items, scope_type>, nothing>
      kept_;
  struct following {
    lines_type lines;
    chunk<held, 1> first, next_first;
  };
  [[no_unique_address]] std::conditional_t<Keep == keep::next_row, following, nothing> next_;
};

}  // namespace kiln::rows
