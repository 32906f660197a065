// Plans the memory of a run: computes offsets of all tensors from their lifetimes. Thread-safety:
// pure arithmetic that allocates only its results.
//
// Time has two levels: a plan is a list of steps with a barrier between them; the branches of one
// step may run concurrently, and each runs its nodes in order. A buffer lives from the node that
// writes it to the last node that reads it. Buffers never share bytes if their lifetimes may
// overlap in any execution that the steps allow: two buffers used by different branches of one step
// overlap, whatever their positions. The one exception: a buffer may have the same offset as one
// that its node overwrites element by element (Buffer::over), if no node reads that one afterwards.
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

/// A tensor in memory, with its lifetime.
struct Buffer {
  std::int64_t bytes = 0;       ///< unrounded; planners round to kAlignment
  Position made;                ///< the node that writes it
  std::vector<Position> reads;  ///< nodes that read it; empty: dead immediately
  /// Earlier buffers of the same size that it may overwrite: `made` reads each of them, and reads
  /// no element after writing the element in its place.
  std::vector<std::int32_t> over = {};
};

/// The input of all planners.
struct MemoryProblem {
  IdVector<BranchId, std::int32_t> branch_length;  ///< nodes of each branch
  std::vector<Buffer> buffers;
  /// Branches that must be able to run concurrently with each branch, in whatever step they are:
  /// buffers that it uses live until they are done. Each list ascends; empty: there are no such
  /// branches.
  IdVector<BranchId, std::vector<BranchId>> concurrent = {};
};

/// Branches of one step may run concurrently; each branch is in exactly one step; steps respect
/// dependencies.
using Steps = std::vector<std::vector<BranchId>>;

/// For each branch: the branches that must be done before it may start.
using Waits = IdVector<BranchId, std::vector<BranchId>>;

/// The result of a planner.
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

// naive_bytes, plan_greedy and plan_paper are baselines: like the systems that they represent, they
// ignore Buffer::over. step_peaks, lower_bound_bytes and plan_steps use it.

/// Returns the bytes without any sharing.
std::int64_t naive_bytes(const MemoryProblem& problem);
/// Returns the maximum of bytes that live at the same time if all nodes run one after the other in
/// the order of `steps`.
std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps);
/// Returns for each step the maximum of bytes that live at the same time, over every execution that
/// the steps allow.
std::vector<std::int64_t> step_peaks(const MemoryProblem& problem, const Steps& steps);
/// TFLite's greedy-by-size for the sequential order of `steps`, which does not allow concurrent
/// branches; a baseline. With more than kMaxConflicts pairs of tensors that live at the same time,
/// for which greedy is quadratic, returns the offsets of plan_paper for that order.
Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps);
/// The paper's algorithm: an arena per branch with a bump pointer, liveness and a free list inside;
/// freed blocks are passed to arenas of later steps.
Offsets plan_paper(const MemoryProblem& problem, const Steps& steps);
/// Returns the best offsets found for these steps: the smallest result of plan_paper, of
/// greedy-by-size with concurrent branches, of orders derived from it (same limit as plan_greedy),
/// and, unless one reaches step_peaks, of an exact search of `effort` steps (packing/packing.h).
Offsets plan_steps(const MemoryProblem& problem, const Steps& steps,
                   std::int64_t effort = kPlanEffort);
/// Returns offsets for a problem that differs from one with known offsets in sizes only. Places
/// every buffer as low as possible, in ascending order of known offsets; with the sizes of the
/// known problem the result is no larger. nullopt if there are more pairs than the limit of
/// plan_greedy.
std::optional<Offsets> plan_like(const MemoryProblem& problem, const Steps& steps,
                                 const Offsets& known);
/// Limit for the pairs of buffers that live at the same time, for algorithms that are quadratic
/// otherwise.
inline constexpr std::size_t kMaxConflicts = std::size_t{1} << 20;
/// Returns M_i for each branch: the maximum of the branch's own bytes that live at the same time;
/// tensors that later branches read stay live.
IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem);

/// Errors: kInternal, with the names of the buffers, if two buffers that may live at the same time
/// overlap, or one is outside the memory.
Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets);

}  // namespace parallax
