#include "bench_runs.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "inputs/inputs.h"
#include "inputs/state.h"
#include "interrupt.h"
#include "parallax/planner.h"
#include "reports/report.h"

namespace parallax::cli {
namespace {

// So that samples of a long --duration fit memory.
constexpr std::size_t kMaxRuns = 10'000'000;
constexpr int kMaxTracedRuns = 10;

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// Runs of one phase, handed out to callers one after the other.
class Phase {
 public:
  // `more` says whether a run by that index shall begin; it is asked in order, by one thread at a
  // time.
  explicit Phase(std::function<bool(std::size_t)> more) : more_(std::move(more)) {}

  // Returns the index of the caller's next run; nullopt if the phase is over.
  std::optional<std::size_t> next() {
    const std::scoped_lock lock(mutex_);
    if (error_ || InterruptGuard::interrupted() || !more_(ms_.size())) return std::nullopt;
    ms_.push_back(0);
    return ms_.size() - 1;
  }
  void done(std::size_t run, const Result<double>& ms) {
    const std::scoped_lock lock(mutex_);
    if (ms)
      ms_[run] = *ms;
    else
      error_ = ms.error();
  }
  // REQUIRES: every caller has ended.
  Result<std::vector<double>> result() {
    if (error_) return tl::unexpected(*std::move(error_));
    return std::move(ms_);
  }

 private:
  const std::function<bool(std::size_t)> more_;
  std::mutex mutex_;
  std::vector<double> ms_;
  std::optional<Error> error_;
};

class Runner {
 public:
  // `inputs`: one for each combination of values.
  Runner(Session& session, std::span<const Inputs> inputs, int callers, bool reset_state)
      : session_(session), inputs_(inputs), callers_(callers), reset_state_(reset_state) {
    for (const Inputs& each : inputs) views_.push_back(each.views());
  }

  // If inputs are tied, each caller has a State for each combination.
  Status make_states(const Options& options, const Model& model) {
    states_.resize(static_cast<std::size_t>(callers_));
    for (auto& states : states_) {
      for (const Inputs& each : inputs_) {
        auto state = make_state(options, model, session_, each);
        if (!state) return tl::unexpected(state.error());
        states.push_back(*std::move(state));
      }
    }
    return {};
  }

  Result<double> run(std::size_t i, std::size_t caller = 0, RunTrace* trace = nullptr) {
    const std::size_t value = i % views_.size();
    std::optional<State>& state = states_[caller][value];
    if (state && reset_state_) {
      if (auto status = begin_state(*state, inputs_[value]); !status)
        return tl::unexpected(status.error());
    }
    RunOptions options = run_options(state, false);
    options.trace = trace;
    const std::int64_t start = now_ns();
    auto outputs = session_.run_objects(views_[value], options);
    const std::int64_t end = now_ns();
    if (!outputs) return tl::unexpected(outputs.error());
    return static_cast<double>(end - start) * 1e-6;
  }

  // Milliseconds of each run of a phase by all callers, this thread one of them. The phase's runs
  // take the values from that of run `first` on.
  Result<std::vector<double>> run_all(std::size_t first, std::function<bool(std::size_t)> more) {
    Phase phase(std::move(more));
    const auto call = [&](std::size_t caller) {
      while (const auto i = phase.next()) phase.done(*i, run(first + *i, caller));
    };
    {
      std::vector<std::jthread> others;
      others.reserve(static_cast<std::size_t>(callers_ - 1));
      for (int i = 1; i < callers_; ++i) others.emplace_back(call, static_cast<std::size_t>(i));
      call(0);
    }
    return phase.result();
  }

 private:
  Session& session_;
  const std::span<const Inputs> inputs_;
  std::vector<std::vector<NamedInput>> views_;
  const int callers_;
  const bool reset_state_;
  std::vector<std::vector<std::optional<State>>> states_;  // indexed by caller and combination
};

// Milliseconds of the timed runs, with a bar that shows how far they are.
Result<std::vector<double>> timed_runs(const Options& options, std::size_t values, Runner& runner) {
  if (options.duration == 0) {
    const std::size_t runs = std::max(static_cast<std::size_t>(options.runs), values);
    Progress progress("bench", runs);
    return runner.run_all(0, [&](std::size_t i) {
      progress.at(i);
      return i < runs;
    });
  }
  Progress progress("bench, seconds", static_cast<std::size_t>(std::ceil(options.duration)));
  const std::int64_t start = now_ns();
  return runner.run_all(0, [&](std::size_t i) {
    const double passed = static_cast<double>(now_ns() - start) * 1e-9;
    progress.at(static_cast<std::size_t>(passed));
    return i < values || (passed < options.duration && i < kMaxRuns);
  });
}

// A first run of each value plans, and a first run of each caller makes its arena.
std::size_t warmup_runs(const Options& options, std::size_t values) {
  if (options.warmup == 0) return 1;
  return std::max(static_cast<std::size_t>(options.warmup), values) *
         static_cast<std::size_t>(options.concurrency);
}

Result<std::vector<Inputs>> all_inputs(const Options& options, const Model& model,
                                       const Session& session, SymbolValues& values) {
  std::vector<Inputs> inputs;
  const std::size_t count = value_count(values);
  for (std::size_t i = 0; i < count; ++i) {
    auto made = make_inputs(options, model, session, values, i);
    if (!made) return tl::unexpected(made.error());
    inputs.push_back(std::move(*made));
  }
  return inputs;
}

}  // namespace

std::size_t value_count(const SymbolValues& values) {
  std::size_t count = 1;
  for (const auto& [name, list] : values) count = std::max(count, list.size());
  return count;
}

Result<Timed> time_runs(const Options& options, const Model& model, Session& session,
                        SymbolValues& values) {
  auto inputs = all_inputs(options, model, session, values);
  if (!inputs) return tl::unexpected(inputs.error());
  Runner runner(session, *inputs, options.concurrency, options.reset_state);
  if (auto status = runner.make_states(options, model); !status)
    return tl::unexpected(status.error());
  const InterruptGuard guard;
  Timed timed;
  auto first = runner.run(0);
  if (!first) return tl::unexpected(first.error());
  timed.first_run_ms = *first;
  timed.planning = Planner(session).times();
  {
    const std::size_t runs = warmup_runs(options, inputs->size());
    Progress progress("warm-up", runs);
    auto warm = runner.run_all(1, [&](std::size_t i) {
      progress.at(1 + i);
      return 1 + i < runs;
    });
    if (!warm) return tl::unexpected(warm.error());
  }
  const double cpu = cpu_ms();
  const std::int64_t start = now_ns();
  auto ms = timed_runs(options, inputs->size(), runner);
  if (!ms) return tl::unexpected(ms.error());
  timed.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  timed.interrupted = InterruptGuard::interrupted();
  timed.ms = *std::move(ms);
  if (timed.ms.empty()) return timed;
  timed.cpu_ms_per_run = (cpu_ms() - cpu) / static_cast<double>(timed.ms.size());
  const int traced_runs = options.ops ? std::min(options.runs, kMaxTracedRuns) : 1;
  for (int i = 0; (options.ops || !options.trace.empty()) && i < traced_runs; ++i) {
    timed.traces.emplace_back();
    if (auto traced = runner.run(0, 0, &timed.traces.back()); !traced)
      return tl::unexpected(traced.error());
  }
  return timed;
}

}  // namespace parallax::cli
