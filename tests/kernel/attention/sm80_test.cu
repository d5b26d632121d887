// The tensor-core program in small configurations: its host twin needs no GPU, and a watched run sees every barrier
// that is missing.
#include "tests/kernel/attention/problem.hpp"

namespace kiln::test {
namespace {

template <int Rows, int Keys, int Dim, int Slots = 2>
using sm80_config = attention_config<tile<Rows, Keys, Dim>, stages<Slots>, instructions::sm80>;
template <int Rows, int Dim>
using simt_config = attention_config<tile<Rows, 32, Dim>, stages<1>, instructions::simt>;

KILN_ON_EXECUTORS(attention_sm80);

template <class E>
auto watched(const E& ex) {
  if constexpr (E::on_host) return ex.with_checks();
  else return ex;
}

template <class Config, class T, class Fixture>
void check(Fixture& test, const attention_problem& p, std::uint64_t seed, placed how = placed::packed) {
  using E = decltype(test.executor());
  SCOPED_TRACE(::testing::Message() << "queries " << p.queries << ", keys " << p.keys << ", placed "
                                    << static_cast<int>(how));
  const auto x = hashed_operands<T>(p, seed);
  const auto r = attend<Config, T>(test, watched(test.executor()), p, x, how);
  expect_within(p, r, reference_of<T, T>(p, x, weight_rounding<T, E, Config>()));
}

TYPED_TEST(attention_sm80, one_warp) {
  check<sm80_config<16, 16, 32>, f16>(*this,
                                      {.batch = 2,
                                       .queries = 3,
                                       .keys = 37,
                                       .heads = 10,
                                       .kv_heads = 2,
                                       .dim = 32,
                                       .value_dim = 32,
                                       .mask = causal::bottom_right,
                                       .key_lengths = {37, 5}},
                                      1);
  check<sm80_config<16, 16, 32>, bf16>(
      *this,
      {.queries = 19, .keys = 33, .heads = 2, .kv_heads = 1, .dim = 24, .value_dim = 17, .mask = causal::top_left}, 2,
      placed::padded);
}
TYPED_TEST(attention_sm80, two_warps_and_a_ring_of_three) {
  check<sm80_config<32, 32, 64, 3>, f16>(
      *this,
      {.queries = 40, .keys = 140, .heads = 2, .kv_heads = 2, .dim = 64, .value_dim = 40, .mask = causal::bottom_right},
      3);
  check<sm80_config<32, 32, 64, 3>, bf16>(
      *this, {.queries = 7, .keys = 33, .heads = 12, .kv_heads = 2, .dim = 46, .value_dim = 64}, 4, placed::misaligned);
}
TYPED_TEST(attention_sm80, queries_that_are_read_again_each_step) {
  check<sm80_config<16, 16, 144>, bf16>(*this,
                                        {.queries = 2,
                                         .keys = 35,
                                         .heads = 10,
                                         .kv_heads = 2,
                                         .dim = 130,
                                         .value_dim = 144,
                                         .mask = causal::bottom_right},
                                        5);
}
TYPED_TEST(attention_sm80, the_default_configurations) {
  check<sm80_config<64, 64, 64>, f16>(
      *this,
      {.queries = 33, .keys = 65, .heads = 2, .kv_heads = 1, .dim = 64, .value_dim = 64, .mask = causal::bottom_right},
      6);
  check<sm80_config<64, 64, 128>, f16>(*this,
                                       {.queries = 1,
                                        .keys = 65,
                                        .heads = 16,
                                        .kv_heads = 1,
                                        .dim = 128,
                                        .value_dim = 128,
                                        .mask = causal::bottom_right},
                                       7);
  check<sm80_config<64, 32, 256>, f16>(
      *this,
      {.queries = 2, .keys = 40, .heads = 9, .kv_heads = 1, .dim = 200, .value_dim = 256, .mask = causal::bottom_right},
      8);
}
TYPED_TEST(attention_sm80, scalar_programs_beside_it) {
  check<simt_config<16, 64>, bf16>(*this,
                                   {.batch = 2,
                                    .queries = 9,
                                    .keys = 70,
                                    .heads = 6,
                                    .kv_heads = 2,
                                    .dim = 46,
                                    .value_dim = 33,
                                    .mask = causal::bottom_right,
                                    .query_lengths = {9, 4}},
                                   9);
  check<simt_config<8, 32>, float>(
      *this,
      {.queries = 9, .keys = 40, .heads = 2, .kv_heads = 2, .dim = 31, .value_dim = 32, .mask = causal::top_left}, 10,
      placed::spread);
}

// ATT-07 in the tensor-core program: 0 * V is not 0 for a V that is not finite.
TYPED_TEST(attention_sm80, values_that_are_not_finite_reach_only_who_sees_them) {
  const attention_problem p{.queries = 20, .keys = 20, .dim = 32, .value_dim = 32, .mask = causal::top_left};
  for (double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)})
    for (index_t j : {0, 7, 15, 16, 19}) {
      auto x = filled<f16>(p, 0, 1, 1);
      x.v[p.v_at(0, j, 0, 9)] = value_of<f16>(bad);
      const auto r = attend<sm80_config<32, 16, 32>, float>(*this, watched(this->executor()), p, x);
      for (index_t i = 0; i < 20; ++i)
        for (index_t c = 0; c < 32; ++c) {
          const double y = r.out[p.out_at(0, i, 0, c)];
          // Ones weighed by up to 20 equal weights, rounded to f16.
          const bool right = i < j || c != 9   ? std::abs(y - 1) <= 0x1p-11 + 20 * 0x1p-23
                             : std::isnan(bad) ? std::isnan(y)
                                               : y == bad;
          EXPECT_TRUE(right) << i << ", " << c << ": " << y;
        }
    }
}

// How many rows a block has does not show in the bits, nor does the ring.
TYPED_TEST(attention_sm80, bits_depend_on_the_keys_of_a_step_alone) {
  const attention_problem p{
      .queries = 21, .keys = 70, .heads = 4, .kv_heads = 2, .dim = 48, .value_dim = 48, .mask = causal::bottom_right};
  const auto x = hashed_operands<bf16>(p, 21);
  const auto expected = attend<sm80_config<16, 32, 48>, float>(*this, this->executor(), p, x).out;
  EXPECT_EQ((attend<sm80_config<48, 32, 48, 3>, float>(*this, this->executor(), p, x).out), expected);
  EXPECT_EQ((attend<sm80_config<32, 32, 64>, float>(*this, this->executor(), p, x).out), expected);
}

/// A watched run of the program under a schedule that leaves out the barrier behind the loads, or that behind the
/// products.
template <class Config, class T>
status without_a_barrier(bool after_load, bool after_compute) {
  using arguments = attn::arguments<T, float, host_space>;
  using program = attn::program<arguments, Config>;
  struct storage {
    typename program::resident resident;
    typename program::slot slot;
    storage() = delete;
  };
  std::vector<T> operand(40 * 32, value_of<T>(1));
  std::vector<float> out(40 * 32);
  arguments p{};
  p.q = p.k = p.v = host_view(static_cast<const T*>(operand.data()), 1, 40, 1, 32);
  p.out = host_view(out.data(), 1, 40, 1, 32);
  p.mask = causal::none, p.scale = 1, p.head_dim = p.value_dim = 32, p.group = 1, p.row_tiles = 1;
  p.q_vectors = p.k_vectors = p.v_vectors = attn::has_vector_lines(p.q);

  const block_scope<on_host, program::threads> block;
  twin::checked_block watch(sizeof(storage), program::threads);
  auto& memory = *reinterpret_cast<storage*>(watch.shared());
  const auto t = attn::tile_at(p, 0, Config::rows);
  typename program::template state<block_scope<on_host, program::threads>> state;
  program::load_resident(block, p, t, memory.resident);
  for (int step = 0; step < program::steps(p, t); ++step) {
    program::load(block, p, t, step, memory.slot);
    sm80::cp_async_commit(block), sm80::cp_async_wait<0>(block);
    if (after_load) sync(block);
    if (step == 0) program::begin(block, p, t, memory.resident, state);
    program::compute(block, p, t, step, memory.resident, memory.slot, state);
    if (after_compute) sync(block);
  }
  program::finish(block, p, t, state);
  (void)twin::drop_copies();
  return watch.result();
}
TEST(AttentionOnTheHost, AMissingBarrierIsReported) {
  const auto look = [](auto run) {
    EXPECT_TRUE(run(true, true).ok()) << run(true, true).message();
    EXPECT_EQ(run(false, true).code(), errc::protocol);
    EXPECT_EQ(run(true, false).code(), errc::protocol);
  };
  look(without_a_barrier<sm80_config<32, 16, 32>, f16>);
  look(without_a_barrier<simt_config<16, 32>, float>);
}

}  // namespace
}  // namespace kiln::test
