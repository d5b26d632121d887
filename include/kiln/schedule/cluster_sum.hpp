#pragma once
/// Two blocks of a cluster have each summed half of K for the same tile. Each finishes the rows of one group: that group gets
/// the sums of its twin in the other block, and sends nothing; the other group sends its own, and finishes nothing.
///
/// The sums cross through distributed shared memory, 64 rows at a time, into a place in the finishing block, and are added as
/// (own + received) on either side's schedule, so that the result does not depend on who comes first: addition commutes.
#include <kiln/arch/sm90/remote.hpp>
#include <kiln/core/scope.hpp>
#include <kiln/schedule/split.hpp>

namespace kiln {

/// Of sums of one instruction's rows, `Registers` a thread. In shared memory, at the same place in both blocks.
template <class T, int Registers>
struct cluster_sum {
  alignas(16) T sums[Registers * 128];
  sm90::barrier full;   ///< of the block that receives
  sm90::barrier empty;  ///< of the block that sends

  template <class Where>
  KILN_FN void setup(scope<Where, 1> thread) {
    sm90::init(thread, full, 128);
    sm90::init(thread, empty, 128);
  }

  /// `round` counts the transfers of this place; both sides count alike.
  template <class Group>
  KILN_FN void send(Group group, const fragments<T, Registers, Group>& from, int round, int to) {
    sm90::wait_in_cluster(group, empty, ~round & 1);
    group.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < Registers; i += 4) {
        const T* r = &from.of(t)[i];
        sm90::store_at(group, t, detail::piece(sums, t, i / 4), to, vec<T, 4>{{r[0], r[1], r[2], r[3]}});
      }
    });
    sm90::arrive_in_cluster(group, full, to);
  }
  template <class Group>
  KILN_FN void receive(Group group, fragments<T, Registers, Group>& to, int round, int from) {
    sm90::wait_in_cluster(group, full, round & 1);
    group.each([&](int t) {
      KILN_UNROLL
      for (int i = 0; i < Registers; i += 4) {
        const vec<T, 4>* place = detail::piece(sums, t, i / 4);
        if constexpr (Group::host) twin::note_read(place, 16, group.first + t);
        const vec<T, 4> x = *place;
        KILN_UNROLL
        for (int e = 0; e < 4; ++e) to.of(t)[i + e] = detail::sum_of(to.of(t)[i + e], x[e]);
      }
    });
    sm90::arrive_in_cluster(group, empty, from);
  }
};

/// Where nothing is sent.
struct no_cluster_sum {
  template <class Where>
  KILN_FN void setup(scope<Where, 1>) {}
};

}  // namespace kiln
