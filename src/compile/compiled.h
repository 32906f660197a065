// One binding of the symbols: concrete dimensions, kernels, values that share bytes, lifetimes.
// Making it is the expensive part of planning; all plans of the binding share it. It knows which
// values are constant, and the bytes of parameters; it packs no weights and starts no thread.
// Immutable once made, hence thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compile/graph_context.h"
#include "cost/kernel_seconds.h"
#include "kernels/registry.h"
#include "schedule/plan.h"

namespace parallax {

enum class NodeRole : std::uint8_t {
  kView,       ///< nothing to run: its output shares the bytes of its input
  kPlanned,    ///< compiled now, outputs in the arena
  kDelegated,  ///< part of a region: a device runs it with the others, or `code` as the fallback
  kRunTime,    ///< some dimension depends on values: inferred and compiled when reached, even in a
               ///< region of a device
  kBodies,     ///< If, Loop, Scan: runs its bodies
  kObjects,    ///< reads or creates objects, by a kernel of kernels/objects
};

/// A kernel and the inputs that it reads.
struct NodeKernel {
  std::shared_ptr<const Kernel> kernel;  ///< shared by nodes that need the same one
  const KernelRow* row = nullptr;        ///< row of the catalogue
  std::int64_t tiles = 0;
  /// For each input: false if the kernel receives a null pointer (left out, not read, no elements).
  std::vector<bool> reads;
  std::shared_ptr<const PackingList> packings;  ///< null: weights are not packed
};

struct Compiled;

/// A body, planned together with its node.
struct CompiledBody {
  std::shared_ptr<const Compiled> compiled;
  Plan plan = {};
  std::optional<Error> error = {};  ///< the reason why neither exists; returned if the branch is
                                    ///< taken
};

/// The memory for carried values and slices of a loop: offsets in its workspace, -1 if the value
/// has memory of its own or a size that becomes known during the run.
struct LoopBuffers {
  std::vector<std::pair<std::int64_t, std::int64_t>> carried;  ///< two buffers, used alternately
  std::vector<std::int64_t> scan_inputs, scan_outputs;         ///< one slice each
};

struct CompiledNode {
  NodeRole role = NodeRole::kPlanned;
  NodeKernel code;                ///< kPlanned; kDelegated with Delegation::substitute
  bool code_is_shared = false;    ///< made for another node or binding before
  std::int64_t macs = 0;          ///< 0 if dimensions are not known yet
  std::int64_t bytes = 0;         ///< read and written
  double seconds = 0;             ///< predicted for all tiles on one core; 0 as above
  std::vector<ValueId> releases;  ///< values of run-time size that this node reads, each once
  // kBodies:
  std::vector<CompiledBody> bodies;
  LoopBuffers loop;
  std::optional<std::int64_t> trips;  ///< trips of a Loop or Scan, if the binding determines them
  /// The maximum of the bodies' arenas with their staged values, followed by `loop`.
  std::int64_t workspace_bytes = 0;
  std::int32_t workspace = -1;  ///< index of the workspace in MemoryProblem::buffers; -1: no
                                ///< workspace
};

/// Returns the predicted seconds of a node on one core, its start included; 0 if there is nothing
/// to run or its shapes are unknown.
inline double predicted_work(const CompiledNode& node) {
  const bool runs = node.role == NodeRole::kPlanned || node.role == NodeRole::kBodies;
  return runs ? kNodeSeconds + node.seconds : 0;
}

/// Returns the predicted nanoseconds of a node's tiles on one core, which decide whether it is
/// offered to other threads. 0 for views; infinite for nodes that are neither views nor kPlanned,
/// such as those of unknown shapes.
double predicted_ns(const CompiledNode& node);

/// Sizes are bytes. Indices are those of the context's graph, which it keeps alive.
struct Compiled {
  std::shared_ptr<GraphContext> context;
  KernelChoice kernels;
  Binding binding;
  IdVector<ValueId, std::optional<Dims>> dims;  ///< nullopt if they depend on values
  /// The value whose bytes each value shares: itself, or the start of its chain of views.
  IdVector<ValueId, ValueId> root;
  /// Bytes of constants and symbolic values, at any alignment; null for others. For strings: the
  /// address of their Object.
  IdVector<ValueId, const std::byte*> fixed;
  std::vector<AlignedBytes> materialised;  ///< bytes of symbolic values
  IdVector<NodeId, CompiledNode> nodes;
  bool has_run_time_nodes = false;
  /// Roots that a region computes and that are read only inside it; empty: there are none.
  IdVector<ValueId, bool> internal;
  bool is_internal(ValueId id) const { return !internal.empty() && internal[id]; }
  /// Number of readers of each root of run-time size (a result, or an input of a body), graph
  /// outputs included; 0 for other values.
  IdVector<ValueId, std::int32_t> run_time_readers;
  /// The graph output in whose memory a root is stored, or -1. For roots of run-time size this is
  /// possible only in a body.
  IdVector<ValueId, std::int32_t> output_of;
  MemoryProblem problem;
  /// The root stored in each buffer of `problem`; invalid for workspaces.
  std::vector<ValueId> buffer_value;
  IdVector<BranchId, double> work;  ///< predicted seconds
  std::vector<LayerGroups> groups;
  std::int64_t scratch_bytes = 0;  ///< for one thread, rounded to kAlignment

  const Graph& graph() const { return context->graph; }
};

/// Computes dimensions, kernels and lifetimes for `binding`. `like`, of the same context and
/// kernels, provides everything that `binding` does not change; null: nothing is reused.
/// Errors: kUnboundSymbol, kInvalidInput (sizes that contradict each other),
/// kUnsupported, kOutOfMemory.
Result<std::shared_ptr<const Compiled>> compile(std::shared_ptr<GraphContext> context,
                                                const Binding& binding, KernelChoice kernels,
                                                Refinement refinement = Refinement::kTime,
                                                const Compiled* like = nullptr);

/// Returns whether the node is in a region.
bool in_region(const Compiled& compiled, NodeId id);
/// Returns whether all sizes of a region are known before the run, so that a device is bound to
/// them then.
bool is_planned(const Compiled& compiled, BranchId region);

/// Returns a kernel for `node` with concrete dims, which inference must have accepted. Errors:
/// those of make_inferred_kernel(). Weights that the kernel wants packed are only listed in
/// NodeKernel::packings; bind() packs them. Mapped pages of constants of 64 KiB or more that the
/// kernel does not read in place are released afterwards.
Result<NodeKernel> make_node_kernel(const Compiled& compiled, NodeId node,
                                    std::span<const Dims> inputs, std::span<const Dims> outputs);

/// Returns the constant whose bytes `id` shares; null if it is not a constant.
const Constant* constant_of(const Compiled& compiled, ValueId id);

/// Returns a plan of `compiled`, which replaces the branches, bytes and times in `options`. Errors:
/// kBudgetExceeded. Pure function; allocates only its result. Branches of a step come heaviest
/// first, so that no thread starts the longest one last.
Result<Plan> plan_of(const Compiled& compiled, ScheduleOptions options);

/// Returns the bytes of the arena that `plan` needs; nullopt if they do not fit 63 bits. Rounded up
/// to kAlignment.
std::optional<std::int64_t> arena_bytes(const Plan& plan);

}  // namespace parallax
