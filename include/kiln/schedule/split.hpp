#pragma once
/// Tiles in several parts: each part's sums go to the workspace, and whoever finishes last adds them up, in the order
/// of the parts. Nobody waits for anybody, so nothing hangs however blocks are scheduled, and the sum is the same in
/// every run. A group that finds all others there keeps its own sums in registers, if that leaves the order as it is:
/// as part 0, or as one of two, since addition commutes.
#include <cstdint>

#include <kiln/arch/sm90/sync.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/core/types.hpp>

namespace kiln {

/// In the workspace. Counters are zero before the launch.
struct split_workspace {
  std::uint32_t* arrived = nullptr;  ///< [streamed tile][block of the cluster][group]
  unsigned char* sums = nullptr;  ///< [worker][first or last part][block of the cluster][group][register / 4][thread]
};

namespace detail {

/// Adds `by`; what was there before. Orders the calling thread's earlier writes before it, for whoever sees the new
/// value, and what it reads later behind it.
template <class Where>
KILN_FN std::uint32_t count_up(scope<Where, 1>, std::uint32_t* counter, std::uint32_t by) {
#if defined(__CUDA_ARCH__)
  __threadfence();
  const std::uint32_t before = atomicAdd(counter, by);
  __threadfence();
  return before;
#else
  const std::uint32_t before = *counter;
  *counter += by;
  return before;
#endif
}

}  // namespace detail

/// How many parts have arrived; adds `by` of one's own. All threads of the group get the number, what the group wrote
/// to global memory before is seen by those who count later, and what those wrote who came before is seen after. `flag`
/// is shared memory of the group, `name` a named barrier of its own.
template <class Where>
KILN_FN std::uint32_t count_parts(warpgroup_scope<Where> group, std::uint32_t* counter, std::uint32_t by,
                                  std::uint32_t& flag, int name) {
  sm90::named_sync<128>(group, name);
  sm90::one_thread(group, [&](auto thread) {
    if constexpr (warpgroup_scope<Where>::host) twin::note_write(&flag, 4, group.first);
    flag = detail::count_up(thread, counter, by);
  });
  sm90::named_sync<128>(group, name);
  if constexpr (warpgroup_scope<Where>::host)
    for (int t = 0; t < 128; ++t) twin::note_read(&flag, 4, group.first + t);
  return flag;
}

namespace detail {
KILN_FN float sum_of(float x, float y) { return x + y; }
/// Wraps past 2^31, as the matrix units do.
KILN_FN std::int32_t sum_of(std::int32_t x, std::int32_t y) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(y));
}

/// Where sixteen-byte piece i of thread t lies among a group's sums: the pieces of 128 threads follow each other.
template <class T>
KILN_FN vec<T, 4>* piece(T* sums, int t, int i) {
  return reinterpret_cast<vec<T, 4>*>(reinterpret_cast<unsigned char*>(sums) + static_cast<index_t>(t) * 16) + i * 128;
}
}  // namespace detail

/// Writes a group's registers to `to`.
template <class T, int N, class Group>
KILN_FN void put_sums(Group group, T* to, const fragments<T, N, Group>& from) {
  static_assert(N % 4 == 0);
  group.each([&](int t) {
    KILN_UNROLL
    for (int i = 0; i < N; i += 4) {
      const T* r = &from.of(t)[i];
      *detail::piece(to, t, i / 4) = vec<T, 4>{{r[0], r[1], r[2], r[3]}};
    }
  });
}
/// Reads them back (Add = false), or adds them to what is there.
template <bool Add, class T, int N, class Group>
KILN_FN void get_sums(Group group, T* from, fragments<T, N, Group>& to) {
  group.each([&](int t) {
    KILN_UNROLL
    for (int i = 0; i < N; i += 4) {
      const vec<T, 4> x = *detail::piece(from, t, i / 4);
      KILN_UNROLL
      for (int e = 0; e < 4; ++e) to.of(t)[i + e] = Add ? detail::sum_of(to.of(t)[i + e], x[e]) : x[e];
    }
  });
}

}  // namespace kiln
