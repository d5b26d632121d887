#include <algorithm>
#include <benchmarks/measure/timing.hpp>
#include <cmath>
#include <memory>

namespace bench {

namespace {

constexpr int warm_ups = 3;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : 0.5 * (v[half - 1] + v[half]);
}

class replay {
 public:
  replay(cudaStream_t s, const launcher& launch, int sets, int launches) {
    cudaGraph_t graph = nullptr;
    need(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < launches; ++i) launch(s, i % sets);
    need(cudaStreamEndCapture(s, &graph), "cudaStreamEndCapture");
    const cudaError_t e = cudaGraphInstantiate(&handle_, graph, 0);
    (void)cudaGraphDestroy(graph);
    need(e, "cudaGraphInstantiate");
  }
  replay(const replay&) = delete;
  replay& operator=(const replay&) = delete;
  ~replay() { (void)cudaGraphExecDestroy(handle_); }
  void launch(cudaStream_t s) const { need(cudaGraphLaunch(handle_, s), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

double time_once(const stream& s, const launcher& launch, int sets, int launches) {
  const event begin, end;
  begin.record(s);
  for (int i = 0; i < launches; ++i) launch(s, i % sets);
  end.record(s);
  s.wait();
  return end.microseconds_since(begin) / launches;
}

/// Warmed up, from a few launches.
double estimate(const stream& s, const launcher& launch, int sets) {
  for (int i = 0; i < warm_ups; ++i) launch(s, i % sets);
  const double first = time_once(s, launch, sets, 2);
  return first > 1000 ? first : time_once(s, launch, sets, 8);
}

}  // namespace

timing measure(const std::vector<launcher>& contenders, int sets, const timing_options& options) {
  const stream s;
  timing result;
  result.before = read_gpu();
  std::vector<double> about;
  for (const launcher& c : contenders) about.push_back(estimate(s, c, sets));
  result.graphs = *std::min_element(about.begin(), about.end()) < options.graph_below_us;

  // A graph visits every copy equally often, and with them more bytes than the L2 holds. It has few launches where the
  // slowest contender would take long for many.
  constexpr int least = 20;
  const double slowest = *std::max_element(about.begin(), about.end());
  const int wanted = std::clamp(static_cast<int>(2e3 * options.round_ms / slowest), least, options.graph_launches);
  const int launches = (wanted + sets - 1) / sets * sets;
  std::vector<std::unique_ptr<replay>> replays;
  if (result.graphs)
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      replays.push_back(std::make_unique<replay>(s, contenders[c], sets, launches));
      const replay& r = *replays.back();
      r.launch(s);
      about[c] = time_once(s, [&r](cudaStream_t to, int) { r.launch(to); }, 1, 2) / launches;
    }

  const int per_unit = result.graphs ? launches : 1;
  std::vector<int> units;
  for (double us : about)
    units.push_back(std::max(1, static_cast<int>(std::lround(1e3 * options.round_ms / (us * per_unit)))));
  std::vector<event> marks(static_cast<std::size_t>(options.rounds) * contenders.size() + 1);
  std::vector<int> set(contenders.size(), 0);
  marks[0].record(s);
  for (std::size_t round = 0, mark = 1; round < static_cast<std::size_t>(options.rounds); ++round) {
    for (std::size_t c = 0; c < contenders.size(); ++c, ++mark) {
      for (int i = 0; i < units[c]; ++i) {
        if (result.graphs)
          replays[c]->launch(s);
        else
          contenders[c](s, set[c]), set[c] = (set[c] + 1) % sets;
      }
      marks[mark].record(s);
    }
  }
  marks[marks.size() / 2].wait();
  result.during = read_gpu();  // the second half of the rounds is under way
  s.wait();
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    std::vector<double> us;
    for (std::size_t at = c + 1; at < marks.size(); at += contenders.size())
      us.push_back(marks[at].microseconds_since(marks[at - 1]) / (units[c] * per_unit));
    result.microseconds.push_back(median(us));
  }
  return result;
}

std::size_t fastest(const std::vector<launcher>& contenders, int sets, const timing_options& options) {
  if (contenders.size() == 1) return 0;
  const stream s;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const double about = estimate(s, contenders[c], sets);
    const int launches = std::clamp(static_cast<int>(1e3 * options.round_ms / about / 2), 2, 200);
    order.emplace_back(about > 5000 ? about : time_once(s, contenders[c], sets, launches), c);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min<std::size_t>(order.size(), 4));
  std::vector<launcher> best;
  for (const auto& o : order) best.push_back(contenders[o.second]);
  timing_options brief = options;
  brief.rounds = 3, brief.round_ms = options.round_ms / 2;
  const timing t = measure(best, sets, brief);
  const auto least = std::min_element(t.microseconds.begin(), t.microseconds.end());
  return order[static_cast<std::size_t>(least - t.microseconds.begin())].second;
}

}  // namespace bench
