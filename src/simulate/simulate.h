// How long a plan takes on cores that need not be there: an event-driven replay in which cores own
// branches, take tiles of nodes that run elsewhere when they have none, and share the memory's
// bandwidth.
//
//   time ->   core 0  [branch 0: n0 n0 n0 | n1 n1][branch 2 ...
//             core 1  [branch 1: n4 n4]   [tiles of n1]
//
// The unit of the replay is the tile: a node of T tiles of which each takes seconds / T is over
// when its last tile is, which is what makes few large tiles on many cores slow. Pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id.h"
#include "parallax/result.h"

namespace parallax {

struct SimulatedNode {
  /// By kind of core: all tiles one after the other on an otherwise idle one.
  std::vector<double> seconds;
  double memory_bytes = 0;  ///< that pass between memory and caches meanwhile
  std::int64_t tiles = 1;   ///< 0: nothing to do
};

struct Workload {
  IdVector<BranchId, std::vector<SimulatedNode>> branches;
  /// A branch starts when all of these are done. Acyclic.
  IdVector<BranchId, std::vector<BranchId>> waits;
  /// For a branch that a delegate runs: its time there, launch included; 0: the CPU runs it.
  IdVector<BranchId, double> delegate_seconds;
  /// Which of several delegates that is; each runs one branch at a time. Empty: there is one.
  IdVector<BranchId, int> delegate = {};
};

struct SimulatedCpu {
  std::vector<std::size_t> kinds;  ///< of the core of each thread; the first one starts
  double bytes_per_second = 0;     ///< of the memory, all cores together; 0: no limit
  double node_seconds = 0;         ///< to start a node
  double share_seconds = 0;        ///< until a core has joined a node that runs elsewhere
};

struct Simulation {
  struct Span {
    double begin = 0, end = 0;
  };
  double seconds = 0;
  double busy_seconds = 0;  ///< of all cores, waiting not counted
  IdVector<BranchId, Span> spans;
};

/// Nodes with more tiles than this are replayed as this many.
inline constexpr std::int64_t kMaxReplayedTiles = 4096;

/// Errors (stage kSchedule, kInternal): sizes that do not belong together, no cores, a cycle, a
/// node without seconds for a kind of core.
/// O((V + E + tiles) * cores); deterministic.
Result<Simulation> simulate(const Workload& workload, const SimulatedCpu& cpu);

}  // namespace parallax
