// Predicts the time of a plan on cores that need not be present: an event-driven replay in which
// cores own branches, run tiles of other cores' nodes when idle, and share the memory bandwidth.
//
//   time ->   core 0  [branch 0: n0 n0 n0 | n1 n1][branch 2 ...
//             core 1  [branch 1: n4 n4]   [tiles of n1]
//
// The unit of the replay is the tile: a node of T tiles, each of which needs seconds / T, ends with
// its last tile, so few large tiles on many cores are slow. Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "parallax/result.h"

namespace parallax {

/// A node as the replay sees it.
struct SimulatedNode {
  /// Seconds of all tiles, run in sequence on an otherwise idle core, for each kind of core.
  std::vector<double> seconds;
  double memory_bytes = 0;  ///< traffic between memory and caches
  std::int64_t tiles = 1;   ///< 0: nothing to do
};

/// The branches of a plan.
struct Workload {
  IdVector<BranchId, std::vector<SimulatedNode>> branches;
  /// A branch starts when all of these are done. REQUIRES: no cycles.
  IdVector<BranchId, std::vector<BranchId>> waits;
  /// For a branch of a delegate: its time there in seconds, launch included; 0: the CPU runs it.
  IdVector<BranchId, double> delegate_seconds;
  /// The delegate of each such branch; each runs one branch at a time. Empty: there is one
  /// delegate.
  IdVector<BranchId, int> delegate = {};
};

/// The machine of the replay.
struct SimulatedCpu {
  std::vector<std::size_t> kinds;  ///< kind of the core of each thread; the first thread starts the
                                   ///< run
  double bytes_per_second = 0;     ///< memory bandwidth of all cores together; 0: no limit
  double node_seconds = 0;         ///< to start a node
  double share_seconds = 0;        ///< until a core has joined another core's node
};

/// The result of a replay, in seconds from the start of the run.
struct Simulation {
  struct Span {
    double begin = 0, end = 0;
  };
  double seconds = 0;
  double busy_seconds = 0;  ///< sum over all cores, without waiting
  IdVector<BranchId, Span> spans;
};

/// Nodes with more tiles are replayed with this number of tiles.
inline constexpr std::int64_t kMaxReplayedTiles = 4096;

/// Replays the workload. O((V + E + tiles) * cores); deterministic. Errors: kInternal (stage
/// kSchedule) for inconsistent sizes, no cores, a cycle, or a node without seconds for a kind of
/// core.
Result<Simulation> simulate(const Workload& workload, const SimulatedCpu& cpu);

}  // namespace parallax
