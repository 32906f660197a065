// Where every tensor of a plan lies: lifetimes in, offsets out. Pure arithmetic, allocates nothing
// but its results.
//
// Time is two-level: a plan is a list of steps with a barrier between them; the branches of one
// step may run at once, each runs its nodes in order. A buffer lives from the node that makes it to
// the last node that reads it. Buffers whose lifetimes may overlap in any execution that the steps
// allow never share bytes: two buffers used by different branches of one step overlap, whatever
// their positions.
//
// Every function but the two checks expects what check_problem accepts. Where the bytes of all
// buffers together do not fit 63 bits, every sum saturates at kTooManyBytes and offsets are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

/// What sums of bytes come to where they do not fit 63 bits.
inline constexpr std::int64_t kTooManyBytes = std::numeric_limits<std::int64_t>::max();

/// Errors (kInternal): a branch that is in no step or in two, a position outside its branch, a
/// negative size, a tensor read before it is made or by another branch of the step that makes it.
Status check_problem(const MemoryProblem& problem, const Steps& steps);

/// A buffer for every tensor, no sharing.
std::int64_t naive_bytes(const MemoryProblem& problem);
/// Most bytes live at once when everything runs one node after the other in the order of `steps`.
std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps);
/// Most bytes live at once during each step, over every execution that the steps allow.
std::vector<std::int64_t> step_peaks(const MemoryProblem& problem, const Steps& steps);
/// TFLite's greedy-by-size over the sequential order of `steps` (forbids parallel branches; the
/// figure to compare with). Problems with more than kMaxConflicts pairs of tensors that live at
/// once get the offsets of plan_paper for that order instead: greedy is quadratic there.
Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps);
/// The paper: an arena per branch with a bump pointer, liveness and a free list inside; freed
/// blocks are handed over to arenas of later steps.
Offsets plan_paper(const MemoryProblem& problem, const Steps& steps);
/// The best offsets known for these steps: the smallest of plan_paper, greedy-by-size over what may
/// live at once in parallel, and orders derived from it. Same limit as plan_greedy.
Offsets plan_steps(const MemoryProblem& problem, const Steps& steps);
inline constexpr std::size_t kMaxConflicts = std::size_t{1} << 20;
/// M_i: the bytes the branch's own buffers take at most at once, tensors needed downstream staying
/// live.
IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem);

/// Error (kInternal, names both buffers) where two buffers that may live at once overlap, or one
/// leaves the memory.
Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets);

}  // namespace parallax
