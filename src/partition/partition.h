// Which parts of a graph a delegate should run: regions, and for every other node why it stays on
// the CPU. Takes a graph whose shapes were inferred, and the sizes of one binding; asks no device.
//
//   1. Candidates: maximal connected convex sets of nodes that the delegate can run (regions.h),
//      whole or in parts (parts.h).
//   2. Nodes that it can only run as a bridge join the candidates around them where that saves
//      time.
//   3. A candidate that loses under the cost model is given back to the CPU, and so is one that
//      does not fit the delegate's memory. Where `max_regions` is given, the ones that save most
//      time stay.
//   4. Both run at once, so that the best of each is not the best of all: regions change sides as
//      long as the predicted time of the whole falls (overlap.h). Not under the paper's model.
//
// Of several delegates each has its turn, in order of preference: what those before it took stays
// as it is, one node for each region in all of the above.
//
// Regions are indivisible for all later stages; taken as one node each, they leave the graph
// without cycles. Pure and deterministic; near linear in the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dag.h"
#include "partition/co_node.h"
#include "partition/cost.h"

namespace parallax {

/// A set of nodes that was considered as one piece.
struct Region {
  std::vector<NodeId> nodes;  ///< ascending, hence in execution order
  RegionCost cost;
  Verdict verdict;
  int delegate = 0;       ///< whose it is, or would be
  bool shared = false;    ///< the CPU makes other rows of the same results: it goes with the whole
  bool run_time = false;  ///< only running tells some size of each of its nodes
};

/// Where a node runs: on the delegate in `region`, or on the CPU for `reason`.
struct Placement {
  RegionId region;
  RegionId returned;  ///< its candidate, where that was given back: into Partition::returned
  CpuReason reason = CpuReason::kNone;
  std::string detail;  ///< in words and numbers; empty where `region` or `returned` has it
};

struct Partition {
  IdVector<RegionId, Region> regions;   ///< offloaded: those taken before, then by first node
  IdVector<RegionId, Region> returned;  ///< candidates given back to the CPU, by first node
  IdVector<NodeId, Placement> placement;
  /// The union of no two or more candidates would have been a candidate. False only where a graph
  /// was too contrived to find that out in linear time.
  bool maximal = true;
  /// Predicted time that offloading saves if nothing overlaps.
  double saved_seconds = 0;
  /// Predicted time of the whole, CPU and delegates at once (overlap.h).
  double seconds = 0;
};

struct PartitionOptions {
  /// kAll: no candidate is given back because it loses, and bridges are nodes like others.
  Offload offload = Offload::kProfitable;
  CostModel model = CostModel::kExact;
  Calibration calibration = {};  ///< for CostModel::kMeasured
  /// What the CPU makes of each node (cpu_share.h); empty: what its operator takes alone.
  IdVector<NodeId, double> cpu_seconds = {};
  /// What the delegate makes of each node; empty, or nothing: what its operator takes alone.
  IdVector<NodeId, std::optional<double>> delegate_seconds = {};
  /// assumed_shapes(), by which regions with sizes that only running tells are priced; empty: there
  /// are none such.
  ConcreteShapes assumed = {};
  /// Of each node of a graph that both run together (co_execution.h); empty: it is not split.
  IdVector<NodeId, CoNode> co = {};
  /// Of each node why it stays on the CPU whatever it costs; an empty text, or an empty list: it
  /// need not.
  IdVector<NodeId, std::string> refused = {};
  bool refuses(NodeId node) const { return refused.contains(node) && !refused[node].empty(); }
  /// Most regions to offload, those that save the most predicted time; nothing: no limit.
  std::optional<int> max_regions = {};
  int delegate = 0;  ///< the number that its regions get
  /// Regions of other delegates, which leave the graph without cycles.
  IdVector<RegionId, Region> taken = {};
  /// Of a body: what names of its nodes begin with in the model. Its steps run one after the other,
  /// so that nothing is beside a region. Empty: this is no body.
  std::string body = {};
};

/// REQUIRES: `shapes` from concrete_shapes(graph, ...), the delegate's rates > 0 (profile_toml.h
/// checks them).
Partition partition(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
                    const PartitionOptions& options = {});

/// Adds regions of nodes that partition() left to the CPU because only running tells their sizes,
/// where the delegate takes such: each apart from nodes of known sizes, which are bound before the
/// run. What `partition` has stays. REQUIRES: options.assumed, and cpu_seconds by that.
void add_run_time_regions(const Graph& graph, const ConcreteShapes& shapes,
                          const Delegate& delegate, const PartitionOptions& options,
                          Partition& partition);

/// The same as partition() with just these regions, whatever they cost. Errors: kInvalidInput where
/// the delegate cannot run a node of one, one is empty, does not fit its memory or mixes sizes that
/// are known with others, a node is in two, or regions wait for each other.
Result<Partition> pinned_partition(const Graph& graph, const ConcreteShapes& shapes,
                                   const Delegate& delegate, const PartitionOptions& options,
                                   const std::vector<std::vector<NodeId>>& regions);

/// Of each node its candidate, whether it wins or not: first the regions, then those given back.
/// Taken as one node each, they leave the graph without cycles.
IdVector<NodeId, RegionId> all_candidates(const Partition& partition);

/// Why `node` stays on the CPU, "loses: 0.21 ms offloaded >= 0.1 ms on the CPU"; empty where it
/// does not.
std::string cpu_reason(const Partition& partition, NodeId node);

/// A partition as text, for golden tests and `--explain`:
///
///     region 0: 3 nodes, 1.2e+06 MAC, 4096 bytes in and out, saves 0.8 ms: <verdict>
///       a b c
///     returned 0: ...
///     cpu: d operator: gpu has no NonZero
std::string print(const Graph& graph, const Partition& partition);

}  // namespace parallax
