// Converts the records of a run to the public trace.
#include <algorithm>

#include "ops/node_text.h"
#include "ops/op.h"
#include "run/run.h"

namespace parallax {
namespace {

std::int64_t bytes_in(const Graph& graph, ValueId id, const Dims& dims) {
  return bytes_of(graph.values[id].dtype, dims).value_or(0);
}

}  // namespace

/// Records a region. `problem`: why the CPU runs it; empty: its device begins.
void Run::trace_region(BranchId branch, std::int64_t begin, std::string problem) {
  const Delegation& delegation = compiled_.context->delegation;
  const RegionId region = compiled_.context->branches.region[branch];
  const MutexLock lock(mutex_);
  region_events_.push_back({delegation.first + region.value, branch.value,
                            std::string(device_->name_of(region)), begin, 0, std::move(problem),
                            delegation.body});
}

void Run::trace_end(BranchId branch, const Status& status) noexcept {
  const MutexLock lock(mutex_);
  const auto event = std::ranges::find(region_events_, branch.value, &RegionEvent::branch);
  if (event == region_events_.end()) return;
  event->end_ns = now();
  try {
    if (!status) event->problem = status.error().to_string();
  } catch (const std::bad_alloc&) {
    event->problem = "?";  // so short that it needs no memory
  }
}

void Run::trace_copy(RegionId region, const CopyOfValue& copy) noexcept {
  const std::int64_t end = now();
  const MutexLock lock(mutex_);
  try {
    copy_events_.push_back(
        {graph().values[copy.value].name, compiled_.context->delegation.first + region.value,
         copy.to_device, std::chrono::nanoseconds(copy.begin - begin_).count(), end, copy.bytes});
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the trace lacks one line
  }
}

void Run::write_trace(RunTrace& trace) const {
  const MutexLock lock(mutex_);
  std::vector<TraceEvent> events = events_;
  std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.start_ns < b.start_ns;
  });
  trace.nodes.clear();
  for (const TraceEvent& event : events) {
    const Node& node = graph().nodes[event.node];
    NodeEvent out;
    out.node = node.name;
    out.op = to_string(node.op);
    out.kernel = event.kernel == nullptr ? "objects" : event.kernel->name;
    out.shapes = shapes_text(node, [this](ValueId id) { return dims_of(id); });
    std::vector<Dims> inputs;
    std::vector<Dims> outputs;
    const auto describe = [&](ValueId id, std::vector<Dims>& dims) {
      dims.push_back(id.valid() ? dims_of(id) : Dims{});
      if (id.valid()) out.bytes += bytes_in(graph(), id, dims.back());
    };
    for (const ValueId id : node.inputs) describe(id, inputs);
    for (const ValueId id : node.outputs) describe(id, outputs);
    out.start_ns = event.start_ns;
    out.end_ns = event.end_ns;
    out.macs = op_def(node.op).macs(node, inputs, outputs);
    out.branch = compiled_.context->position[event.node].branch.value;
    out.worker = event.worker;
    out.tiles = static_cast<int>(event.tiles);
    trace.nodes.push_back(std::move(out));
  }
  trace.regions = region_events_;
  trace.copies = copy_events_;
  if (body_events_.empty()) return;
  trace.nodes.insert(trace.nodes.end(), body_events_.begin(), body_events_.end());
  std::stable_sort(trace.nodes.begin(), trace.nodes.end(),
                   [](const NodeEvent& a, const NodeEvent& b) { return a.start_ns < b.start_ns; });
}

}  // namespace parallax
