// Divides a graph between a delegate and the CPU: regions for the delegate, and for every other
// node the reason why it stays on the CPU. Needs a graph with inferred shapes, and the sizes of one
// binding; calls no device.
//
//   1. Candidates: maximal connected convex sets of nodes that the delegate can run (regions.h),
//      whole or in parts (parts.h).
//   2. Nodes that it can only run as a bridge join the candidates around them if that saves time.
//   3. A candidate that loses under the cost model, or does not fit the delegate's memory, is left
//      to the CPU. If `max_regions` is given, only the candidates that save most time stay.
//   4. Both sides run concurrently, so the best choice for each region is not the best for the
//      whole: regions change sides as long as the predicted total time decreases (overlap.h). This
//      step is left out under the paper's model.
//
// With several delegates, each is considered in order of preference: the regions of earlier ones
// stay as they are, as one node each in all of the above.
//
// Regions are indivisible for all later stages; taken as one node each, they leave the graph
// without cycles. Thread-safety: pure functions; deterministic; near linear in the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dag.h"
#include "partition/co_node.h"
#include "partition/cost.h"

namespace parallax {

/// A set of nodes that was considered as one unit.
struct Region {
  std::vector<NodeId> nodes;  ///< ascending, hence in execution order
  RegionCost cost;
  Verdict verdict;
  int delegate = 0;       ///< the delegate that runs it, or would run it
  bool shared = false;    ///< the CPU computes other rows of the same results: the split as a whole
                          ///< was chosen
  bool run_time = false;  ///< each node has a size that becomes known during the run
};

/// The placement of a node: on the delegate in `region`, or on the CPU for `reason`.
struct Placement {
  RegionId region;
  RegionId returned;  ///< its rejected candidate, an index into Partition::returned
  CpuReason reason = CpuReason::kNone;
  std::string detail;  ///< explanation with numbers; empty if `region` or `returned` has it
};

/// The result of partition().
struct Partition {
  IdVector<RegionId, Region> regions;   ///< offloaded regions: earlier delegates' first, then by
                                        ///< first node
  IdVector<RegionId, Region> returned;  ///< candidates left to the CPU, by first node
  IdVector<NodeId, Placement> placement;
  /// Whether no union of two or more candidates would have been a candidate. False only if a graph
  /// was too contrived to determine that in linear time.
  bool maximal = true;
  /// Predicted time that offloading saves if nothing overlaps.
  double saved_seconds = 0;
  /// Predicted time of the whole graph in seconds, with CPU and delegates running concurrently
  /// (overlap.h).
  double seconds = 0;
};

struct PartitionOptions {
  /// kAll: no candidate is rejected because it loses, and bridges are nodes like others.
  Offload offload = Offload::kProfitable;
  CostModel model = CostModel::kExact;
  Calibration calibration = {};  ///< for CostModel::kMeasured
  /// Seconds of each node on the CPU (cpu_share.h); empty: the time of its operator alone.
  IdVector<NodeId, double> cpu_seconds = {};
  /// Seconds of each node on the delegate; empty, or nullopt: the time of its operator alone.
  IdVector<NodeId, std::optional<double>> delegate_seconds = {};
  /// assumed_shapes(), with which regions are priced whose sizes become known during the run;
  /// empty: there are no such regions.
  ConcreteShapes assumed = {};
  /// For each node of a graph that both sides run (co_execution.h); empty: it is not split.
  IdVector<NodeId, CoNode> co = {};
  /// For each node the reason why it stays on the CPU whatever it costs; an empty text or list: it
  /// may be offloaded.
  IdVector<NodeId, std::string> refused = {};
  bool refuses(NodeId node) const { return refused.contains(node) && !refused[node].empty(); }
  /// Asks the device about nodes that a split makes; `refused` has the answers for other nodes.
  NodeQuestion ask = {};
  /// Maximum number of regions to offload, those that save the most predicted time; nullopt: no
  /// limit.
  std::optional<int> max_regions = {};
  int delegate = 0;  ///< the number that its regions get
  /// Regions of other delegates, which leave the graph without cycles.
  IdVector<RegionId, Region> taken = {};
  /// For a body: the prefix of its nodes' names in the model. Its steps run one after the other, so
  /// nothing runs concurrently with a region. Empty: this is no body.
  std::string body = {};
};

/// Divides the graph. REQUIRES: `shapes` from concrete_shapes(graph, ...), the delegate's rates > 0
/// (profile_toml.h checks them).
Partition partition(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
                    const PartitionOptions& options = {});

/// Adds regions of nodes that partition() left to the CPU because their sizes become known during
/// the run, if the delegate supports such sizes: each separate from nodes of known sizes, which are
/// bound before the run. Existing regions stay. REQUIRES: options.assumed, and cpu_seconds based on
/// it.
void add_run_time_regions(const Graph& graph, const ConcreteShapes& shapes,
                          const Delegate& delegate, const PartitionOptions& options,
                          Partition& partition);

/// Does the same as partition() with exactly these regions, whatever they cost. Errors:
/// kInvalidInput if the delegate cannot run a node of a region, a region is empty, exceeds its
/// memory or mixes known sizes with others, a node is in two regions, or regions wait for each
/// other.
Result<Partition> pinned_partition(const Graph& graph, const ConcreteShapes& shapes,
                                   const Delegate& delegate, const PartitionOptions& options,
                                   const std::vector<std::vector<NodeId>>& regions);

/// Returns for each node its candidate, whether offloaded or not: regions first, then rejected
/// ones. Taken as one node each, they leave the graph without cycles.
IdVector<NodeId, RegionId> all_candidates(const Partition& partition);

/// Returns the reason why `node` stays on the CPU, "loses: 0.21 ms offloaded >= 0.1 ms on the CPU";
/// empty if it does not.
std::string cpu_reason(const Partition& partition, NodeId node);

/// Returns a partition as text, for golden tests and `--explain`:
///
///     region 0: 3 nodes, 1.2e+06 MAC, 4096 bytes in and out, saves 0.8 ms: <verdict>
///       a b c
///     returned 0: ...
///     cpu: d operator: gpu has no NonZero
std::string print(const Graph& graph, const Partition& partition);

}  // namespace parallax
