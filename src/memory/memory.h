// Where every tensor of a plan lies: lifetimes in, offsets out. Pure arithmetic that allocates only
// its results.
//
// Time has two levels: a plan is a list of steps with a barrier between them; the branches of one
// step may run at once, and each runs its nodes in order. A buffer lives from the node that makes
// it to the last node that reads it. Buffers never share bytes if their lifetimes may overlap in
// any execution that the steps allow: two buffers used by different branches of one step overlap,
// whatever their positions. The one exception: a buffer may lie exactly on one that its node
// overwrites element by element (Buffer::over), if no node reads that one afterwards.
//
// Every function but the two checks REQUIRES a problem that check_problem accepts. If the bytes of
// all buffers together do not fit 63 bits, every sum is kTooManyBytes and offsets are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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
  /// Earlier buffers of the same size whose place it may take: `made` reads each of them, and no
  /// element after writing the element in its place.
  std::vector<std::int32_t> over = {};
};

struct MemoryProblem {
  IdVector<BranchId, std::int32_t> branch_length;  ///< nodes of each branch
  std::vector<Buffer> buffers;
  /// Branches that should be able to run while this one does, in whatever step they are: buffers
  /// that it uses live until they are done. Each list ascends; empty: none.
  IdVector<BranchId, std::vector<BranchId>> concurrent = {};
};

/// Branches of one step may run at once; all branches appear in exactly one step; steps respect
/// dependencies.
using Steps = std::vector<std::vector<BranchId>>;

/// For each branch those that must be done before it may start.
using Waits = IdVector<BranchId, std::vector<BranchId>>;

struct Offsets {
  std::vector<std::int64_t> offset;  ///< one per buffer, multiples of kAlignment
  std::int64_t bytes = 0;            ///< size of the memory that holds them all
};

/// Search steps per plan: about 50 ms on one Zen 4 core.
inline constexpr std::int64_t kPlanEffort = 500'000;

/// The value of sums of bytes that do not fit 63 bits.
inline constexpr std::int64_t kTooManyBytes = std::numeric_limits<std::int64_t>::max();

/// Errors (kInternal): a branch that is in no step or in two, a position outside its branch, a
/// negative size, a tensor read before it is made or by another branch of the step that makes it, a
/// buffer over one that does not come before it or that its node does not read.
Status check_problem(const MemoryProblem& problem, const Steps& steps);

// naive_bytes, plan_greedy and plan_paper are figures to compare with: like the systems that they
// stand for, they ignore Buffer::over. step_peaks, lower_bound_bytes and plan_steps use it.

/// A buffer for every tensor, no sharing.
std::int64_t naive_bytes(const MemoryProblem& problem);
/// Most bytes live at once when everything runs one node after the other in the order of `steps`.
std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps);
/// Most bytes live at once during each step, over every execution that the steps allow.
std::vector<std::int64_t> step_peaks(const MemoryProblem& problem, const Steps& steps);
/// TFLite's greedy-by-size over the sequential order of `steps` (forbids parallel branches; the
/// figure to compare with). With more than kMaxConflicts pairs of tensors that live at once, where
/// greedy is quadratic, the offsets of plan_paper for that order.
Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps);
/// The paper: an arena per branch with a bump pointer, liveness and a free list inside; freed
/// blocks are handed over to arenas of later steps.
Offsets plan_paper(const MemoryProblem& problem, const Steps& steps);
/// The best offsets known for these steps: the smallest of plan_paper, greedy-by-size over what may
/// live at once in parallel, orders derived from it (same limit as plan_greedy), and, unless one
/// reaches step_peaks, an exact search of `effort` steps (packing/packing.h).
Offsets plan_steps(const MemoryProblem& problem, const Steps& steps,
                   std::int64_t effort = kPlanEffort);
/// Offsets for a problem that differs from one with known offsets in sizes only. Places every
/// buffer as low as possible, in the order of rising known offsets; with the sizes of the known
/// problem it takes no more bytes than they do. Nothing if pairs exceed the limit of plan_greedy.
std::optional<Offsets> plan_like(const MemoryProblem& problem, const Steps& steps,
                                 const Offsets& known);
inline constexpr std::size_t kMaxConflicts = std::size_t{1} << 20;
/// M_i: the most bytes of the branch's own buffers that live at once; tensors that later branches
/// read stay live.
IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem);

/// Error (kInternal, names both buffers) if two buffers that may live at once overlap, or one lies
/// outside the memory.
Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets);

}  // namespace parallax
