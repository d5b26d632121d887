#pragma once
/// Two blocks of a cluster have each summed half of K for the same tile. Each keeps half of the columns: a group sends the other
/// half's sums to its twin in the other block, through distributed shared memory, and gets those of its own half.
///
/// Each sum is (own + received), whichever block it is in: addition commutes, so the result does not depend on who is where.
#include <kiln/arch/sm90/remote.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/schedule/split.hpp>

namespace kiln {

/// The place of one group, for the sums of one instruction's rows, `Registers` a thread; the same in both blocks.
template <class T, int Registers>
struct cluster_sum {
  alignas(16) T sums[Registers * 128];
  sm90::barrier full, empty;

  template <class Where>
  KILN_FN void setup(scope<Where, 1> thread) {
    sm90::init(thread, full, 128);
    sm90::init(thread, empty, 128);
  }

  /// Adds to `kept` what the twin sends, and sends it `given`. `round` counts the exchanges at this place.
  template <class Group>
  KILN_FN void exchange(Group group, fragments<T, Registers, Group>& kept, const fragments<T, Registers, Group>& given, int round, int other) {
    sm90::wait_in_cluster(group, empty, ~round & 1);
    group.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < Registers; i += 4) {
        const T* r = &given.of(t)[i];
        sm90::store_at(group, t, detail::piece(sums, t, i / 4), other, vec<T, 4>{{r[0], r[1], r[2], r[3]}});
      }
    });
    sm90::arrive_in_cluster(group, full, other);
    sm90::wait_in_cluster(group, full, round & 1);
    group.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < Registers; i += 4) {
        const vec<T, 4>* place = detail::piece(sums, t, i / 4);
        if constexpr (Group::host) twin::note_read(place, 16, group.first + t);
        const vec<T, 4> x = *place;
        KILN_UNROLL
        for (int e = 0; e < 4; ++e) kept.of(t)[i + e] = detail::sum_of(kept.of(t)[i + e], x[e]);
      }
    });
    sm90::arrive_in_cluster(group, empty, other);
  }
};

/// Where nothing is exchanged.
struct no_cluster_sum {
  template <class Where>
  KILN_FN void setup(scope<Where, 1>) {}
};

}  // namespace kiln
