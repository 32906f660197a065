// One operator, or a chain of them, on the CPU and a device at once: before regions are looked for,
// nodes become two, of which the CPU makes the first rows and the device the others (co_segments.h
// says where, co_split.h how). Rates say how many rows each gets; the replay of the whole
// (overlap.h) whether it pays. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "partition/partition.h"

namespace parallax {

/// A graph that was split, and its regions.
struct CoExecution {
  Graph graph;
  ConcreteShapes shapes;             ///< of `graph`
  Partition partition;               ///< of `graph`
  IdVector<NodeId, NodeId> origins;  ///< CoNode::origin of each node of `graph`
  int stretches = 0;                 ///< between which CPU and device wait for each other
  int nodes = 0;                     ///< of the graph before, that became two
  int share = 0;                     ///< of rows, on the device, in 1 / kShares
  double seconds = 0;                ///< predicted, of the whole
  std::uint64_t key = 0;             ///< SplitSample::key
  std::optional<int> refused = {};   ///< the share that should have been tried, and cannot be
};

/// The best split, where it is predicted to take less than `whole`, the partition of the graph as
/// it is; nothing where none is, or what it needs to know is not predicted. `options`: of `whole`,
/// with cpu_seconds. Where its calibration has splits of the graph, the share is the next that runs
/// should judge, whatever is predicted.
std::optional<CoExecution> co_execution(const Graph& graph, const Binding& binding,
                                        const Delegate& delegate, const PartitionOptions& options,
                                        const Partition& whole);

/// "5 stretches of 120 nodes, 50 % of the rows on cores: 12.3 ms, 20.1 ms without".
std::string to_string(const CoExecution& split, const Delegate& delegate, double whole_seconds);

}  // namespace parallax
