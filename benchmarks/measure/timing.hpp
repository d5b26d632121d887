#pragma once
/// Interleaved timing: A B A B ..., so that all contenders meet the same clocks while the card throttles.
#include <benchmarks/measure/clocks.hpp>
#include <benchmarks/measure/device_memory.hpp>
#include <functional>
#include <vector>

namespace bench {

/// Launches the work once, on copy `set` of the operands.
using launcher = std::function<void(cudaStream_t, int set)>;

struct timing_options {
  int rounds = 7;
  double round_ms = 5;         ///< work of one contender in one round
  double graph_below_us = 50;  ///< shorter ones are replayed from a graph
  int graph_launches = 20;     ///< in a graph; fewer, but 20, where they would take long
};

struct timing {
  std::vector<double> microseconds;  ///< the median over the rounds, for each contender
  bool graphs = false;
  gpu_reading before, during;
};

timing measure(const std::vector<launcher>& contenders, int sets, const timing_options& options);

/// The contender that takes least: all are timed shortly, the best four again, interleaved.
std::size_t fastest(const std::vector<launcher>& contenders, int sets, const timing_options& options);

}  // namespace bench
