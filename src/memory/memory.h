// Where every tensor of a plan lies: lifetimes in, offsets out. Pure arithmetic, allocates nothing
// but its results.
//
// Time is two-level: a plan is a list of steps with a barrier between them; the branches of one
// step may run at once, each runs its nodes in order. A buffer lives from the node that makes it to
// the last node that reads it. Buffers whose lifetimes may overlap in any execution that the steps
// allow never share bytes: two buffers used by different branches of one step overlap, whatever
// their positions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "parallax/result.h"

namespace parallax {

/// Node `index` of branch `branch`.
struct Position {
  BranchId branch;
  std::int32_t index = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Buffer {
  std::int64_t bytes = 0;       ///< unrounded; planners round to kAlignment
  Position made;                ///< the node that writes it
  std::vector<Position> reads;  ///< nodes that read it; empty: dead at once
};

struct MemoryProblem {
  IdVector<BranchId, std::int32_t> branch_length;  ///< nodes of each branch
  std::vector<Buffer> buffers;
};

/// Branches of one step may run at once; all branches appear in exactly one step; steps respect
/// dependencies.
using Steps = std::vector<std::vector<BranchId>>;

struct Offsets {
  std::vector<std::int64_t> offset;  ///< one per buffer, multiples of kAlignment
  std::int64_t bytes = 0;            ///< size of the memory that holds them all
};

/// A buffer for every tensor, no sharing.
std::int64_t naive_bytes(const MemoryProblem& problem);
/// Most bytes live at once when everything runs one node after the other in the order of `steps`.
std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps);
/// TFLite's greedy-by-size over the sequential order of `steps` (forbids parallel branches; the
/// figure to compare with).
Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps);
/// The paper: an arena per branch with a bump pointer, liveness and a free list inside; freed
/// blocks are handed over to arenas of later steps.
Offsets plan_paper(const MemoryProblem& problem, const Steps& steps);
/// M_i: the bytes the branch's own buffers take at most at once, tensors needed downstream staying
/// live.
IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem);

/// Error (kInternal, names both buffers) where two buffers that may live at once overlap, or one
/// leaves the memory.
Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets);

}  // namespace parallax
