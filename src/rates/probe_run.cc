#include "rates/probe_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "bind/bind.h"
#include "bind/evaluate.h"
#include "delegate_host/delegate_device.h"
#include "lower/cpu/lower.h"
#include "run/execute.h"

namespace parallax {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmups = 1, kMaxRuns = 7, kMinRuns = 3;
/// After so much time no further run begins; of a device that is very slow one is enough.
constexpr std::chrono::milliseconds kRunsOfProbe{4}, kSlowRuns{40};
/// A device that is slower in a probe is useless.
constexpr std::chrono::seconds kAnswerWithin{1};

/// Returns the minimum: other work on the machine only makes runs longer, and these times are
/// stored.
double least(const std::vector<double>& values) { return std::ranges::min(values); }

/// Returns the bytes of the input, the output, and the weights, both as given and packed.
std::int64_t bytes_of_tensors(const Compiled& compiled) {
  const Graph& graph = compiled.graph();
  std::int64_t bytes = 0;
  for (const ValueId id : {graph.inputs.front(), graph.outputs.front()})
    bytes += bytes_of(graph.values[id].dtype, *compiled.dims[id]).value_or(0);
  for (const Value& value : graph.values)
    if (value.constant) bytes += 2 * static_cast<std::int64_t>(value.constant->bytes.size());
  return bytes;
}

}  // namespace

Result<ProbeRun> ProbeRun::make(std::shared_ptr<GraphContext> context,
                                const std::shared_ptr<const OpenDelegate>& delegate, int threads,
                                const ProbeMemory& memory) {
  PX_ASSIGN(auto compiled, compile(std::move(context), Binding{}, {}));
  ProbeRun run;
  PX_ASSIGN(run.kept_->tensors,
            DeviceCharge::make(memory.host, bytes_of_tensors(*compiled), 0, "a probe"));
  const Graph& graph = compiled->graph();
  for (const ValueId id : {graph.inputs.front(), graph.outputs.front()}) {
    PX_ASSIGN(Tensor tensor, Tensor::allocate(graph.values[id].dtype, *compiled->dims[id]));
    std::memset(tensor.mutable_view().bytes.data(), 0, tensor.mutable_view().bytes.size());
    run.tensors_.push_back(std::move(tensor));
  }
  PX_ASSIGN(auto bound, make_bound(std::move(compiled)));
  PX_RETURN_IF_ERROR(bind(*bound));
  if (delegate != nullptr) {
    const auto device = std::make_shared<DelegateDevice>(
        std::vector<DelegateUse>{
            DelegateUse{.opened = delegate, .ledger = memory.device, .host = memory.host}},
        bound->compiled);
    PX_RETURN_IF_ERROR(device->prepare(Logger{}));
    if (auto problem = device->problem(RegionId{0})) return tl::unexpected(*std::move(problem));
    bound->device = device;
  }
  PX_ASSIGN(run.kept_->program,
            lay_out(std::move(bound),
                    {.parallel = threads > 1, .threads = threads, .budget = {}, .explain = false}));
  PX_ASSIGN(run.kept_->arena,
            DeviceCharge::make(memory.host, run.kept_->program->bytes, 0, "a probe"));
  return run;
}

Result<ProbeRun> ProbeRun::on_cpu(Graph graph, int threads, const ProbeMemory& memory) {
  PX_RETURN_IF_ERROR(run_passes(lowering_passes(), graph, {evaluate_node, evaluate_into}));
  return make(std::make_shared<GraphContext>(std::move(graph)), nullptr, threads, memory);
}

Result<ProbeRun> ProbeRun::on_delegate(SurroundedProbe probe,
                                       const std::shared_ptr<const OpenDelegate>& delegate,
                                       int threads, const ProbeMemory& memory) {
  Delegation delegation{std::move(probe.region_of), {}, {}, false};
  delegation.seconds.push_back(0);
  return make(std::make_shared<GraphContext>(std::move(probe.graph), std::move(delegation)),
              delegate, threads, memory);
}

double ProbeRun::predicted() const {
  double seconds = 0;
  for (const CompiledNode& node : kept_->program->compiled().nodes) seconds += predicted_work(node);
  return seconds;
}

Result<ProbeTimes> ProbeRun::run_once(WorkerPool& pool) {
  const PlaceOutput place = [&](int, DType, const Dims&) -> Result<std::byte*> {
    return tensors_.back().mutable_view().bytes.data();
  };
  PX_ASSIGN(RunMemory::Lease lease, kept_->memory.acquire({kept_->program->bytes, std::nullopt}));
  RunTrace trace;
  ExecuteOptions options;
  const bool has_region = kept_->program->bound->device != nullptr;
  if (has_region) {
    options.device = kept_->program->bound->device.get();
    options.trace = &trace;
    options.region_time = kAnswerWithin;
    options.lease_owner = kept_;
  }
  const std::byte* const input = tensors_.front().view().bytes.data();
  const Clock::time_point start = Clock::now();
  PX_RETURN_IF_ERROR(execute(*kept_->program, {&input, 1}, place, pool, lease, options));
  ProbeTimes times;
  times.whole = std::chrono::duration<double>(Clock::now() - start).count();
  for (const RegionEvent& event : trace.regions)
    times.region += static_cast<double>(event.end_ns - event.start_ns) * 1e-9;
  return times;
}

Result<ProbeTimes> ProbeRun::time(WorkerPool& pool) {
  const Clock::time_point start = Clock::now();
  std::vector<double> wholes, regions;
  for (int run = 0; run < kWarmups + kMaxRuns; ++run) {
    const auto so_far = Clock::now() - start;
    if (run >= kWarmups + kMinRuns && so_far > kRunsOfProbe) break;
    if (run > kWarmups && so_far > kSlowRuns) break;
    PX_ASSIGN(const ProbeTimes times, run_once(pool));
    if (run < kWarmups) continue;
    wholes.push_back(times.whole);
    regions.push_back(times.region);
  }
  const bool has_region = least(regions) > 0;
  return ProbeTimes{least(wholes), least(regions), spread_of(has_region ? regions : wholes)};
}

std::optional<double> spread_of(std::vector<double> times) {
  if (times.size() < 3) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  const double smallest = least(times);
  if (smallest <= 0) return std::nullopt;
  return (*middle - smallest) / smallest;
}

}  // namespace parallax
