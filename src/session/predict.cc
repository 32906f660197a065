#include "session/predict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/status.h"
#include "cost/cpu_costs.h"
#include "kernels/registry.h"
#include "ops/op.h"
#include "partition/profile_toml.h"
#include "run/node_text.h"
#include "simulate/simulate.h"

namespace parallax {
namespace {

/// Bytes of one node by where they come from.
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

/// Profiles of phones give one rate of the CPU, beside the accelerator it is compared with.
CpuRates rates_of(const DeviceProfile& device) {
  CpuRates cpu = device.cpu;
  if (cpu.macs_per_second <= 0 && device.delegate) {
    cpu.macs_per_second = device.delegate->cpu_macs_per_second;
    cpu.bytes_per_second = device.delegate->bytes_per_second;
  }
  return cpu;
}

class WorkloadMaker {
 public:
  WorkloadMaker(const Program& program, const CpuRates& cpu)
      : program_(program), compiled_(program.compiled()), cpu_(cpu), costs_(cpu) {
    double constants = 0;
    for (const Node& node : compiled_.graph().nodes)
      constants += traffic_of(compiled_, node).constants;
    // What does not fit the last cache together is read anew by every run.
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
    if (compiled.role != NodeRole::kPlanned) return {0, 0, 0};
    const Node& node = graph.graph().nodes[id];
    const Traffic traffic = traffic_of(graph, node);
    SimulatedNode result;
    result.tiles = std::max<std::int64_t>(compiled.code.tiles, 1);
    const std::string shapes = shapes_text(node, [&graph](ValueId v) { return *graph.dims[v]; });
    const CpuCost cost =
        costs_.cost({node.op, compiled.code.row->name, shapes, static_cast<double>(compiled.macs),
                     static_cast<double>(compiled.bytes)});
    result.seconds = cost.seconds;
    ++nodes_[static_cast<std::size_t>(cost.basis)];
    if (constants_from_memory_) result.memory_bytes += traffic.constants;
    if (traffic.activations > static_cast<double>(cpu_.cache_bytes))
      result.memory_bytes += traffic.activations;
    return result;
  }

  /// The slower branch of an If; of a loop all trips, one where their number is not known. As one
  /// node, that has the tiles of the widest inside it. Bodies lie at most
  /// LoadOptions::max_nesting deep.
  SimulatedNode bodies_of(const CompiledNode& compiled) {
    SimulatedNode slowest;
    slowest.tiles = 1;
    for (const CompiledBody& body : compiled.bodies) {
      if (body.error) continue;
      SimulatedNode all;
      all.tiles = 1;
      for (const NodeId id : body.compiled->graph().nodes.ids()) {
        const SimulatedNode node = node_of(*body.compiled, id);
        all.seconds += node.seconds;
        all.memory_bytes += node.memory_bytes;
        all.tiles = std::max(all.tiles, node.tiles);
      }
      if (all.seconds >= slowest.seconds) slowest = all;
    }
    const auto trips = static_cast<double>(compiled.trips.value_or(1));
    slowest.seconds *= trips;
    slowest.memory_bytes *= trips;
    return slowest;
  }

  const Program& program_;
  const Compiled& compiled_;
  const CpuRates& cpu_;
  const CpuCosts costs_;
  bool constants_from_memory_ = false;
  int unknown_nodes_ = 0;
  std::array<int, 3> nodes_ = {};  // by CostBasis
};

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(Error{Stage::kSession, ErrorCode::kInvalidInput, {}, std::move(message)});
}

}  // namespace

Result<DeviceProfile> load_timed_profile(const std::filesystem::path& path) {
  PX_ASSIGN(DeviceProfile device, load_profile(path));
  for (const NodeSample& sample : device.cpu.samples) {
    const bool known = std::ranges::any_of(kernel_rows(), [&](const KernelRow& row) {
      return to_string(row.op) == sample.op && row.name == sample.kernel;
    });
    if (!known) {
      return refuse(
          fmt::format("{}: times kernel '{}' of {}, which this build does not have; "
                      "remove the file and calibrate again",
                      path.string(), sample.kernel, sample.op));
    }
  }
  return device;
}

std::vector<double> core_speeds(const DeviceProfile& device) {
  std::vector<double> speeds;
  for (const CoreClass& cores : device.cores)
    speeds.insert(speeds.end(), static_cast<std::size_t>(cores.count), cores.relative_speed);
  std::stable_sort(speeds.begin(), speeds.end(), std::greater{});
  return speeds;
}

Result<Prediction> predict(const Program& program, const DeviceProfile& device,
                           Scheduler scheduler) {
  const CpuRates rates = rates_of(device);
  SimulatedCpu cpu{core_speeds(device), rates.bytes_per_second, rates.node_seconds,
                   rates.share_seconds};
  const auto threads = static_cast<std::size_t>(program.threads);
  if (threads > cpu.core_speeds.size()) {
    return refuse(fmt::format("'{}' has {} cores, the plan is for {} threads", device.name,
                              cpu.core_speeds.size(), threads));
  }
  if (rates.macs_per_second <= 0)
    return refuse(fmt::format("'{}' says nothing about its CPU's speed", device.name));
  cpu.core_speeds.resize(threads);
  const auto fastest = std::ranges::max_element(device.cores, {}, &CoreClass::relative_speed);
  WorkloadMaker maker(program, rates);
  const Workload workload = maker.make(scheduler);
  PX_ASSIGN(const Simulation simulation, simulate(workload, cpu));
  Prediction prediction;
  prediction.profile = device.name;
  prediction.cores = program.threads;
  prediction.ms = simulation.seconds * 1e3;
  prediction.busy_ms = simulation.busy_seconds * 1e3;
  prediction.unknown_nodes = maker.unknown_nodes();
  prediction.basis = {device.source,
                      fastest == device.cores.end() ? 0 : fastest->hertz,
                      rates.macs_per_second,
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
