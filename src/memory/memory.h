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
//
// Units are bytes. Planning calls these functions while a plan is made (schedule/), the OpenCL
// delegate for the tensors of one region; a run only uses the offsets. Offsets count from the start
// of one block of memory, which must be aligned to kAlignment (64, base/checked.h); the folder
// itself allocates no tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/id.h"
#include "parallax/result.h"

namespace parallax {

/// Node `index` of branch `branch`. A branch is a list of nodes that always run one after the
/// other; `index` counts from 0 and is less than its branch_length.
struct Position {
  BranchId branch;
  std::int32_t index = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// A tensor in memory, with its lifetime.
struct Buffer {
  /// Unrounded; planners round to kAlignment. At least 0; a buffer of 0 bytes has offset 0 and
  /// conflicts with no other.
  std::int64_t bytes = 0;
  Position made;  ///< the node that writes it
  /// Nodes that read it; empty: dead immediately. In any order, with repetitions allowed. A reader
  /// in the branch of the maker may be the maker itself; every other branch must be in a later
  /// step.
  std::vector<Position> reads;
  /// Earlier buffers of the same size that it may overwrite: `made` reads each of them, and reads
  /// no element after writing the element in its place. Indices into MemoryProblem::buffers, all
  /// smaller than its own. Sizes are compared unrounded; candidates of another size are ignored.
  std::vector<std::int32_t> over = {};
};

/// The input of all planners.
struct MemoryProblem {
  IdVector<BranchId, std::int32_t> branch_length;  ///< nodes of each branch
  std::vector<Buffer> buffers;
  /// Branches that must be able to run concurrently with each branch, in whatever step they are:
  /// buffers that it uses live until they are done. Each list ascends; empty: there are no such
  /// branches. compile/lifetimes.cc sets it, for regions of a device and the branches that the CPU
  /// may run during them. Its length is 0 or that of branch_length.
  IdVector<BranchId, std::vector<BranchId>> concurrent = {};
};

/// Branches of one step may run concurrently; each branch is in exactly one step; steps respect
/// dependencies. An executor must not start a branch before all branches of the previous step are
/// done, unless the plan has Waits in place of the barriers.
using Steps = std::vector<std::vector<BranchId>>;

/// For each branch: the branches that must be done before it may start.
using Waits = IdVector<BranchId, std::vector<BranchId>>;

/// The result of a planner.
struct Offsets {
  std::vector<std::int64_t> offset;  ///< one per buffer, multiples of kAlignment
  std::int64_t bytes = 0;            ///< size of the memory that holds them all, or kTooManyBytes
};

/// Search steps per plan: about 50 ms on one Zen 4 core. The count is of work, not of time: the
/// same problem gives the same plan on every machine and under every load.
inline constexpr std::int64_t kPlanEffort = 500'000;

/// The value of sums of bytes that do not fit 63 bits.
inline constexpr std::int64_t kTooManyBytes = std::numeric_limits<std::int64_t>::max();

/// Errors (kInternal): a branch that is in no step or in two, a position outside its branch, a
/// negative size, a tensor read before it is made or by another branch of the step that makes it, a
/// buffer over one that does not come before it or that its node does not read. Also for 2^31 - 1
/// nodes or buffers, or more. Every error has stage kMemory and names the branch or buffer by its
/// number. Negative lengths of branches are errors, too.
Status check_problem(const MemoryProblem& problem, const Steps& steps);

// naive_bytes, plan_greedy and plan_paper are baselines: like the systems that they represent, they
// ignore Buffer::over. step_peaks, lower_bound_bytes and plan_steps use it.

/// Returns the bytes without any sharing. Each size is rounded up to kAlignment. kTooManyBytes if
/// the sum does not fit; callers test this first.
std::int64_t naive_bytes(const MemoryProblem& problem);
/// Returns the maximum of bytes that live at the same time if all nodes run one after the other in
/// the order of `steps`. Sizes are rounded, and buffers that may be overwritten in that sequential
/// order are joined. Every placement for this order needs as much at least, and possibly more.
std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps);
/// Returns for each step the maximum of bytes that live at the same time, over every execution that
/// the steps allow. A step counts what is live when it starts, and the sum over its branches of the
/// most that each may add. Any plan for these steps needs the maximum of the result at least, if it
/// joins the same buffers.
std::vector<std::int64_t> step_peaks(const MemoryProblem& problem, const Steps& steps);
/// TFLite's greedy-by-size for the sequential order of `steps`, which does not allow concurrent
/// branches; a baseline. With more than kMaxConflicts pairs of tensors that live at the same time,
/// for which greedy is quadratic, returns the offsets of plan_paper for that order. Its offsets are
/// valid only if branches run one after the other. Only figures of reports use it.
Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps);
/// The paper's algorithm: an arena per branch with a bump pointer, liveness and a free list inside;
/// freed blocks are passed to arenas of later steps. Within a step, branches with a larger
/// branch_peaks() claim blocks first. O(n log n), so it is the result that plan_steps() starts
/// from.
Offsets plan_paper(const MemoryProblem& problem, const Steps& steps);
/// Returns the best offsets found for these steps: the smallest result of plan_paper, of
/// greedy-by-size with concurrent branches, of orders derived from it (same limit as plan_greedy),
/// and, unless one reaches step_peaks, of an exact search of `effort` steps (packing/packing.h).
/// Plans once with buffers joined in place and, if that misses the bound, once more without; the
/// smaller wins. `effort` counts for each of the two; 0: no search. Problems of more than 20,000
/// buffers are not searched. Deterministic.
Offsets plan_steps(const MemoryProblem& problem, const Steps& steps,
                   std::int64_t effort = kPlanEffort);
/// Returns offsets for a problem that differs from one with known offsets in sizes only. Places
/// every buffer as low as possible, in ascending order of known offsets; with the sizes of the
/// known problem the result is no larger. nullopt if there are more pairs than the limit of
/// plan_greedy. Also nullopt if `known` has another number of offsets or the sizes together do not
/// fit 63 bits. Buffers that have the same known offset are joined if the conditions of
/// join_in_place() hold. Makes one greedy pass, without a search.
std::optional<Offsets> plan_like(const MemoryProblem& problem, const Steps& steps,
                                 const Offsets& known);
/// Limit for the pairs of buffers that live at the same time, for algorithms that are quadratic
/// otherwise. 2^20 pairs; a pair needs 8 bytes while they are found and 8 more in the lists.
inline constexpr std::size_t kMaxConflicts = std::size_t{1} << 20;
/// Returns M_i for each branch: the maximum of the branch's own bytes that live at the same time;
/// tensors that later branches read stay live. Needs no steps: only reads within the branch end a
/// life. kTooManyBytes for every branch if the sum of all sizes does not fit.
IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem);

/// Errors: kInternal, with the names of the buffers, if two buffers that may live at the same time
/// overlap, or one is outside the memory. Checks the problem first, with the errors of
/// check_problem(). Further errors: a sum of bytes that exceeds 63 bits, another number of offsets
/// than of buffers, an offset that is negative or no multiple of kAlignment. Buffers with equal
/// offsets count as one if the later may overwrite the earlier. O(n log n).
Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets);

}  // namespace parallax
