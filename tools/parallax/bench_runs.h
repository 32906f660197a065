// The runs that `bench` times: warm-up, one caller or several, until a count, a time or Ctrl-C.
#pragma once

#include <vector>

#include "options/options.h"

namespace parallax::cli {

struct Timed {
  double first_run_ms = 0, cpu_ms_per_run = 0;
  double seconds = 0;      ///< wall-clock time of all timed runs together
  PlanTimes planning;      ///< part of the first run
  std::vector<double> ms;  ///< latency of each run, in order of their start
  bool interrupted = false;
  std::vector<RunTrace> traces;  ///< for --ops
};

/// How many combinations of values runs take in turn: run `i` takes the one of i modulo this.
std::size_t value_count(const SymbolValues& values);

/// A first run, the rest of the warm-up, the timed runs, then (for --ops) a few traced ones; each
/// caller warms up. After Ctrl-C it returns what there is, maybe no run at all. Inputs are made
/// outside the clock. Errors: of inputs and runs.
Result<Timed> time_runs(const Options& options, const Model& model, Session& session,
                        SymbolValues& values);

}  // namespace parallax::cli
