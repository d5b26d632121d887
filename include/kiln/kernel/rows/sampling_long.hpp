#pragma once
/// The draw from a long row: by a block that reads the row two or three times.
///
/// Few elements come into question. If a limit of k is given, the k-th largest of the threads' largest elements bounds
/// them from below, and is exceeded by hardly more than k: those are listed in shared memory, and `sampling_search`
/// asks the list instead of the row. For a limit of probability the list is tried with a bound that some thousand
/// exceed. What the list cannot answer, the row is asked.
#include <kiln/kernel/rows/blocks.hpp>
#include <kiln/kernel/rows/extreme.hpp>
#include <kiln/kernel/rows/sampling.hpp>
#include <kiln/tile/block_reduce.hpp>
#include <kiln/tile/exchange.hpp>

namespace kiln::rows {

template <class Where, int Width, class X, int Threads = 512>
struct long_sampling_program {
  static constexpr int threads = Threads, most_listed = 4096;
  static constexpr std::uint32_t few = threads;  ///< a list of which each thread has one element
  static constexpr std::uint32_t looked = 4;     ///< elements that it looks at together; behind the list stand as many
  using block_type = block_scope<Where, threads>;
  using keys = compact_keys<X>;
  struct alignas(16) entry {
    std::uint32_t key, column;
    std::uint64_t weight;
  };
  struct storage {
    reduce_storage<Where, threads> reduce;
    std::uint32_t largest[threads];  ///< key of each thread, 0 of one without elements
    std::uint32_t key[most_listed], column[most_listed];
    std::uint32_t listed, below;  ///< all elements with keys above `below`
    entry all[threads + looked];  ///< the list, if it is short
    std::uint32_t drawn;
    // One thread's, for it would take a third of all registers.
    alignas(8) unsigned char search[sizeof(sampling_search<keys>)];
    sampling_question question;
    bool asks, weighs;  ///< what the search's thread says to the others, which must not look at a search that moves on

    KILN_FN sampling_search<keys>& searching() { return *reinterpret_cast<sampling_search<keys>*>(search); }
  };

  sampling_program<X> of;
  std::uint32_t columns;

  KILN_HOST_CALLS KILN_FN void run(index_t r, storage& shared) const {
    const block_type block;
    const line<const X> row = of.x.at(r);
    fragments<std::uint64_t, 1, block_type> best;
    block.each([&](int t) {
      best.of(t)[0] = largest(row, t);
      shared.largest[t] = static_cast<std::uint32_t>(best.of(t)[0] >> 32) >> keys::unused;
    });
    const std::uint64_t top = block_reduce(block, shared.reduce, best, later_of{});
    const bool sound = is_finite_key(top);
    if (!sound || !(of.temperature > 0) || of.top_k == 1) return finish(block, r, column_of(top), sound);

    const auto n = columns;
    const auto k = of.top_k < 1 || of.top_k > static_cast<index_t>(n) ? n : static_cast<std::uint32_t>(of.top_k);
    const float largest_value = unordered(static_cast<std::uint32_t>(top >> 32));
    const auto weights = sampling_weights::of(largest_value, of.temperature, n);
    const std::uint32_t top_key = keys::of(largest_value);
    bool by_list = false;
    if (k < n) {
      list(block, row, shared, top_key, k <= busy() / 2 ? k : rank_of(1.4f * static_cast<float>(k)));
      by_list = shared.listed <= most_listed && shared.listed >= k;
    }
    block.each([&](int t) {
      if (t != 0) return;
      sampling_search<keys> made(weights, n, k, of.top_p, random_bits(of.seed, of.draw, static_cast<std::uint64_t>(r)));
      if (by_list) made.skip_to(shared.below);
      __builtin_memcpy(shared.search, &made, sizeof(made));
    });
    sync(block);
    int lists = 0;
    while (!(by_list && shared.listed <= few) && ask(block, shared)) {
      const sampling_question q = shared.question;
      answer(block, shared,
             by_list ? sum_over_list(block, shared, q, weights) : sum_over_row(block, row, shared, q, weights));
      if (!shared.weighs || by_list || lists == 2) continue;
      const std::uint64_t wanted = shared.searching().wanted();  // `list` begins with a barrier
      // A short list first, which is cheap to search.
      for (; lists < 2 && !by_list; ++lists) {
        list(block, row, shared, top_key, rank_of(lists == 0 ? 0.75f * few : 0.65f * most_listed));
        const sampling_question all{sampling_question::weight_left, shared.below, 0, n, 0};
        by_list =
            shared.listed <= most_listed && shared.below > 0 && sum_over_list(block, shared, all, weights) >= wanted;
        if (!by_list) continue;
        block.each([&](int t) {
          if (t == 0) shared.searching().skip_to(shared.below);
        });
        sync(block);
      }
    }
    if (by_list && shared.listed <= few) return finish(block, r, draw_from_list(block, shared, k, weights), true);
    finish(block, r, static_cast<index_t>(shared.searching().result()), true);
  }

 private:
  KILN_HOST_CALLS KILN_FN void finish(block_type block, index_t r, index_t chosen, bool sound) const {
    block.each([&](int t) {
      if (t != 0) return;
      of.out.data[of.out.offset(r)] = static_cast<std::int32_t>(chosen);
      if (of.flag != nullptr && !sound) *of.flag = 1;
    });
  }

  KILN_HOST_CALLS KILN_FN static bool ask(block_type block, storage& shared) {
    block.each([&](int t) {
      if (t == 0) shared.asks = shared.searching().ask(shared.question);
    });
    sync(block);
    return shared.asks;
  }
  KILN_HOST_CALLS KILN_FN static void answer(block_type block, storage& shared, std::uint64_t sum) {
    block.each([&](int t) {
      if (t != 0) return;
      shared.searching().answer(sum);
      shared.weighs = shared.searching().weighs_keys();
    });
    sync(block);
  }

  /// Calls `f(column, values)` for the chunks of thread t in columns [begin, end), `AtOnce` loads at a time.
  template <int AtOnce, class F>
  KILN_FN void chunks(const line<const X>& row, int t, std::uint32_t begin, std::uint32_t end, F f) const {
    constexpr std::uint32_t step = static_cast<std::uint32_t>(threads) * Width;
    std::uint32_t c = begin / static_cast<std::uint32_t>(Width) * Width + static_cast<std::uint32_t>(t) * Width;
    KILN_NO_UNROLL
    for (; c < end; c += AtOnce * step) {
      chunk<X, Width> v[AtOnce];
      KILN_UNROLL
      for (std::uint32_t i = 0; i < AtOnce; ++i)
        if (c + i * step < end) rows::load(row, c + i * step, Width, v[i]);
      KILN_UNROLL
      for (std::uint32_t i = 0; i < AtOnce; ++i)
        if (c + i * step < end) f(c + i * step, v[i]);
    }
  }

  /// Of a chunk; NaN if one is.
  KILN_FN static float largest_of(const chunk<X, Width>& v) {
#if defined(__CUDA_ARCH__)
    constexpr bool pairs = Width >= 4 && comes_in_pairs<X>;
#else
    constexpr bool pairs = false;
#endif
    if constexpr (pairs) {
      const auto w = bit_cast<chunk<std::uint32_t, Width / 2>>(v);
      std::uint32_t most = w[0];
      KILN_UNROLL
      for (int i = 1; i < Width / 2; ++i) most = larger_pair<X>(most, w[i]);
      const auto both = bit_cast<chunk<X, 2>>(most);
      return maximum_of{}(static_cast<float>(both[0]), static_cast<float>(both[1]));
    } else {
      float most = static_cast<float>(v[0]);
      KILN_UNROLL
      for (int i = 1; i < Width; ++i) most = maximum_of{}(most, static_cast<float>(v[i]));
      return most;
    }
  }

  /// The greatest key and lowest column of thread t. Of each chunk only the largest element is looked at; where it
  /// stands in the best chunk, is seen in the end.
  KILN_FN std::uint64_t largest(const line<const X>& row, int t) const {
    std::uint32_t best = 0, at = 0;
    chunks<Width == 1 ? 4 : 8>(row, t, 0, columns, [&](std::uint32_t c, const chunk<X, Width>& v) {
      const std::uint32_t key = ordered_bits(largest_of(v));
      if (key > best) best = key, at = c;
    });
    if (best == 0) return 0;
    chunk<X, Width> v;
    rows::load(row, at, Width, v);
    int i = Width - 1;
    KILN_UNROLL
    for (int k = Width - 2; k >= 0; --k) i = ordered_bits(static_cast<float>(v[k])) == best ? k : i;
    return (static_cast<std::uint64_t>(best) << 32) | (0xffffffffu - (at + static_cast<std::uint32_t>(i)));
  }

  /// How many threads have elements.
  KILN_FN std::uint32_t busy() const { return min_of<std::uint32_t>(threads, ceil_div<std::uint32_t>(columns, Width)); }
  /// So many of the threads' largest elements are exceeded by about `elements` of all. A thread's largest of m is
  /// exceeded by a part 1 - u^(1/m) of all, u even in [0, 1), which is about -log(u) elements of each thread.
  KILN_FN std::uint32_t rank_of(float elements) const {
    const auto of_all = static_cast<float>(busy());
    const float part = 1 - exponential(-elements / of_all);
    return min_of<std::uint32_t>(static_cast<std::uint32_t>(part * of_all) + 1, busy() - 1);
  }

  /// Finds the highest key that `rank` threads reach and lists all elements that do.
  KILN_HOST_CALLS KILN_FN void list(block_type block, const line<const X>& row, storage& shared, std::uint32_t top,
                                    std::uint32_t rank) const {
    sync(block);  // all have looked at the list before
    block.template split<32>([&](auto warp) {
      if (warp.number() != 0) return;
      using warp_type = decltype(warp);
      std::uint32_t low = 0, high = top;
      while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        fragments<std::uint32_t, 1, warp_type> above;
        warp.each([&](int lane) {
          std::uint32_t sum = 0;
          KILN_UNROLL
          for (int i = lane; i < threads; i += 32) sum += shared.largest[i] > middle ? 1 : 0;
          above.of(lane)[0] = sum;
        });
        reduce_storage<Where, 32> none;
        (block_reduce(warp, none, above, sum_of{}) >= rank ? low : high) = middle;
      }
      warp.each([&](int lane) {
        if (lane == 0) shared.below = low, shared.listed = 0;
      });
    });
    sync(block);
    const float bound = keys::value_of(shared.below + 1);  // an element's, or none compares
    block.each([&](int t) {
      chunks<4>(row, t, 0, columns, [&](std::uint32_t c, const chunk<X, Width>& v) {
        if (!(largest_of(v) >= bound)) return;
        KILN_UNROLL
        for (int i = 0; i < Width; ++i) {
          const auto x = static_cast<float>(v[i]);
          if (!(x >= bound)) continue;
          const std::uint32_t at = next(&shared.listed);
          if (at < most_listed) shared.key[at] = keys::of(x), shared.column[at] = c + static_cast<std::uint32_t>(i);
        }
      });
    });
    sync(block);
  }
  KILN_FN static std::uint32_t next(std::uint32_t* counter) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(counter, 1u);
#else
    return (*counter)++;
#endif
  }

  /// Every element is finite or -inf here, and floats compare as their keys do.
  KILN_HOST_CALLS KILN_FN std::uint64_t sum_over_row(block_type block, const line<const X>& row, storage& shared,
                                                     const sampling_question& q,
                                                     const sampling_weights& weights) const {
    float bound = keys::value_of(q.key);  // NaN below all numbers
    if (bound == 0 && q.key < keys::of(0.0f)) bound = -0x1p-149f;
    const bool weigh = q.what == sampling_question::weight_left, equal = q.what == sampling_question::count_equal;
    // Elements that much below the largest weigh nothing: 2^40 e^-28 is below one.
    const float least = maximum_of{}(weights.top - 28 * weights.temperature, is_nan(bound) ? -infinity : bound);
    fragments<std::uint64_t, 1, block_type> partial;
    block.each([&](int t) {
      std::uint64_t sum = 0;
      if (weigh) {
        chunks<2>(row, t, q.begin, q.end, [&](std::uint32_t c, const chunk<X, Width>& v) {
          if (largest_of(v) < least) return;
          KILN_UNROLL
          for (int i = 0; i < Width; ++i) {
            const auto x = static_cast<float>(v[i]);
            const std::uint32_t at = c + static_cast<std::uint32_t>(i);
            if (at >= q.begin && at < q.end && (!(x <= bound) || (x == bound && at < q.limit))) sum += weights(x);
          }
        });
      } else {
        std::uint32_t count = 0;
        chunks<4>(row, t, q.begin, q.end, [&](std::uint32_t c, const chunk<X, Width>& v) {
          KILN_UNROLL
          for (int i = 0; i < Width; ++i) {
            const auto x = static_cast<float>(v[i]);
            const std::uint32_t at = c + static_cast<std::uint32_t>(i);
            count += at >= q.begin && at < q.end && (equal ? x == bound : !(x <= bound)) ? 1 : 0;
          }
        });
        sum = count;
      }
      partial.of(t)[0] = sum;
    });
    return block_reduce(block, shared.reduce, partial, sum_of{});
  }

  KILN_HOST_CALLS KILN_FN static std::uint64_t sum_over_list(block_type block, storage& shared,
                                                             const sampling_question& q,
                                                             const sampling_weights& weights) {
    const std::uint32_t listed = shared.listed;
    fragments<std::uint64_t, 1, block_type> partial;
    block.each([&](int t) {
      std::uint64_t sum = 0;
      KILN_NO_UNROLL
      for (auto i = static_cast<std::uint32_t>(t); i < listed; i += threads) {
        const std::uint32_t key = shared.key[i], at = shared.column[i];
        if (at >= q.begin && at < q.end) sum += q.of(key, keys::value_of(key), at, weights);
      }
      partial.of(t)[0] = sum;
    });
    return block_reduce(block, shared.reduce, partial, sum_of{});
  }

  /// The end of the search where each thread has one element of the list: it looks at all others.
  KILN_HOST_CALLS KILN_FN static index_t draw_from_list(block_type block, storage& shared, std::uint32_t k,
                                                        const sampling_weights& weights) {
    const std::uint32_t listed = shared.listed;
    const sampling_search<keys>& search = shared.searching();
    fragments<std::uint64_t, 1, block_type> mine, before;
    block.each([&](int t) {
      const auto i = static_cast<std::uint32_t>(t);
      entry e{0, 0xffffffffu, 0};
      shared.all[threads + i % looked] = e;
      if (i < listed) e = {shared.key[t], shared.column[t], weights(keys::value_of(shared.key[t]))};
      shared.all[t] = e, mine.of(t)[0] = e.weight;
    });
    sync(block);
    // The largest first, and the lowest columns first among equals.
    block.each([&](int t) {
      std::uint32_t rank = 0;
      std::uint64_t sum = 0;
      if (static_cast<std::uint32_t>(t) < listed) {
        const std::uint32_t key = shared.all[t].key, column = shared.all[t].column;
        each_entry(shared, listed, [&](const entry& e) {
          const bool earlier = e.key > key || (e.key == key && e.column < column);
          rank += earlier ? 1 : 0, sum += earlier ? e.weight : 0;
        });
      }
      before.of(t)[0] = sum;
      if (rank >= k) mine.of(t)[0] = 0;
    });
    auto kept = mine;
    const std::uint64_t all = search.weighed(block_reduce(block, shared.reduce, kept, sum_of{}));
    block.each([&](int t) {
      if (before.of(t)[0] >= search.share_of(all)) mine.of(t)[0] = 0;
      shared.all[t].weight = mine.of(t)[0];
    });
    kept = mine;
    const std::uint64_t drawn = search.drawn_of(block_reduce(block, shared.reduce, kept, sum_of{}));
    sync(block);
    block.each([&](int t) {
      if (mine.of(t)[0] == 0) return;
      const std::uint32_t column = shared.all[t].column;
      std::uint64_t sum = 0;
      each_entry(shared, listed, [&](const entry& e) { sum += e.column < column ? e.weight : 0; });
      if (sum <= drawn && drawn - sum < mine.of(t)[0]) shared.drawn = column;
    });
    sync(block);
    return static_cast<index_t>(shared.drawn);
  }
  template <class F>
  KILN_FN static void each_entry(const storage& shared, std::uint32_t listed, F f) {
    KILN_NO_UNROLL
    for (std::uint32_t first = 0; first < listed; first += looked) {
      entry e[looked];
      KILN_UNROLL
      for (std::uint32_t i = 0; i < looked; ++i) e[i] = shared.all[first + i];
      KILN_UNROLL
      for (std::uint32_t i = 0; i < looked; ++i) f(e[i]);
    }
  }
};

}  // namespace kiln::rows
