#pragma once
/// Between arrays of structs and structures of arrays, a block of neighbouring structs in the registers of each thread.
///
/// The structs of a thread lie behind each other in memory. It has them in registers when it has read a chunk of each
/// array, in one access each; a tile in shared memory turns them into whole lines of the array of structs.
#include <cstddef>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/watched.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

/// Structs of a thread: 16 bytes of the smallest component, and 128 bytes in all.
template <class Aos, class Soa>
constexpr int block_records() {
  std::size_t n = 16 / Soa::fields::smallest;
  while ((n & (n - 1)) != 0) n &= n - 1;
  while (n > 1 && n * Aos::record_bytes > 128) n /= 2;
  return static_cast<int>(n);
}

/// ToArrays: structs to arrays; otherwise arrays to structs. All accesses are aligned: the structs begin on 16 bytes,
/// and `arrays_aligned` holds for chunks of `chunk`.
template <bool ToArrays, class Aos, class Soa>
struct block_regrouping {
  static constexpr int record = static_cast<int>(Aos::record_bytes), chunk = block_records<Aos, Soa>();
  static constexpr int bytes = record * chunk, access = access_bytes(static_cast<std::size_t>(bytes));
  static constexpr int pieces = bytes / access, elements = elementwise_threads * chunk;
  using piece = word<access>;
  struct shared {
    alignas(16) piece tile[elementwise_threads * pieces];
  };
  struct alignas(16) block {
    piece p[pieces];
  };

  Aos structs{};
  Soa arrays{};

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void tile(Scope threads, shared& memory, index_t number) const {
    static_assert(Scope::threads == elementwise_threads);
    const index_t first = number * elements;
    const int count = static_cast<int>(min_of<index_t>(elements, arrays.count - first));
    auto* const begin = structs.data + first * record;
    const watch_of watch(threads);
    if constexpr (ToArrays) {
      move_structs(threads, memory, begin, count);
      sync(threads);
      threads.each([&](int t) {
        if (t * chunk >= count) return;
        block b;
        KILN_UNROLL
        for (int i = 0; i < pieces; ++i) {
          b.p[i] = memory.tile[place(t * pieces + i)];
          watch.read(&memory.tile[place(t * pieces + i)], access, t);
        }
        staged<Soa, chunk> s;
        each_component<true>(b, s);
        if (count - t * chunk >= chunk)
          store_staged<Soa, chunk>(arrays, first + t * chunk, s);
        else
          singles(first + t * chunk, count - t * chunk, s);
      });
    } else {
      threads.each([&](int t) {
        if (t * chunk >= count) return;
        staged<Soa, chunk> s;
        if constexpr (Scope::host) __builtin_memset(static_cast<void*>(&s), 0, sizeof(s));
        if (count - t * chunk >= chunk)
          load_staged<Soa, chunk>(arrays, first + t * chunk, s);
        else
          singles(first + t * chunk, count - t * chunk, s);
        block b;
        each_component<false>(b, s);
        KILN_UNROLL
        for (int i = 0; i < pieces; ++i) {
          memory.tile[place(t * pieces + i)] = b.p[i];
          watch.write(&memory.tile[place(t * pieces + i)], access, t);
        }
      });
      sync(threads);
      move_structs(threads, memory, begin, count);
    }
    sync(threads);
  }

 private:
  /// Where piece i of the tile stands. Neighbouring threads are `pieces` apart: if that is even, they would meet in few
  /// banks.
  KILN_FN static int place(int i) {
    constexpr int line = 128 / access;
    return pieces % 2 != 0 ? i : i ^ (i / line % line);
  }

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void move_structs(Scope threads, shared& memory, typename Aos::byte* global, int count) const {
    const watch_of watch(threads);
    threads.each([&](int t) {
      if (count == elements) {
        piece p[pieces];
        KILN_UNROLL
        for (int k = 0; k < pieces; ++k) {
          const int i = k * Scope::threads + t;
          if constexpr (ToArrays)
            get(global + i * access, p[k]);
          else
            p[k] = memory.tile[place(i)], watch.read(&memory.tile[place(i)], access, t);
        }
        KILN_UNROLL
        for (int k = 0; k < pieces; ++k) {
          const int i = k * Scope::threads + t;
          if constexpr (ToArrays)
            memory.tile[place(i)] = p[k], watch.write(&memory.tile[place(i)], access, t);
          else
            put(global + i * access, p[k]);
        }
      } else {
        for (int at = t; at < count * record; at += Scope::threads) {
          auto& inside = reinterpret_cast<unsigned char*>(memory.tile)[place(at / access) * access + at % access];
          if constexpr (ToArrays)
            inside = global[at], watch.write(&inside, 1, t);
          else
            global[at] = inside, watch.read(&inside, 1, t);
        }
      }
    });
  }
  KILN_FN static void get(const unsigned char* from, piece& to) {
#if defined(__CUDA_ARCH__)
    to = *reinterpret_cast<const piece*>(from);
#else
    __builtin_memcpy(&to, from, access);
#endif
  }
  KILN_FN static void put(unsigned char* to, const piece& from) {
#if defined(__CUDA_ARCH__)
    store_word(reinterpret_cast<piece*>(to), from);
#else
    __builtin_memcpy(to, &from, access);
#endif
  }

  /// Out: a thread's structs from bytes into components; otherwise back.
  template <bool Out>
  KILN_FN static void each_component(block& b, staged<Soa, chunk>& s) {
    auto* const raw = reinterpret_cast<unsigned char*>(b.p);
    const auto field = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      using array_field = typename Soa::fields::template at<Index>;
      constexpr std::size_t number = Aos::fields::template number<typename array_field::tag>;
      using A = typename array_field::type;
      using S = typename Aos::fields::template at<number>::type;
      constexpr int offset = static_cast<int>(Aos::fields::template offset<number>);
      auto& leaf = staged_field<Index>(s);
      KILN_UNROLL
      for (int c = 0; c < array_field::components; ++c) {
        if constexpr (Out) leaf.written[c] = true;
        KILN_UNROLL
        for (int e = 0; e < chunk; ++e) {
          unsigned char* const at = raw + e * record + offset + c * static_cast<int>(sizeof(S));
          if constexpr (Out) {
            S x;
            __builtin_memcpy(&x, at, sizeof(S));
            leaf.r[c][e] = detail::stored_as<A>(x);
          } else {
            const S x = detail::stored_as<S>(leaf.r[c][e]);
            __builtin_memcpy(at, &x, sizeof(S));
          }
        }
      }
    };
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (field(std::integral_constant<std::size_t, Index>{}), ...);
    }
    (typename Soa::fields::indices{});
  }

  /// The last few elements of the arrays.
  KILN_FN void singles(index_t first, int n, staged<Soa, chunk>& s) const {
    const auto field = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      auto& leaf = staged_field<Index>(s);
      KILN_UNROLL
      for (int c = 0; c < Soa::fields::template at<Index>::components; ++c) {
        KILN_UNROLL
        for (int e = 0; e < chunk; ++e) {
          if (e >= n) break;
          if constexpr (ToArrays)
            *arrays.template at<Index>(first + e, c) = leaf.r[c][e];
          else
            leaf.r[c][e] = *arrays.template at<Index>(first + e, c);
        }
      }
    };
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (field(std::integral_constant<std::size_t, Index>{}), ...);
    }
    (typename Soa::fields::indices{});
  }
};

/// Whether a thread holds structs of this size in registers, with a place for each of their bytes in an array.
template <class Aos>
inline constexpr bool fits_blocks = Aos::record_bytes <= 128 && Aos::record_bytes == Aos::fields::useful_bytes;

}  // namespace kiln::elementwise
