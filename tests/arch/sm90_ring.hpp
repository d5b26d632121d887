#pragma once
// A small Hopper program by hand, for tests of the twins and of the instructions: D = A * B^T, bf16, 128 x 64 tiles, K
// in steps of 64. A loader fills a ring of slots by TMA, two consumer warpgroups multiply and store through shared
// memory. In a cluster each block loads its part of B for all. Faults can be planted.
#include <kiln/arch/sm90.hpp>
#include <kiln/core/bits.hpp>
#include <kiln/core/numeric.hpp>
#include <kiln/core/scope.hpp>

namespace kiln::test {

enum class plant {
  nothing,
  no_wait_for_data,         // a consumer does not wait for its slot
  no_fence_before_store,    // the proxy fence before the TMA store is missing
  no_barrier_before_store,  // the barrier before the TMA store is missing
  early_release,            // a slot is released before the wgmma that reads it is done
  too_few_bytes,            // the loader expects fewer bytes than come
  too_many_bytes,           // and more
  too_few_arrivals,         // `empty` completes with the first consumer's release
  too_many_arrivals,        // and never completes
  extra_arrival,            // a consumer releases twice
  reuse_before_read,        // the output's buffer is rewritten before its store has read it
  exit_before_read,         // the last store is not waited for
  no_wgmma_wait,            // accumulators are used before the wait
  own_release_only,         // in a cluster: other blocks' loaders are not told
};

template <class Where, int Ctas = 1, plant Fault = plant::nothing>
struct ring {
  static constexpr int slots = 3, tile_m = 128, tile_n = 64, tile_k = 64, consumers = 2,
                       threads = 128 * (1 + consumers);
  static constexpr int b_part = tile_n / Ctas;

  struct storage {
    alignas(1024) unsigned char a[slots][tile_m * tile_k * 2];
    alignas(1024) unsigned char b[slots][tile_n * tile_k * 2];
    alignas(1024) unsigned char out[consumers][64 * tile_n * 2];
    sm90::barrier full[slots], empty[slots];
  };
  struct parameters {
    sm90::tensor_map<Where> a, b, d;  // boxes 128 x 64, b_part x 64, 64 x 64
    int tiles, steps;                 // rows of D and of A are tiles * Ctas * 128
  };

  KILN_FN static void setup(scope<Where, 1> thread, storage& s) {
    int releases = consumers * Ctas;
    if (Fault == plant::too_few_arrivals) releases -= 1;
    if (Fault == plant::too_many_arrivals) releases += 1;
    for (int i = 0; i < slots; ++i) {
      sm90::init(thread, s.full[i], 1);
      sm90::init(thread, s.empty[i], releases);
    }
    sm90::fence_barrier_init(thread);
  }

  KILN_FN static void load(scope<Where, 128> group, const parameters& p, storage& s) {
    const int cta = sm90::cluster_rank(group);
    sm90::one_thread(group, [&](auto thread) {
      sm90::ring_position<slots> at;
      for (int t = 0; t < p.tiles; ++t) {
        for (int k = 0; k < p.steps; ++k, at.next()) {
          sm90::wait(thread, s.empty[at.slot], at.parity ^ 1);
          int bytes = (tile_m + tile_n) * tile_k * 2;
          if (Fault == plant::too_few_bytes) bytes -= 128;
          if (Fault == plant::too_many_bytes) bytes += 16;
          sm90::arrive_expect_bytes(thread, s.full[at.slot], bytes);
          sm90::tma_load(thread, p.a, s.a[at.slot], s.full[at.slot], k * tile_k, (t * Ctas + cta) * tile_m);
          unsigned char* b = s.b[at.slot] + cta * b_part * tile_k * 2;
          if constexpr (Ctas == 1) {
            sm90::tma_load(thread, p.b, b, s.full[at.slot], k * tile_k, 0);
          } else {
            sm90::tma_load_multicast(thread, p.b, b, s.full[at.slot], (1 << Ctas) - 1, k * tile_k, cta * b_part);
          }
        }
      }
    });
    finish(group);
  }

  KILN_FN static void consume(scope<Where, 128> group, int number, const parameters& p, storage& s) {
    const int cta = sm90::cluster_rank(group);
    fragments<float, tile_n / 2, scope<Where, 128>> acc;
    sm90::ring_position<slots> at;
    for (int t = 0; t < p.tiles; ++t) {
      int previous = -1;
      for (int k = 0; k < p.steps; ++k, at.next()) {
        if (Fault != plant::no_wait_for_data) sm90::wait(group, s.full[at.slot], at.parity);
        const auto a = sm90::k_major_descriptor<swizzle::b128>(group, s.a[at.slot] + number * 64 * tile_k * 2);
        const auto b = sm90::k_major_descriptor<swizzle::b128>(group, s.b[at.slot]);
        sm90::wgmma_fence(group);
        KILN_UNROLL
        for (int j = 0; j < 4; ++j) sm90::wgmma<bf16>(group, acc, a.plus(32 * j), b.plus(32 * j), k + j > 0);
        sm90::wgmma_commit(group);
        if (Fault == plant::early_release) {
          release(group, s, at.slot);
          continue;
        }
        sm90::wgmma_wait<1>(group);
        if (previous >= 0) release(group, s, previous);
        previous = at.slot;
      }
      if (Fault != plant::no_wgmma_wait) sm90::wgmma_wait<0>(group, acc);
      if (previous >= 0) release(group, s, previous);
      store(group, number, (t * Ctas + cta) * tile_m + number * 64, p, s, acc);
      if (Fault == plant::no_wgmma_wait) sm90::wgmma_wait<0>(group, acc);
    }
    if (Fault != plant::exit_before_read) sm90::one_thread(group, [&](auto thread) { sm90::tma_wait_read<0>(thread); });
    finish(group);
  }

 private:
  KILN_FN static void release(scope<Where, 128> group, storage& s, int slot) {
    sm90::one_thread(group, [&](auto thread) {
      if constexpr (Ctas == 1) {
        sm90::arrive(thread, s.empty[slot]);
        if (Fault == plant::extra_arrival) sm90::arrive(thread, s.empty[slot]);
      } else {
        for (int c = 0; c < Ctas; ++c) {
          sm90::arrive_at(thread, s.empty[slot], Fault == plant::own_release_only ? sm90::cluster_rank(thread) : c);
        }
      }
    });
  }

  template <class Acc>
  KILN_FN static void store(scope<Where, 128> group, int number, int row, const parameters& p, storage& s, Acc& acc) {
    unsigned char* out = s.out[number];
    if (Fault != plant::reuse_before_read)
      sm90::one_thread(group, [&](auto thread) { sm90::tma_wait_read<0>(thread); });
    sm90::named_sync<128>(group, 1 + number);
    // A warp's 16 rows, 16 columns at a time: matrices 0 and 1 are rows 0 to 7 and 8 to 15 of the left half, 2 and 3 of
    // the right.
    fragments<std::uint32_t, tile_n / 4, scope<Where, 128>> packed;
    group.each([&](int thread) {
      KILN_UNROLL
      for (int i = 0; i < tile_n / 4; ++i) {
        const float* r = acc.of(thread);
        packed.of(thread)[i] = static_cast<std::uint32_t>(bit_cast<std::uint16_t>(convert<bf16>(r[2 * i]))) |
                               static_cast<std::uint32_t>(bit_cast<std::uint16_t>(convert<bf16>(r[2 * i + 1]))) << 16;
      }
    });
    group.template split<32>([&](auto warp) {
      const int w = warp.number() % 4;
      KILN_UNROLL
      for (int c = 0; c < tile_n / 16; ++c) {
        sm90::stmatrix<4>(
            warp,
            [&](int lane) { return out + swizzled(swizzle::b128, w * 16 + lane % 16, (c * 16 + lane / 16 * 8) * 2); },
            [&](int lane) { return packed.of(w * 32 + lane) + c * 4; });
      }
    });
    if (Fault != plant::no_fence_before_store) sm90::fence_async(group);
    if (Fault != plant::no_barrier_before_store) sm90::named_sync<128>(group, 1 + number);
    sm90::one_thread(group, [&](auto thread) {
      sm90::tma_store(thread, p.d, out, 0, row);
      sm90::tma_commit(thread);
    });
  }

  /// No block may end while another still sends to its shared memory.
  KILN_FN static void finish(scope<Where, 128> group) {
    if constexpr (Ctas > 1) sm90::cluster_sync(group);
  }
};

}  // namespace kiln::test
