#pragma once
/// Between an array of structs and a structure of arrays, and between two views of records of one kind.
///
/// A thread that reads its own struct touches a line per access. So a tile of structs passes through shared memory:
/// whole lines on the side of the structs, 32 neighbours of one component at a time on the side of the arrays.
#include <cstddef>
#include <kiln/kernel/elementwise/check.hpp>
#include <kiln/kernel/elementwise/record_blocks.hpp>
#include <kiln/kernel/elementwise/record_map.hpp>
#include <kiln/tile/exchange.hpp>
#include <kiln/tile/watched.hpp>
#include <type_traits>
#include <utility>

namespace kiln::elementwise {

/// Element by element, for records with padding (whose bytes stay as they are) and for views of one kind.
struct copy_fields {
  template <class From, class To>
  KILN_FN void operator()(const From& from, const To& to) const {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) { (one<Index>(from, to), ...); }
    (typename To::fields::indices{});
  }

 private:
  template <std::size_t Index, class From, class To>
  KILN_FN static void one(const From& from, const To& to) {
    using tag = typename To::fields::template at<Index>::tag;
    to.template field_number<Index>() = from.template field_number<From::fields::template number<tag>>();
  }
};

/// `bytes` bytes between memory and a tile, by all threads, in accesses of `Width` bytes as far as they go. The watch
/// hears of both sides and knows which of them is the tile.
KILN_HOST_CALLS template <int Width, class Scope>
KILN_FN void move_bytes(Scope threads, unsigned char* to, const unsigned char* from, int bytes) {
  using w [[maybe_unused]] = word<Width>;
  const watch_of watch(threads);
  threads.each([&](int t) {
    const int words = bytes / Width;
    for (int i = t; i < words; i += Scope::threads) {
#if defined(__CUDA_ARCH__)
      reinterpret_cast<w*>(to)[i] = reinterpret_cast<const w*>(from)[i];
#else
      __builtin_memcpy(to + i * Width, from + i * Width, Width);
#endif
      watch.read(from + i * Width, Width, t);
      watch.write(to + i * Width, Width, t);
    }
    for (int i = words * Width + t; i < bytes; i += Scope::threads) {
      to[i] = from[i];
      watch.read(from + i, 1, t);
      watch.write(to + i, 1, t);
    }
  });
}

/// ToArrays: structs to arrays; otherwise arrays to structs.
template <bool ToArrays, class Aos, class Soa>
struct regrouping {
  static constexpr int record = static_cast<int>(Aos::record_bytes);
  static constexpr int elements = [] {
    int n = 1024;
    while (n > 16 && n * record > 32768) n /= 2;
    return n;
  }();
  static constexpr int alignment = static_cast<int>(Aos::fields::alignment);
  static_assert(elements * record % 16 == 0 && alignment <= 16);
  struct shared {
    alignas(16) unsigned char bytes[elements * record];
  };

  Aos structs{};
  Soa arrays{};
  bool wide = false;  ///< the structs begin on 16 bytes

  KILN_HOST_CALLS template <class Scope>
  KILN_FN void tile(Scope threads, shared& memory, index_t number) const {
    const index_t first = number * elements;
    const int count = static_cast<int>(min_of<index_t>(elements, arrays.count - first));
    auto* const begin = structs.data + first * record;
    if constexpr (ToArrays) {
      if (wide)
        move_bytes<16>(threads, memory.bytes, begin, count * record);
      else
        move_bytes<alignment>(threads, memory.bytes, begin, count * record);
      sync(threads);
      each_field(threads, memory, first, count, typename Soa::fields::indices{});
    } else {
      each_field(threads, memory, first, count, typename Soa::fields::indices{});
      sync(threads);
      if (wide)
        move_bytes<16>(threads, begin, memory.bytes, count * record);
      else
        move_bytes<alignment>(threads, begin, memory.bytes, count * record);
    }
    sync(threads);
  }

 private:
  KILN_HOST_CALLS template <class Scope, std::size_t... Index>
  KILN_FN void each_field(Scope threads, shared& memory, index_t first, int count,
                          std::index_sequence<Index...>) const {
    (one_field<Index>(threads, memory, first, count), ...);
  }

  KILN_HOST_CALLS template <std::size_t Index, class Scope>
  KILN_FN void one_field(Scope threads, shared& memory, index_t first, int count) const {
    using array_field = typename Soa::fields::template at<Index>;
    constexpr std::size_t number = Aos::fields::template number<typename array_field::tag>;
    using A = typename array_field::type;
    using S = typename Aos::fields::template at<number>::type;
    constexpr int offset = static_cast<int>(Aos::fields::template offset<number>);
    const watch_of watch(threads);
    KILN_NO_UNROLL
    for (int c = 0; c < array_field::components; ++c) {
      auto* const array = arrays.template at<Index>(first, c);
      threads.each([&](int t) {
        for (int i = t; i < count; i += Scope::threads) {
          unsigned char* const at = memory.bytes + i * record + offset + c * static_cast<int>(sizeof(S));
          if constexpr (ToArrays) {
            S s;
            __builtin_memcpy(&s, __builtin_assume_aligned(at, alignof(S)), sizeof(S));
            watch.read(at, sizeof(S), t);
            array[i] = detail::stored_as<A>(s);
          } else {
            const S s = detail::stored_as<S>(array[i]);
            __builtin_memcpy(__builtin_assume_aligned(at, alignof(S)), &s, sizeof(S));
            watch.write(at, sizeof(S), t);
          }
        }
      });
    }
  }
};

template <class A, class B>
inline constexpr bool same_fields = false;
template <class S, class... A, class T, class... B, template <class, class...> class V,
          template <class, class...> class W>
inline constexpr bool same_fields<V<S, A...>, W<T, B...>> =
    sizeof...(A) == sizeof...(B) && ((field_list<B...>::template count<typename field<A>::tag> == 1 &&
                                      field_list<A...>::template count<typename field<A>::tag> == 1) &&
                                     ...);

template <class View>
inline constexpr bool all_written = false;
template <class S, class... F, template <class, class...> class V>
inline constexpr bool all_written<V<S, F...>> = (!field<F>::is_const && ...);

/// Whether structs go through shared memory: it needs to hold 16 of them, and a result's padding stays as it is.
template <class Aos, bool Written>
inline constexpr bool fits_tiles = Aos::record_bytes <= 2048 && Aos::fields::alignment <= 16 &&
                                   (!Written || Aos::record_bytes == Aos::fields::useful_bytes);
template <class From, class To>
inline constexpr bool by_tiles = [] {
  if constexpr (is_aos_v<From> && is_soa_v<To>)
    return fits_tiles<From, false>;
  else if constexpr (is_soa_v<From> && is_aos_v<To>)
    return fits_tiles<To, true>;
  else
    return false;
}();

template <class Executor, class From, class To>
status copy_records(const Executor& ex, const From& from, const To& to) {
  KILN_TRY(check_view("copy", "the first view", from));
  KILN_TRY(check_view("copy", "the second view", to));
  KILN_TRY(check_same_shape("copy", "the second view", to, "the first", from));
  KILN_TRY(check_components("copy", from, to));
  if (from.count == 0) return {};
  const double n = static_cast<double>(from.count);
  trace::launch_record what{.program = "copy",
                            .schedule = "records",
                            .bytes = n * static_cast<double>(From::fields::useful_bytes + To::fields::useful_bytes)};
  if constexpr (by_tiles<From, To>) {
    constexpr bool gather = is_aos_v<From>;
    const auto& structs = nth_of < gather ? 0 : 1 > (from, to);
    const auto& arrays = nth_of < gather ? 1 : 0 > (from, to);
    using aos_type = std::remove_cvref_t<decltype(structs)>;
    using soa_type = std::remove_cvref_t<decltype(arrays)>;
    if constexpr (fits_blocks<aos_type>) {
      using blocks = block_regrouping<gather, aos_type, soa_type>;
      if (is_aligned(structs.data, 16) && arrays_aligned(arrays, 0, blocks::chunk)) {
        what.schedule = "blocks of structs";
        return run_tiles(ex, what, blocks{.structs = structs, .arrays = arrays},
                         ceil_div<index_t>(from.count, blocks::elements));
      }
    }
    regrouping<gather, aos_type, soa_type> work{.structs = structs, .arrays = arrays};
    work.wide = is_aligned(structs.data, 16);
    what.schedule = "tiles of structs";
    return run_tiles(ex, what, work, ceil_div<index_t>(from.count, work.elements));
  } else {
    return run_items(ex, what, make_record_map(copy_fields{}, from.count, from, to));
  }
}

}  // namespace kiln::elementwise
