// The host's driver: every order gives the same result from a right program, and a report from a wrong one.
#include <gtest/gtest.h>

#include <kiln/arch/host/driver.hpp>
#include <string>
#include <vector>

#include "tests/arch/sm90_ring.hpp"
#include "tests/support/fill.hpp"

namespace {
using namespace kiln;
using kiln::test::plant;
using kiln::test::ring;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct outcome {
  status result;
  std::vector<bf16> d, expected;
  bool right() const {
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (static_cast<float>(d[i]) != static_cast<float>(expected[i])) return false;
    }
    return true;
  }
};

/// A * B^T; small integers, so the sums are exact.
std::vector<bf16> reference(const std::vector<bf16>& a, const std::vector<bf16>& b, int m, int n, int k) {
  static std::vector<bf16> d;
  static int last_m = 0, last_k = 0;
  if (last_m == m && last_k == k) return d;  // tests repeat few shapes
  last_m = m, last_k = k;
  std::vector<float> fa(a.begin(), a.end()), fb(b.begin(), b.end());
  d.assign(at(m * n), bf16{});
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += fa[at(i * k + l)] * fb[at(j * k + l)];
      d[at(i * n + j)] = convert<bf16>(sum);
    }
  }
  return d;
}

/// Runs one cluster on `ctas * tiles * 128` rows; K is no multiple of 64 and N is less than 64.
template <int Ctas, plant Fault>
outcome run_ring(const host_executor& ex, int tiles = 3, int steps = 4) {
  using program = ring<on_host, Ctas, Fault>;
  using storage = typename program::storage;
  const int m = Ctas * tiles * 128 - 5, n = 56, k = steps * 64 - 8;
  const auto a = test::small_integers<bf16>(at(m * k), 1), b = test::small_integers<bf16>(at(n * k), 2);
  std::vector<bf16> d(at(m * n), convert<bf16>(-1e9f));

  typename program::parameters p{};
  p.tiles = tiles, p.steps = steps;
  EXPECT_TRUE(make_tensor_map(p.a, sm90::matrix_request("a", a.data(), m, k, k, 128, 64)).ok());
  EXPECT_TRUE(make_tensor_map(p.b, sm90::matrix_request("b", b.data(), n, k, k, program::b_part, 64)).ok());
  EXPECT_TRUE(make_tensor_map(p.d, sm90::matrix_request("d", d.data(), m, n, n, 64, 64)).ok());

  using group = scope<on_host, 128>;
  auto result = twin::run_roles(
      ex, {Ctas, program::threads, sizeof(storage)},
      [](twin::block c) { program::setup(scope<on_host, 1>{0}, c.as<storage>()); },
      twin::role("loader", 0, 128, [&](twin::block c) { program::load(group{0}, p, c.as<storage>()); }),
      twin::role("consumer 0", 128, 128, [&](twin::block c) { program::consume(group{128}, 0, p, c.as<storage>()); }),
      twin::role("consumer 1", 256, 128, [&](twin::block c) { program::consume(group{256}, 1, p, c.as<storage>()); }));
  return {std::move(result), std::move(d), reference(a, b, m, n, k)};
}

constexpr order all_orders[] = {order::eager, order::late, order::random};

TEST(driver, right_ring_passes_in_every_order) {
  for (const order o : all_orders) {
    for (const bool checked : {false, true}) {
      const auto r = run_ring<1, plant::nothing>(host.with_order(o).with_checks(checked));
      EXPECT_EQ(r.result.message(), "");
      EXPECT_TRUE(r.right());
    }
  }
}

TEST(driver, right_ring_passes_with_many_seeds) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto r = run_ring<1, plant::nothing>(host.with_order(order::random, seed).with_checks(), 2, 5);
    EXPECT_EQ(r.result.message(), "") << seed;
    EXPECT_TRUE(r.right()) << seed;
  }
}

TEST(driver, right_ring_of_a_cluster_passes_in_every_order) {
  for (const order o : all_orders) {
    const auto r = run_ring<2, plant::nothing>(host.with_order(o, 7).with_checks(), 2, 4);
    EXPECT_EQ(r.result.message(), "");
    EXPECT_TRUE(r.right());
  }
}

/// The report has all of these words, whatever the order.
template <plant Fault, int Ctas = 1>
void expect_report(std::initializer_list<const char*> words) {
  for (const order o : all_orders) {
    const auto r = run_ring<Ctas, Fault>(host.with_order(o, 3).with_checks());
    EXPECT_FALSE(r.result.ok());
    for (const char* w : words) EXPECT_NE(r.result.message().find(w), std::string::npos) << r.result.message();
  }
}

TEST(planted_fault, missing_wait_for_data) {
  expect_report<plant::no_wait_for_data>({"TMA load", "wgmma of warpgroup"});
}
TEST(planted_fault, missing_proxy_fence) {
  expect_report<plant::no_fence_before_store>({"async proxy", "no fence.proxy.async between"});
}
TEST(planted_fault, missing_barrier) {
  expect_report<plant::no_barrier_before_store>({"thread", "reads shared byte", "no barrier between"});
}
TEST(planted_fault, slot_released_too_early) {
  expect_report<plant::early_release>({"TMA load", "wgmma of warpgroup"});
}
TEST(planted_fault, too_few_bytes_expected) { expect_report<plant::too_few_bytes>({"24576 bytes", "expects 24448"}); }
TEST(planted_fault, too_many_bytes_expected) {
  expect_report<plant::too_many_bytes>({"deadlock", "24576 of 24592 bytes"});
}
TEST(planted_fault, too_few_arrivals) { expect_report<plant::too_few_arrivals>({"mbarrier"}); }
TEST(planted_fault, too_many_arrivals) {
  expect_report<plant::too_many_arrivals>({"deadlock", "2 of 3 arrivals", "loader waits"});
}
TEST(planted_fault, extra_arrival) { expect_report<plant::extra_arrival>({}); }
TEST(planted_fault, buffer_reused_before_its_store_has_read_it) {
  expect_report<plant::reuse_before_read>({"overwrites shared memory", "TMA store", "tma_wait_read"});
}
TEST(planted_fault, end_before_the_store_has_read) { expect_report<plant::exit_before_read>({"tma_wait_read<0>"}); }
TEST(planted_fault, other_blocks_are_not_told_of_a_release) { expect_report<plant::own_release_only, 2>({"block"}); }

TEST(planted_fault, shows_in_the_result_even_unwatched) {
  const auto late = host.with_order(order::late), random = host.with_order(order::random, 5);
  EXPECT_FALSE((run_ring<1, plant::no_wait_for_data>(late).right()));
  EXPECT_FALSE((run_ring<1, plant::early_release>(late).right()));
  EXPECT_FALSE((run_ring<1, plant::reuse_before_read>(late, 6).right()));
  EXPECT_FALSE((run_ring<1, plant::no_wgmma_wait>(host).right()));
  EXPECT_FALSE((run_ring<1, plant::early_release>(random, 6).right()));
}

/// One role of one block.
template <class F>
status solo(F f, int threads = 128, const host_executor& ex = host.with_checks()) {
  return twin::run_roles(
      ex, {1, threads, 4096}, [](twin::block) {}, twin::role("solo", 0, threads, f));
}

TEST(driver, deadlock_names_who_waits_for_what) {
  struct storage {
    sm90::barrier b;
  };
  const auto s = twin::run_roles(
      host, {1, 64, sizeof(storage)}, [](twin::block c) { sm90::init(scope<on_host, 1>{}, c.as<storage>().b, 2); },
      twin::role("one", 0, 32,
                 [](twin::block c) {
                   sm90::arrive(scope<on_host, 1>{0}, c.as<storage>().b);
                   sm90::wait(scope<on_host, 32>{0}, c.as<storage>().b, 0);
                 }),
      twin::role("other", 32, 32, [](twin::block) { sm90::named_sync<64>(scope<on_host, 32>{32}, 3); }));
  EXPECT_EQ(s.message(),
            "protocol: deadlock: one waits for phase of parity 0 of the mbarrier at shared byte 0: 1 of 2 arrivals, 0 "
            "of 0 bytes; "
            "other waits for named barrier 3: 32 of 64 threads");
}

TEST(driver, named_barrier_orders_two_roles) {
  for (const order o : all_orders) {
    const auto s = twin::run_roles(
        host.with_order(o, 1).with_checks(), {1, 64, 256}, [](twin::block) {},
        twin::role("writer", 0, 32,
                   [](twin::block c) {
                     twin::note_write(c.shared, 4, 5);
                     sm90::named_arrive<64>(scope<on_host, 32>{0}, 1);
                   }),
        twin::role("reader", 32, 32, [](twin::block c) {
          sm90::named_sync<64>(scope<on_host, 32>{32}, 1);
          twin::note_read(c.shared, 4, 40);
        }));
    EXPECT_EQ(s.message(), "");
  }
}

TEST(driver, arrival_of_one_thread_says_nothing_of_others) {
  struct storage {
    alignas(128) unsigned char data[128];
    sm90::barrier b;
  };
  const auto s = twin::run_roles(
      host.with_checks(), {1, 64, sizeof(storage)},
      [](twin::block c) { sm90::init(scope<on_host, 1>{}, c.as<storage>().b, 1); },
      twin::role("writer", 0, 32,
                 [](twin::block c) {
                   twin::note_write(c.as<storage>().data, 4, 5);
                   sm90::arrive(scope<on_host, 1>{0}, c.as<storage>().b);
                 }),
      twin::role("reader", 32, 32, [](twin::block c) {
        sm90::wait(scope<on_host, 32>{32}, c.as<storage>().b, 0);
        twin::note_read(c.as<storage>().data, 4, 40);
      }));
  EXPECT_EQ(s.message(), "protocol: thread 40 reads shared byte 0, which thread 5 wrote with no barrier between");
}

TEST(driver, misuse_of_instructions_is_named) {
  struct storage {
    sm90::barrier b;
  };
  EXPECT_NE(solo([](twin::block c) { sm90::arrive(scope<on_host, 1>{}, c.as<storage>().b); })
                .message()
                .find("never initialised"),
            std::string::npos);
  EXPECT_NE(solo([](twin::block c) {
              fragments<float, 8, scope<on_host, 128>> d;
              const auto x = sm90::k_major_descriptor<swizzle::b128>(scope<on_host, 128>{}, c.shared);
              sm90::wgmma<bf16>(scope<on_host, 128>{}, d, x, x, false);
            })
                .message()
                .find("wgmma_fence"),
            std::string::npos);
  EXPECT_NE(solo([](twin::block c) {
              fragments<float, 8, scope<on_host, 128>> d;
              const auto x = sm90::k_major_descriptor<swizzle::b128>(scope<on_host, 128>{}, c.shared + 2048);
              sm90::wgmma_fence(scope<on_host, 128>{}, d);
              sm90::wgmma<bf16>(scope<on_host, 128>{}, d, x, x, false);
              sm90::wgmma_commit(scope<on_host, 128>{});
              sm90::wgmma_wait<0>(scope<on_host, 128>{}, d);
            })
                .message()
                .find("the block has 4096"),
            std::string::npos);
}

TEST(driver, exceptions_of_a_role_reach_the_caller) {
  EXPECT_THROW((void)solo([](twin::block) { throw 7; }), int);
  EXPECT_THROW((void)sm90::cluster_rank(scope<on_host, 1>{}), std::logic_error) << "outside of any cluster";
}

TEST(driver, cluster_barrier_joins_all_blocks) {
  for (const order o : all_orders) {
    std::vector<int> log;
    const auto s = twin::run_roles(
        host.with_order(o, 9).with_checks(), {4, 32, 64}, [](twin::block) {},
        twin::role("only", 0, 32, [&](twin::block c) {
          const scope<on_host, 32> warp{0};
          EXPECT_EQ(sm90::cluster_rank(warp), c.cta);
          log.push_back(1);
          sm90::cluster_sync(warp);
          log.push_back(2);
        }));
    EXPECT_EQ(s.message(), "");
    EXPECT_EQ(log, (std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2}));
  }
}

}  // namespace
