// Predicts the time of a graph when delegates run some regions while the CPU runs the rest, and
// selects the regions to offload such that it is minimal. Thread-safety: pure functions. Internal
// to partition/.
//
//     time ->   CPU      [a][c   ][e]     each runs one piece at a time, the one with most work
//               device   [b      ][d]     on the path behind it first
//               device   [f  ]
//
// The CPU is one worker: cpu_seconds are of all its cores, which tiles keep busy.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/dag.h"
#include "partition/partition.h"

namespace parallax {

/// The schedule of one graph: edges, times on the CPU, regions.
class Overlap {
 public:
  /// Keeps references to all arguments, which must outlive it. REQUIRES: `regions`, taken as one
  /// node each, leave the graph without cycles.
  Overlap(const Dag& edges, const IdVector<NodeId, double>& cpu_seconds,
          std::span<const Region> regions);

  /// Returns the predicted time of the graph in seconds if devices run the regions marked in
  /// `offloaded` (one entry per region), each its own. O((V+E) log V).
  double seconds(const std::vector<bool>& offloaded) const;

 private:
  const Dag& edges_;
  const IdVector<NodeId, double>& cpu_seconds_;
  std::span<const Region> regions_;
  IdVector<NodeId, int> region_of_;  ///< -1: in no region
  IdVector<NodeId, double> path_;    ///< CPU seconds of the longest path from the node on
  std::size_t devices_ = 1;
};

/// Changes verdicts, of kNone and kLoses only, such that the total time is minimal; the details of
/// changed verdicts state the total time of both choices. A change has to save 0.2 % of the time.
/// Returns the predicted time in seconds. The first `taken` regions stay offloaded. REQUIRES: at
/// most `max_regions` of the others have kNone.
double choose_by_overlap(const Overlap& overlap, std::vector<Region>& regions,
                         std::optional<int> max_regions, std::size_t taken = 0);

}  // namespace parallax
