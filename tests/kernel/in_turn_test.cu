// Kernels that begin while the one before them ends (kernel/launch.hpp): each waits for what that one writes, in a
// stream and in a captured graph, behind kernels, copies and other streams. All of it is the device's.
#if defined(__CUDACC__)
#include <functional>
#include <kiln/attention.hpp>
#include <kiln/calibrate.hpp>
#include <kiln/copy.hpp>
#include <kiln/gemm.hpp>
#include <kiln/gemm_grouped.hpp>
#include <kiln/map_reduce.hpp>
#include <kiln/norm.hpp>
#include <kiln/quantise.hpp>
#include <kiln/reduce.hpp>
#include <kiln/softmax.hpp>
#include <kiln/transform.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/memory.hpp"

namespace kiln::test {
namespace {

constexpr int readers = 1024;  ///< blocks: each multiprocessor has some

/// Lets the next kernel begin at once, has every multiprocessor read, so that its first-level cache holds what was
/// there, and writes much later.
template <class T>
__global__ void write_late(T* to, int count, T value, unsigned* sink, unsigned long long* end) {
  sm90::launch_dependents();
  unsigned seen = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count * static_cast<int>(sizeof(T)) / 4; i += 256) {
    unsigned word;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(word) : "l"(reinterpret_cast<const unsigned*>(to) + i) : "memory");
    seen += word;
  }
  sink[blockIdx.x] = seen;
  if (blockIdx.x > 0) return;
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256) to[i] = value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*end));
}

/// When it began, and when it went on.
__global__ void look_at_the_time(unsigned long long* out) {
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[0]));
  sm90::begin_in_turn();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out[1]));
}

struct add_one {
  KILN_FN float operator()(float x) const { return x + 1; }
};
struct plus {
  KILN_FN float operator()(float a, float b) const { return a + b; }
};
struct as_it_is {
  KILN_FN float operator()(float x) const { return x; }
};

class device_turns : public on_executor<device> {
 protected:
  static constexpr index_t rows = 64, columns = 256;
  cudaStream_t stream = nullptr;  // in the default stream nothing overlaps

  void SetUp() override {
    on_executor<device>::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    sink_ = &make<unsigned>(readers);
    end_ = &make<unsigned long long>(1);
  }
  void TearDown() override {
    on_executor<device>::TearDown();
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
  }

  /// `call(x)` reads x, all of which is 2 by then, and writes `out`, all of which is `want` then.
  template <class T, class Y, class Call>
  void expect_waits(const char* what, index_t m, index_t n, guarded_output<Y, device_space>& out, double want,
                    Call call) {
    SCOPED_TRACE(what);
    auto& x = this->template output<T>(static_cast<std::size_t>(m * n), prefill::x55);
    const auto view = device_view(static_cast<const T*>(x.data()), m, n);
    ASSERT_TRUE(call(view).ok());  // so that the next call has nothing to load
    late(x.data(), m * n, static_cast<T>(2.0f), stream);
    const status s = call(view);
    ASSERT_TRUE(s.ok()) << s.message();
    const auto seen = out.values();
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(static_cast<double>(seen[i]), want) << i;
  }
  template <class T>
  void late(T* to, index_t count, T value, cudaStream_t in) {
    write_late<T><<<readers, 256, 0, in>>>(to, static_cast<int>(count), value, sink_->data(), end_->data());
  }
  template <class T>
  guarded_output<T, device_space>& make(index_t count) {
    return this->template output<T>(static_cast<std::size_t>(count), prefill::x55);
  }

  guarded_output<unsigned, device_space>* sink_ = nullptr;
  guarded_output<unsigned long long, device_space>* end_ = nullptr;  ///< when the last `late` had written
};

/// What `launch` is to do, by the runtime's own call.
cudaError_t launch_dependent(cudaStream_t stream, unsigned long long* out) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t c{};
  c.gridDim = 1, c.blockDim = 32, c.stream = stream, c.attrs = &early, c.numAttrs = 1;
  return cudaLaunchKernelEx(&c, look_at_the_time, out);
}

TEST_F(device_turns, begin_before_the_kernel_before_them_ends) {
  if (!runs_hopper_code(look_at_the_time)) GTEST_SKIP() << "the GPU runs code without dependent launches";
  auto& x = make<float>(columns);
  auto& times = make<unsigned long long>(2);
  const auto begins_early = [&](auto&& launch_it) {
    for (int turn = 0; turn < 2; ++turn) {  // the first one loads the kernels
      late(x.data(), columns, 2.0f, stream);
      launch_it();
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    }
    return times.values()[0] < end_->values()[0];
  };
  if (!begins_early([&] { EXPECT_EQ(launch_dependent(stream, times.data()), cudaSuccess); }))
    GTEST_SKIP() << "kernels do not overlap here: a tool that watches them holds them apart";
  EXPECT_TRUE(begins_early([&] {
    const status s =
        launch(device(stream), "time", look_at_the_time, {.block = 32, .overlaps_previous = true}, times.data());
    EXPECT_TRUE(s.ok()) << s.message();
  }));
  EXPECT_GE(times.values()[1], end_->values()[0]);
}

TEST_F(device_turns, elements_and_blocks_of_elements) {
  auto& y = make<float>(rows * columns);
  expect_waits<float>("transform", rows, columns, y, 3, [&](const auto& x) {
    return transform(device(stream), x, device_view(y.data(), rows, columns), add_one{});
  });
  auto& t = make<float>(rows * columns);
  expect_waits<float>("transposition", rows, columns, t, 2, [&](const auto& x) {
    return copy(device(stream), transposed(x), device_view(t.data(), columns, rows));
  });
  auto& sum = make<float>(1);
  auto& scratch = make<float>(1 << 14);
  expect_waits<float>("reduce", rows * columns, 1, sum, 2.0 * rows * columns, [&](const auto& x) {
    return reduce(device(stream, {scratch.data(), sizeof(float) << 14}), x, device_view(sum.data(), 1), 0.0f,
                  as_it_is{}, plus{});
  });
}

TEST_F(device_turns, rows) {
  for (const index_t n : {index_t{128}, columns, index_t{4096}, index_t{65536}}) {
    auto& y = make<float>(4 * n);
    expect_waits<float>("softmax", 4, n, y, 1.0 / static_cast<double>(n),
                        [&](const auto& x) { return softmax(device(stream), x, device_view(y.data(), 4, n)); });
  }
  auto& sums = make<float>(rows);
  expect_waits<f16>("sums of rows", rows, columns, sums, 2.0 * columns, [&](const auto& x) {
    return row_reduce<reduction::sum>(device(stream), x, device_view(sums.data(), rows));
  });
  // The weight is read as what nobody writes.
  for (const index_t m : {index_t{4}, index_t{4096}}) {
    const auto ones = device_view(this->input(std::vector<bf16>(m * 4096, bf16(1.0f))).data(), m, 4096);
    auto& y = make<bf16>(m * 4096);
    expect_waits<bf16>("norm", 1, 4096, y, 2, [&](const auto& weight) {
      return rms_norm(device(stream), ones, pick<0>(weight, 0), device_view(y.data(), m, 4096), 0.0f);
    });
  }
  auto &low = make<float>(columns), &high = make<float>(columns);
  auto& ignored = make<std::int64_t>(columns);
  const auto ranges = per_column_ranges(device_view(low.data(), columns), device_view(high.data(), columns),
                                        device_view(ignored.data(), columns));
  expect_waits<float>("ranges of columns", rows, columns, high, 2, [&](const auto& x) {
    const status s = forget(device(stream), ranges);
    return s.ok() ? observe(device(stream), x, ranges) : s;
  });
  auto& of_columns = make<float>(columns);
  expect_waits<float>("sums of columns", rows, columns, of_columns, 2.0 * rows, [&](const auto& x) {
    return column_reduce<reduction::sum>(device(stream), x, device_view(of_columns.data(), columns));
  });
  auto& few = make<float>(4);
  auto& scratch = make<float>(1 << 12);
  expect_waits<float>("sums of few columns", 16384, 4, few, 2.0 * 16384, [&](const auto& x) {
    return column_reduce<reduction::sum>(device(stream, {scratch.data(), sizeof(float) << 12}), x,
                                         device_view(few.data(), 4));
  });
  auto& codes = make<std::int8_t>(rows * columns);
  auto& scale = make<float>(1);
  expect_waits<float>("quantise", rows, columns, codes, 127, [&](const auto& x) {
    return quantise(device(stream), x, device_view(codes.data(), rows, columns),
                    per_tensor_scale(device_view(scale.data(), 1)));
  });
}

TEST_F(device_turns, products) {
  const auto b = device_view(this->input(std::vector<f16>(columns * columns, f16(0.5f))).data(), columns, columns);
  const auto product = [&]<class Config>(const char* name, Config) {
    auto& d = make<float>(rows * columns);
    expect_waits<f16>(name, rows, columns, d, columns, [&](const auto& x) {
      return gemm<Config>(device(stream), x, transposed(b), store(device_view(d.data(), rows, columns), acc));
    });
  };
  product("chosen", automatic{});
  product("ring", config<tile<64, 64, 64>, warp_tile<32, 32>, stages<3>, multistage, instructions::sm80>{});
  product("scalar", config<tile<32, 64, 64>, warp_tile<16, 32>, stages<2>, multistage, instructions::simt>{});

  auto& sums = make<float>(rows);
  expect_waits<f16>("sums of rows", rows, columns, sums, static_cast<double>(columns) * columns, [&](const auto& x) {
    const auto plan = plan_gemm(x, transposed(b), reduce_rows<reduction::sum>(device_view(sums.data(), rows), acc));
    auto& scratch = make<unsigned char>(static_cast<index_t>(plan.workspace_size()));
    return plan.run(device(stream, {scratch.data(), plan.workspace_size()}));
  });
  auto& listed = make<float>(rows * columns);
  expect_waits<f16>("list", rows, columns, listed, columns, [&](const auto& x) {
    const auto plan = plan_gemm_grouped(
        std::vector{gemm_problem(x, transposed(b), store(device_view(listed.data(), rows, columns), acc))});
    auto& scratch = make<unsigned char>(static_cast<index_t>(plan.workspace_size()));
    return plan.run(device(stream, {scratch.data(), plan.workspace_size()}));
  });
}

TEST_F(device_turns, attention) {
  constexpr index_t length = 32, width = 64;
  const auto q = device_view(this->input(std::vector<f16>(length * width, f16(1.0f))).data(), 1, 1, length, width);
  auto& out = make<f16>(length * width);
  expect_waits<f16>("attention", length, width, out, 2, [&](const auto& x) {
    const auto values = device_view(x.data, 1, 1, length, width);
    return kiln::attention(device(stream), q, q, values, device_view(out.data(), 1, 1, length, width),
                           {.mask = causal::none});
  });
}

// A captured launch has an edge to what came before it, which may be no kernel, or in another stream.
TEST_F(device_turns, in_a_graph_behind_copies_and_other_streams) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&join), cudaSuccess);
  const auto& threes = this->input(std::vector<float>(columns, 3.0f));
  auto &x = make<float>(columns), &y = make<float>(columns), &sums = make<float>(5);
  const auto sum_of = [&](const float* from, index_t i, cudaStream_t s) {
    return row_reduce<reduction::sum>(device(s), device_view(from, 1, columns), device_view(sums.data() + i, 1));
  };
  const auto bytes = static_cast<std::size_t>(columns) * sizeof(float);
  std::vector<status> all;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  all.push_back(sum_of(threes.data(), 0, stream));  // behind nothing
  EXPECT_EQ(cudaMemsetAsync(x.data(), 0, bytes, stream), cudaSuccess);
  all.push_back(sum_of(x.data(), 1, stream));
  EXPECT_EQ(cudaMemcpyAsync(x.data(), threes.data(), bytes, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  all.push_back(sum_of(x.data(), 2, stream));
  EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, fork), cudaSuccess);
  late(y.data(), columns, 5.0f, other);
  EXPECT_EQ(cudaEventRecord(join, other), cudaSuccess);
  late(x.data(), columns, 7.0f, stream);
  EXPECT_EQ(cudaStreamWaitEvent(stream, join), cudaSuccess);
  all.push_back(sum_of(y.data(), 3, stream));  // behind two kernels
  all.push_back(sum_of(x.data(), 4, stream));
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  for (const status& s : all) EXPECT_TRUE(s.ok()) << s.message();
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const auto seen = sums.values();
    const double want[] = {3, 0, 3, 5, 7};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i], want[i] * columns) << i;
  }
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);
  (void)cudaEventDestroy(fork);
  (void)cudaEventDestroy(join);
  (void)cudaStreamDestroy(other);
}

}  // namespace
}  // namespace kiln::test
#endif
