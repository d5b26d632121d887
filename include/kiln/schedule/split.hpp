#pragma once
/// Tiles in several parts.
///
/// Of any workers: each part's sums go to the workspace, and whoever finishes last adds them up, in the order of the
/// parts. Nobody waits for anybody, so nothing hangs however blocks are scheduled, and the sum is the same in every
/// run. A group that finds all others there keeps its own sums in registers, if that leaves the order as it is: as part
/// 0, or as one of two, since addition commutes.
///
/// Of the blocks of a cluster, which are there at the same time (split-K through distributed shared memory): half of
/// them send their sums to the shared memory of the others, which add them to their own, and so on until one has all.
/// The way is shorter, and there is no counter to clear before the kernel.
#include <cstdint>

#include <kiln/arch/sm90/barrier.hpp>
#include <kiln/arch/sm90/remote.hpp>
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

namespace detail {
/// Tells the watch of the host who reads or writes a group's sums in shared memory.
template <int N, class Group, class T, class Note>
KILN_FN void note_pieces([[maybe_unused]] Group group, [[maybe_unused]] T* sums, [[maybe_unused]] Note note) {
  if constexpr (Group::host)
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < N / 4; ++i) note(piece(sums, t, i), 16, group.first + t);
}
}  // namespace detail

/// In shared memory: where the groups of blocks that have a tile together meet, in `Levels` halvings.
template <int Levels, int Groups>
struct meeting {
  sm90::barrier free;                     ///< the slots of the block that this one sends to
  sm90::barrier arrived[Levels][Groups];  ///< sums in this block's

  template <class Where>
  KILN_FN void init(scope<Where, 1> thread) {
    sm90::init(thread, free, Groups);
    for (auto& level : arrived)
      for (auto& b : level) sm90::init(thread, b, 128);
  }
};
template <int Groups>
struct meeting<0, Groups> {
  template <class Where>
  KILN_FN void init(scope<Where, 1>) {}
};

/// The sums of one of `Groups` groups of each of `count` blocks of a cluster, up to 2^Levels, added up in an order that
/// `count` fixes. `places` is shared memory for the sums of all groups at each level, which nobody reads
/// or writes any more in this block. Whether this is the block that has them: the first.
template <int Levels, int Groups, class T, int N, int Blocks, class Where>
KILN_FN bool join_sums(warpgroup_scope<Where> group, int share, int rank, int count, meeting<Levels, Groups>& m,
                       T* places, fragments<T, N, warpgroup_scope<Where>> (&total)[Blocks]) {
  constexpr int of_block = N * 128, of_group = Blocks * of_block;
  const auto half_of = [](int blocks) { return (blocks + 1) / 2; };
  sm90::one_thread(group, [&](auto thread) {
    for (int left = count; left > 1 && half_of(left) > rank; left = half_of(left))
      if (rank + half_of(left) < left) sm90::hand_over_at(thread, m.free, rank + half_of(left));
  });
  T* place = places + share * of_group;
  int level = 0;
  KILN_NO_UNROLL
  for (int left = count; left > 1; left = half_of(left), ++level, place += Groups * of_group) {
    const int half = half_of(left);
    if (rank >= half) {
      sm90::wait_for_blocks(group, m.free, 0);
      T* const there = sm90::in_block(group, place, rank - half);
      KILN_UNROLL
      for (int b = 0; b < Blocks; ++b) {
        put_sums(group, there + b * of_block, total[b]);
        detail::note_pieces<N>(group, there + b * of_block, [](auto... of) { twin::note_write(of...); });
      }
      sm90::hand_over_at(group, m.arrived[level][share], rank - half);
      return false;
    }
    if (rank + half >= left) continue;  // of an odd number, one waits
    sm90::wait_for_blocks(group, m.arrived[level][share], 0);
    KILN_UNROLL
    for (int b = 0; b < Blocks; ++b) {
      detail::note_pieces<N>(group, place + b * of_block, [](auto... of) { twin::note_read(of...); });
      get_sums<true>(group, place + b * of_block, total[b]);
    }
  }
  return true;
}

}  // namespace kiln
