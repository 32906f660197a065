#include "rates/measure.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "rates/probe_run.h"

namespace parallax {
namespace {

using Clock = std::chrono::steady_clock;

/// Shorter times than this cannot be measured.
constexpr double kMinSeconds = 1e-7;
/// Dims of an empty region: its time is the launch overhead.
constexpr std::string_view kNoWork = "64";

std::int64_t boundary_bytes(const SurroundedProbe& probe) {
  std::int64_t bytes = 0;
  for (const Value& value : probe.graph.values) {
    if (value.name != "x" && value.name != "y") continue;
    Dims dims;
    for (const Expr& dim : value.shape) dims.push_back(dim.constant().value_or(0));
    bytes += bytes_of(value.dtype, dims).value_or(0);
  }
  return bytes;
}

bool is_short(const Error& error) { return error.code == ErrorCode::kBudgetExceeded; }

class Measurement {
 public:
  Measurement(std::shared_ptr<const OpenDelegate> delegate, const Measuring& measuring)
      : delegate_(std::move(delegate)),
        threads_(measuring.threads),
        known_(*measuring.known),
        memory_(measuring.memory),
        pool_(threads_) {}

  /// Measures the time of a region that computes almost nothing, i.e. the launch; then the rate of
  /// copies.
  Status find_launch() {
    for (const Probe& probe : all_probes()) {
      if (probe.kind != WorkKind::kElementwise || !probe.large) continue;
      Probe tiny = probe;
      tiny.dims = kNoWork;
      PX_ASSIGN(SurroundedProbe small, surrounded_probe(tiny, delegate_->description()));
      if (!small.runs) continue;
      PX_ASSIGN(ProbeRun alone, ProbeRun::on_cpu(small.graph, threads_, memory_));
      PX_ASSIGN(const ProbeTimes without, time(alone));
      PX_ASSIGN(const ProbeTimes with, time_region(std::move(small)));
      empty_region_ = with.region;
      known_.launch_seconds = std::max({with.whole - without.whole, with.region, kMinSeconds});
      return find_bandwidth(probe);
    }
    return {};
  }

  /// Measures a probe; nullopt if the delegate does not run it.
  Result<std::optional<WorkSample>> sample(const Probe& probe) {
    PX_ASSIGN(SurroundedProbe surrounded, surrounded_probe(probe, delegate_->description()));
    if (!surrounded.runs) return std::nullopt;
    const double copies =
        has_own_memory() && known_.bytes_per_second
            ? static_cast<double>(boundary_bytes(surrounded)) / *known_.bytes_per_second
            : 0;
    PX_ASSIGN(Graph graph, probe_graph(probe));
    PX_ASSIGN(ProbeRun alone, ProbeRun::on_cpu(std::move(graph), threads_, memory_));
    PX_ASSIGN(const ProbeTimes cpu, time(alone));
    PX_ASSIGN(const ProbeTimes there, time_region(std::move(surrounded)));
    return WorkSample{probe.kind, std::max(alone.predicted(), kMinSeconds),
                      std::max(cpu.whole, kMinSeconds),
                      std::max(there.region - empty_region_ - copies, kMinSeconds)};
  }

  /// Returns the upper quartile of all spreads so far. The median ignores rare outliers, the
  /// maximum is far off on any machine.
  double spread() const {
    std::vector<double> all = spreads_;
    if (all.empty()) return 0;
    const auto quartile = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 3 / 4);
    std::ranges::nth_element(all, quartile);
    return *quartile;
  }

 private:
  bool has_own_memory() const { return delegate_->memory == PX_MEMORY_DEVICE; }

  /// Measures the rate of copies. If nothing is copied, the description has better figures for the
  /// boundary.
  Status find_bandwidth(const Probe& large) {
    if (!has_own_memory()) return {};
    PX_ASSIGN(SurroundedProbe probe, surrounded_probe(large, delegate_->description()));
    const auto bytes = static_cast<double>(boundary_bytes(probe));
    PX_ASSIGN(const ProbeTimes times, time_region(std::move(probe)));
    known_.bytes_per_second = bytes / std::max(times.region - empty_region_, kMinSeconds);
    return {};
  }

  Result<ProbeTimes> time_region(SurroundedProbe probe) {
    PX_ASSIGN(ProbeRun run, ProbeRun::on_delegate(std::move(probe), delegate_, threads_, memory_));
    return time(run);
  }

  Result<ProbeTimes> time(ProbeRun& run) {
    PX_ASSIGN(const ProbeTimes times, run.time(pool_));
    if (times.spread) spreads_.push_back(*times.spread);
    return times;
  }

  const std::shared_ptr<const OpenDelegate> delegate_;
  const int threads_;
  Calibration& known_;
  const ProbeMemory memory_;
  WorkerPool pool_;
  double empty_region_ = 0;
  std::vector<double> spreads_;
};

/// Measures probes of all wanted kinds, until the time is up.
Status take_samples(Measurement& measurement, Measuring& measuring, Clock::time_point end) {
  Status status = measurement.find_launch();
  // Without the launch time and the rate of copies all other figures would be wrong.
  if (!status && is_short(status.error())) return status;
  std::set<WorkKind> without_memory;
  const std::set<WorkKind> wanted = measuring.wanted;
  for (const bool large : {true, false}) {
    std::set<WorkKind> timed;
    for (const Probe& probe : all_probes()) {
      if (probe.large != large || !wanted.contains(probe.kind) || timed.contains(probe.kind))
        continue;
      if (Clock::now() > end) return status;
      if (!without_memory.contains(probe.kind)) measuring.wanted.erase(probe.kind);
      auto sample = measurement.sample(probe);
      if (!sample) {  // says nothing; the next probe may
        if (is_short(sample.error()) && !measuring.known->has_samples_of(probe.kind)) {
          without_memory.insert(probe.kind);
          measuring.wanted.insert(probe.kind);
        }
        if (status) status = tl::unexpected(std::move(sample).error());
        continue;
      }
      if (!*sample) continue;
      timed.insert(probe.kind);
      measuring.wanted.erase(probe.kind);
      measuring.known->samples.push_back(**sample);
    }
  }
  return status;
}

}  // namespace

Status measure(const std::shared_ptr<const OpenDelegate>& delegate, Measuring& measuring,
               std::chrono::nanoseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  Measurement measurement(delegate, measuring);
  Status status = take_samples(measurement, measuring, end);
  measuring.spread = measurement.spread();
  return status;
}

}  // namespace parallax
