#include "simulate/predict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "base/user_call.h"
#include "cost/cpu_costs.h"
#include "device/profile_toml.h"
#include "kernels/registry.h"
#include "ops/node_text.h"
#include "ops/op.h"
#include "simulate/simulate.h"

namespace parallax {
namespace {

/// Bytes that one node reads or writes, by source.
struct Traffic {
  double constants = 0, activations = 0;
};

Traffic traffic_of(const Compiled& compiled, const Node& node) {
  Traffic traffic;
  const auto add = [&](ValueId id) {
    if (!id.valid() || !compiled.dims[id]) return;
    const Value& value = compiled.graph().values[id];
    const auto bytes = static_cast<double>(bytes_of(value.dtype, *compiled.dims[id]).value_or(0));
    (value.kind == ValueKind::kConstant ? traffic.constants : traffic.activations) += bytes;
  };
  for (const ValueId id : node.inputs) add(id);
  for (const ValueId id : node.outputs) add(id);
  return traffic;
}

/// The kinds of cores of a device, fastest first, and which of them each core is.
struct Cores {
  std::vector<CoreKind> kinds;
  std::vector<std::size_t> kind_of;
  double hertz = 0;  ///< clock of the fastest kind
};

Cores find_cores(const DeviceProfile& device) {
  std::vector<CoreClass> classes = device.cores;
  std::ranges::stable_sort(classes, std::greater{}, &CoreClass::relative_speed);
  Cores cores;
  for (const CoreClass& each : classes) {
    const double speed = each.relative_speed;
    const Core rates = each.peaks.macs_per_cycle > 0
                           ? core_of(each.peaks)
                           : core_with(device.cpu.macs_per_second * speed);
    cores.kind_of.insert(cores.kind_of.end(), static_cast<std::size_t>(each.count),
                         cores.kinds.size());
    cores.kinds.push_back({speed, rates});
  }
  if (!classes.empty()) cores.hertz = classes.front().peaks.hertz;
  return cores;
}

class WorkloadMaker {
 public:
  /// All must outlive the maker.
  WorkloadMaker(const Program& program, const CpuRates& cpu, const std::vector<CoreKind>& kinds)
      : program_(program),
        compiled_(program.compiled()),
        cpu_(cpu),
        kinds_(kinds),
        costs_(cpu.samples) {
    double constants = 0;
    for (const Node& node : compiled_.graph().nodes)
      constants += traffic_of(compiled_, node).constants;
    // Constants that do not fit the last cache together are read from memory in every run.
    constants_from_memory_ = constants > static_cast<double>(cpu_.cache_bytes);
  }

  Workload make(Scheduler scheduler) {
    Workload workload;
    const GraphContext& context = *compiled_.context;
    const auto& branches = context.branches.branches;
    for (const BranchId branch : branches.ids()) {
      const RegionId region = context.branches.region[branch];
      std::vector<SimulatedNode> nodes;
      if (!region.valid())
        for (const NodeId id : branches[branch]) nodes.push_back(node_of(compiled_, id));
      workload.branches.push_back(std::move(nodes));
      workload.delegate_seconds.push_back(region.valid() ? context.delegation.seconds[region] : 0);
      workload.delegate.push_back(
          region.valid() ? static_cast<int>(context.delegation.delegate_of(region)) : 0);
    }
    const bool barriers = scheduler == Scheduler::kLayers || scheduler == Scheduler::kSequential;
    if (!barriers) {
      workload.waits = program_.plan.waits;
      return workload;
    }
    workload.waits.resize(branches.size());
    const Steps& steps = program_.plan.steps;
    for (std::size_t step = 1; step < steps.size(); ++step)
      for (const BranchId branch : steps[step]) workload.waits[branch] = steps[step - 1];
    return workload;
  }
  int unknown_nodes() const { return unknown_nodes_; }
  int nodes(CostBasis basis) const { return nodes_[static_cast<std::size_t>(basis)]; }

 private:
  SimulatedNode node_of(const Compiled& graph, NodeId id) {
    const CompiledNode& compiled = graph.nodes[id];
    if (compiled.role == NodeRole::kBodies) return bodies_of(compiled);
    if (compiled.role == NodeRole::kRunTime) ++unknown_nodes_;
    if (compiled.role != NodeRole::kPlanned) return nothing(0);
    const Node& node = graph.graph().nodes[id];
    const Traffic traffic = traffic_of(graph, node);
    SimulatedNode result;
    result.tiles = std::max<std::int64_t>(compiled.code.tiles, 1);
    const std::string shapes = shapes_text(node, [&graph](ValueId v) { return *graph.dims[v]; });
    const NodeWork work = {node.op, compiled.code.row->name, shapes,
                           static_cast<double>(compiled.macs), static_cast<double>(compiled.bytes)};
    CpuCost cost;
    for (const CoreKind& kind : kinds_) {
      cost = costs_.cost(work, kind);
      result.seconds.push_back(cost.seconds);
    }
    ++nodes_[static_cast<std::size_t>(cost.basis)];
    if (constants_from_memory_) result.memory_bytes += traffic.constants;
    if (traffic.activations > static_cast<double>(cpu_.cache_bytes))
      result.memory_bytes += traffic.activations;
    return result;
  }

  /// Returns the slower branch of an If, or all trips of a loop (one if their number is not known),
  /// as one node with the tiles of the widest node inside. Bodies are nested at most
  /// LoadOptions::max_nesting deep.
  SimulatedNode bodies_of(const CompiledNode& compiled) {
    SimulatedNode slowest = nothing(1);
    for (const CompiledBody& body : compiled.bodies) {
      if (body.error) continue;
      SimulatedNode all = nothing(1);
      for (const NodeId id : body.compiled->graph().nodes.ids()) {
        const SimulatedNode node = node_of(*body.compiled, id);
        for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
          all.seconds[kind] += node.seconds[kind];
        all.memory_bytes += node.memory_bytes;
        all.tiles = std::max(all.tiles, node.tiles);
      }
      for (const double region : body.compiled->context->delegation.seconds)
        for (double& seconds : all.seconds) seconds += region;
      if (all.seconds >= slowest.seconds) slowest = std::move(all);
    }
    const auto trips = static_cast<double>(compiled.trips.value_or(1));
    for (double& seconds : slowest.seconds) seconds *= trips;
    slowest.memory_bytes *= trips;
    return slowest;
  }

  SimulatedNode nothing(std::int64_t tiles) const {
    return {std::vector<double>(kinds_.size(), 0), 0, tiles};
  }

  const Program& program_;
  const Compiled& compiled_;
  const CpuRates& cpu_;
  const std::vector<CoreKind>& kinds_;
  const CpuCosts costs_;
  bool constants_from_memory_ = false;
  int unknown_nodes_ = 0;
  std::array<int, 3> nodes_ = {};  // number of nodes by CostBasis
};

}  // namespace

Result<DeviceProfile> load_timed_profile(const std::filesystem::path& path) {
  PX_ASSIGN(DeviceProfile device, load_profile(path));
  for (const NodeSample& sample : device.cpu.samples) {
    const bool known = std::ranges::any_of(kernel_rows(), [&](const KernelRow& row) {
      return to_string(row.op) == sample.op && row.name == sample.kernel;
    });
    if (!known) {
      return refuse(ErrorCode::kInvalidInput,
                    fmt::format("{}: times kernel '{}' of {}, which this build does not have; "
                                "remove the file and calibrate again",
                                path.string(), sample.kernel, sample.op));
    }
  }
  return device;
}

int cores_of(const DeviceProfile& device) {
  return std::accumulate(device.cores.begin(), device.cores.end(), 0,
                         [](int sum, const CoreClass& cores) { return sum + cores.count; });
}

Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler) {
  const CpuRates& rates = device.cpu;
  Cores cores = find_cores(device);
  const auto threads = static_cast<std::size_t>(program.threads);
  if (threads > cores.kind_of.size()) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("'{}' has {} cores, the plan is for {} threads", device.name,
                              cores.kind_of.size(), threads));
  }
  if (cores.kinds.front().rates.macs_per_second <= 0)
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("'{}' says nothing about its CPU's speed", device.name));
  cores.kind_of.resize(threads);
  const SimulatedCpu cpu{std::move(cores.kind_of), rates.bytes_per_second, rates.node_seconds,
                         rates.share_seconds};
  WorkloadMaker maker(program, rates, cores.kinds);
  const Workload workload = maker.make(scheduler);
  PX_ASSIGN(const Simulation simulation, simulate(workload, cpu));
  Prediction prediction;
  prediction.profile = device.name;
  prediction.cores = program.threads;
  prediction.latency_ms = simulation.seconds * 1e3;
  prediction.busy_ms = simulation.busy_seconds * 1e3;
  prediction.unknown_nodes = maker.unknown_nodes();
  prediction.basis = {device.source,
                      cores.hertz,
                      cores.kinds.front().rates.macs_per_second,
                      rates.bytes_per_second,
                      maker.nodes(CostBasis::kTimed),
                      maker.nodes(CostBasis::kSimilar),
                      maker.nodes(CostBasis::kRates)};
  for (const BranchId branch : simulation.spans.ids()) {
    const auto& span = simulation.spans[branch];
    prediction.branches.push_back({branch.value, span.begin * 1e3, span.end * 1e3});
  }
  return prediction;
}

}  // namespace parallax
