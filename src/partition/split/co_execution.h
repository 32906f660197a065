// Runs one operator, or a chain of them, on the CPU and a device concurrently: before regions are
// determined, nodes are divided into two, of which the CPU computes the first rows and the device
// the others (co_segments.h selects the nodes, co_split.h divides them). Rates determine the number
// of rows of each; the replay of the whole graph (overlap.h) decides whether splitting pays off.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "partition/partition.h"

namespace parallax {

/// A split graph, and its regions.
struct CoExecution {
  Graph graph;
  ConcreteShapes shapes;             ///< shapes of `graph`
  Partition partition;               ///< partition of `graph`
  IdVector<NodeId, NodeId> origins;  ///< CoNode::origin of each node of `graph`
  int stretches = 0;                 ///< segments; CPU and device wait for each other in between
  int nodes = 0;                     ///< number of nodes that were divided
  int share = 0;                     ///< rows on the device, in 1 / kShares
  double seconds = 0;                ///< predicted for the whole graph
  std::uint64_t key = 0;             ///< SplitSample::key
  std::optional<int> refused = {};   ///< the share that was to be tried but is impossible
};

/// Returns the best split if it is predicted to be faster than `whole`, the partition of the
/// unsplit graph; nullopt if no split is faster or predictions are missing. `options`: those of
/// `whole`, with cpu_seconds. If its calibration has splits of the graph, the share is the next one
/// to be timed, whatever is predicted.
std::optional<CoExecution> co_execution(const Graph& graph, const Binding& binding,
                                        const Delegate& delegate, const PartitionOptions& options,
                                        const Partition& whole);

/// Returns a line for reports: "5 stretches of 120 nodes, 50 % of the rows on cores: 12.3 ms, 20.1
/// ms without".
std::string to_string(const CoExecution& split, const Delegate& delegate, double whole_seconds);

}  // namespace parallax
