#include <algorithm>
#include <benchmarks/measure/memory_case.hpp>
#include <kiln/core/trace.hpp>

namespace bench {

namespace {

/// What the launches of a call were, while this lives.
class observer {
 public:
  observer() : sink_{&observer::finished, this}, before_(kiln::trace::set_sink(&sink_)) {}
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  ~observer() { (void)kiln::trace::set_sink(before_); }
  const std::string& label() const { return label_; }

 private:
  static void finished(void* self, const kiln::trace::launch_record& r) {
    std::string& label = static_cast<observer*>(self)->label_;
    label += (label.empty() ? "" : "; ") + std::string(r.schedule);
  }

  std::string label_;
  kiln::trace::sink sink_;
  const kiln::trace::sink* before_;
};

}  // namespace

void memory_case::first(launcher l) {
  if (!names_.empty()) throw failure("a case times Kiln once, as its first contender");
  for (const output_data& o : outputs_) poison(o.data, o.step);
  need(cudaDeviceSynchronize(), "fill");
  {
    const observer seen;
    const stream s;
    l(s, 0);
    s.wait();
    label_ = seen.label();
  }
  for (const output_data& o : outputs_) {
    if (o.type == element::int8 || o.type == element::int32) continue;  // -1 is a result like others
    if (const auto left = count_poison(o.data, o.type, o.count); left > 0)
      throw failure("wrong result: " + std::to_string(left) + " elements of an output were not written, or are NaN");
  }
  add("kiln", std::move(l));
}

void memory_case::hold(const char* what, std::int64_t begin, const std::vector<double>& got,
                       const std::vector<double>& want, const std::vector<double>& bound, double relative,
                       double absolute) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double allowed = bound[i] + relative * (std::fabs(want[i]) + bound[i]) + absolute;
    if (!(std::fabs(got[i] - want[i]) <= allowed))
      throw failure("wrong result: element " + std::to_string(begin + static_cast<std::int64_t>(i)) + " of " + what +
                    " is " + std::to_string(got[i]) + ", " + std::to_string(want[i]) + " was expected, within " +
                    std::to_string(allowed));
  }
}

timing memory_case::run(benchmark::State& state, const timing_options& options) {
  const timing t = measure(launchers_, sets_, options);
  report(state, t, names_, sets_);
  state.counters["bytes"] = bytes_;
  state.counters["GBps"] = bytes_ / t.microseconds[0] * 1e-3;
  state.SetLabel(label_);
  return t;
}

timing memory_case::run_beside_copy(benchmark::State& state) {
  const copy_of_equal_bytes copy(bytes_, sets_);
  names_.insert(names_.begin() + 1, "copy"), launchers_.insert(launchers_.begin() + 1, copy.launch());
  const timing t = run(state, global_settings().timing);
  state.counters["copy_GBps"] = bytes_ / t.microseconds[1] * 1e-3;
  return t;
}

timing memory_case::run_beside_nothing(benchmark::State& state) {
  names_.insert(names_.begin() + 1, "empty");
  launchers_.insert(launchers_.begin() + 1, [](cudaStream_t s, int) { launch_nothing(s); });
  timing_options options = global_settings().timing;
  options.graph_launches = 512;
  const timing t = run(state, options);
  state.counters["over_empty_us"] = t.microseconds[0] - t.microseconds[1];
  return t;
}

std::vector<std::int64_t> some_rows(std::int64_t count) {
  std::vector<std::int64_t> rows = {0, 1, count / 3, count / 2 + 1, count - count / 5, count - 2, count - 1};
  for (std::int64_t& r : rows) r = std::clamp<std::int64_t>(r, 0, count - 1);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace bench
