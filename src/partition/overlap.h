// How long a graph takes when delegates run some regions while the CPU runs the rest, and which
// regions to offload so that it takes least. Pure functions. Internal to partition/.
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

class Overlap {
 public:
  /// Holds references to all it is given. REQUIRES: `regions`, taken as one node each, leave the
  /// graph without cycles.
  Overlap(const Dag& edges, const IdVector<NodeId, double>& cpu_seconds,
          std::span<const Region> regions);

  /// Predicted time of the graph where devices run the regions that `offloaded` marks, one of each
  /// region, each its own. O((V+E) log V).
  double seconds(const std::vector<bool>& offloaded) const;

 private:
  const Dag& edges_;
  const IdVector<NodeId, double>& cpu_seconds_;
  std::span<const Region> regions_;
  IdVector<NodeId, int> region_of_;  ///< -1: none
  IdVector<NodeId, double> path_;    ///< CPU seconds of the longest path from the node on
  std::size_t devices_ = 1;
};

/// Changes verdicts, of kNone and kLoses only, so that the whole takes least: of those that change,
/// the detail says what the whole takes either way. A change has to save 0.2 % of the time. The
/// predicted time in seconds. The first `taken` regions stay offloaded. REQUIRES: no more than
/// `max_regions` of the others with kNone.
double choose_by_overlap(const Overlap& overlap, std::vector<Region>& regions,
                         std::optional<int> max_regions, std::size_t taken = 0);

}  // namespace parallax
