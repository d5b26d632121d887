#include <algorithm>
#include <benchmarks/gemm/case.hpp>

namespace bench {

const reference& one_case::expected() {
  if (!reference_) reference_.emplace(p);
  return *reference_;
}

void one_case::check(const launcher& launch, const std::string& name, epilogue e, accumulation how, const memory& d,
                     std::size_t step, element type, std::int64_t columns, std::int64_t pitch) {
  poison(d.at(), step);
  const stream s;
  launch(s, 0);
  s.wait();
  const double worst = expected().worst(e, how, d.at(), type, columns, pitch);
  if (!(worst <= 1))
    throw failure("wrong result: " + name + " is off by " + std::to_string(worst) + " times the bound");
}

launcher one_case::launcher_of(const kiln_side& side, bool with_workspace) {
  kiln_.push_back(side);
  const kiln_side& kept = kiln_.back();
  const std::size_t bytes = with_workspace ? workspace_bytes : 0;
  return [this, &kept, bytes](cudaStream_t s, int set) {
    if (!kept.runs[static_cast<std::size_t>(set)](s, bytes > 0 ? scratch_.at() : nullptr, bytes))
      throw failure("Kiln refused a launch");
  };
}

void one_case::describe(const kiln_side& side) {
  if (!label.empty()) return;
  label = side.schedule;
  if (side.cut) label += ", tiles cut along K";
  if (side.together > 1) label += ", " + std::to_string(side.together) + " blocks a tile";
}

void one_case::add_kiln(const std::string& name, const kiln_side& side, epilogue e, accumulation how) {
  if (!side.error.empty()) throw failure(name + ": " + side.error);
  const launcher l = launcher_of(side);
  check(l, name, e, how, p.d, p.d_step, p.out, p.n, p.ldd);
  add(name, l);
  describe(side);
  if (global_settings().whole_tiles && side.cut) add(name + "_whole_tiles", launcher_of(side, false));
}

bool one_case::add_lt(const std::string& name, const lt_settings& settings, accumulation how, bool first_too) {
  if (!lt_gemm::available()) return false;
  const std::int64_t columns = p.n * p.products;
  const bool own = settings.out != p.out || p.products != 1;
  const std::int64_t pitch = own ? columns : p.ldd;
  std::size_t step = p.d_step;
  if (own) {
    step = static_cast<std::size_t>(p.m * columns) * size_of(settings.out);
    outputs_.emplace_back(step * static_cast<std::size_t>(p.sets));
  }
  const memory& d = own ? outputs_.back() : p.d;
  lt_.emplace_back(p, settings, scratch_.at(), d.at(), step, pitch);
  const lt_gemm& lt = lt_.back();
  const stream s;
  std::vector<launcher> all;
  for (int i = 0; i < lt.size(); ++i) {
    if (!lt.launch(s, i, 0)) continue;
    if (cudaStreamSynchronize(s) != cudaSuccess) throw failure("cuBLASLt: an algorithm failed");
    all.push_back([&lt, i](cudaStream_t to, int set) {
      if (!lt.launch(to, i, set)) throw failure("cuBLASLt refused a launch");
    });
  }
  if (all.empty()) {
    lt_.pop_back();
    if (own) outputs_.pop_back();
    return false;
  }
  lt_algorithms_ = static_cast<int>(all.size());
  const auto check_one = [&](const launcher& one) {
    check(one, name, settings.row_wise_scales ? epilogue::scaled : epilogue::none, how, d, step, settings.out, columns,
          pitch);
  };
  const launcher first = all.front();
  // Some are beyond the bound of their types: for odd K, say. The fastest that is right competes.
  for (;; ++lt_wrong_) {
    const std::size_t best = fastest(all, p.sets, global_settings().timing);
    try {
      check_one(all[best]);
    } catch (const failure&) {
      if (all.size() == 1) throw;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(best));
      continue;
    }
    add(name, all[best]);
    if (first_too) check_one(first), add(name + "_first", first);
    return true;
  }
}

void one_case::add_lt_then_scale(const std::string& name) {
  const launcher product = launchers_[static_cast<std::size_t>(index_of("lt"))];
  const memory& sums = outputs_.back();
  const std::size_t step = sums.bytes() / static_cast<std::size_t>(p.sets);
  const launcher both = [this, product, &sums, step](cudaStream_t s, int set) {
    product(s, set);
    scale_int32(s, sums.at(step * static_cast<std::size_t>(set)), p, p.d_at(set));
  };
  check(both, name, epilogue::scaled, accumulation::float32, p.d, p.d_step, p.out, p.n, p.ldd);
  add(name, both);
}

int one_case::index_of(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  return at == names_.end() ? -1 : static_cast<int>(at - names_.begin());
}

timing one_case::run(benchmark::State& state) {
  reference_.reset();
  const timing t = measure(launchers_, p.sets, global_settings().timing);
  report(state, t, names_, p.sets);
  state.counters["Tops"] = p.operations() / t.microseconds[0] * 1e-6;
  state.counters["lt_algorithms"] = lt_algorithms_;
  if (lt_wrong_ > 0) state.counters["lt_wrong"] = lt_wrong_;
  state.SetLabel(label);
  return t;
}

}  // namespace bench
