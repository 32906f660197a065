// One binding of the symbols: concrete dimensions, kernels, which values share bytes, lifetimes.
// Making it is the expensive part of planning; all plans of the binding share it. It sees which
// values are constant, and the bytes of parameters; it packs no weights and starts no thread.
//
// Immutable once made.
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
  kView,       ///< nothing to do: its output has the bytes of its input
  kPlanned,    ///< compiled now, outputs in the arena
  kDelegated,  ///< part of a region: a device runs it with the others, or `code` in its place
  kRunTime,    ///< some dimension depends on values: inferred and compiled when reached, be it by a
               ///< device that runs its region
  kBodies,     ///< If, Loop, Scan: runs its bodies
  kObjects,    ///< reads or makes objects, by a kernel of kernels/objects
};

/// A kernel and what it reads.
struct NodeKernel {
  std::shared_ptr<const Kernel> kernel;  ///< shared by nodes that need the same one
  const KernelRow* row = nullptr;        ///< of the catalogue
  std::int64_t tiles = 0;
  /// Per input: false if the kernel is given a null pointer (left out, not read, no elements).
  std::vector<bool> reads;
  std::shared_ptr<const PackingList> packings;  ///< null: none
};

struct Compiled;

/// A body, planned with the node that has it.
struct CompiledBody {
  std::shared_ptr<const Compiled> compiled;
  Plan plan = {};
  std::optional<Error> error = {};  ///< why there is neither; returned if the branch is taken
};

/// Where a loop keeps carried values and slices: offsets in its workspace, -1 if the value has a
/// place of its own or a size that only running tells.
struct LoopBuffers {
  std::vector<std::pair<std::int64_t, std::int64_t>> carried;  ///< two places, used in turn
  std::vector<std::int64_t> scan_inputs, scan_outputs;         ///< of one slice
};

struct CompiledNode {
  NodeRole role = NodeRole::kPlanned;
  NodeKernel code;                ///< kPlanned; kDelegated with Delegation::substitute
  bool code_is_shared = false;    ///< made for another node or binding
  std::int64_t macs = 0;          ///< 0 if dimensions are not known yet
  std::int64_t bytes = 0;         ///< read and written
  double seconds = 0;             ///< predicted, of all tiles on one core; 0 as above
  std::vector<ValueId> releases;  ///< run-time roots that this node reads, each once
  // kBodies:
  std::vector<CompiledBody> bodies;
  LoopBuffers loop;
  std::optional<std::int64_t> trips;  ///< of a Loop or Scan, if the binding tells
  /// The bodies' arenas and what is staged behind them, one over the other, then `loop`.
  std::int64_t workspace_bytes = 0;
  std::int32_t workspace = -1;  ///< the buffer of the problem that has these bytes
};

/// Predicted seconds of a node on one core, its start included; 0 if it has nothing to do or its
/// shapes are unknown.
inline double predicted_work(const CompiledNode& node) {
  const bool runs = node.role == NodeRole::kPlanned || node.role == NodeRole::kBodies;
  return runs ? kNodeSeconds + node.seconds : 0;
}

/// What a node keeps one core busy with, by which it is offered to other threads: its tiles alone.
/// Infinite if the shapes are unknown.
double predicted_ns(const CompiledNode& node);

struct Compiled {
  std::shared_ptr<GraphContext> context;
  KernelChoice kernels;
  Binding binding;
  IdVector<ValueId, std::optional<Dims>> dims;  ///< nothing if they depend on values
  /// The value whose bytes a value has: itself, or the start of its chain of views.
  IdVector<ValueId, ValueId> root;
  /// Bytes of constants and symbolic values, at any alignment; null for others. Of strings: where
  /// their Object is.
  IdVector<ValueId, const std::byte*> fixed;
  std::vector<AlignedBytes> materialised;  ///< bytes of symbolic values
  IdVector<NodeId, CompiledNode> nodes;
  bool has_run_time_nodes = false;
  /// Roots that a region makes and nothing outside it reads; empty: none.
  IdVector<ValueId, bool> internal;
  bool is_internal(ValueId id) const { return !internal.empty() && internal[id]; }
  /// Readers of each run-time root (a result, or an input of a body), graph outputs included; 0 for
  /// other values.
  IdVector<ValueId, std::int32_t> run_time_readers;
  /// The graph output in whose memory a root lies, else -1. A root that only running can size lies
  /// there only in a body.
  IdVector<ValueId, std::int32_t> output_of;
  MemoryProblem problem;
  /// The root behind each buffer of `problem`; invalid for workspaces.
  std::vector<ValueId> buffer_value;
  IdVector<BranchId, double> work;  ///< predicted seconds
  std::vector<LayerGroups> groups;
  std::int64_t scratch_bytes = 0;  ///< of one thread, rounded to kAlignment

  const Graph& graph() const { return context->graph; }
};

/// Dimensions, kernels and lifetimes for `binding`. `like`, of the same context and kernels,
/// provides what `binding` does not change. Errors: kUnboundSymbol, kInvalidInput (sizes that
/// contradict each other), kUnsupported, kOutOfMemory.
Result<std::shared_ptr<const Compiled>> compile(std::shared_ptr<GraphContext> context,
                                                const Binding& binding, KernelChoice kernels,
                                                Refinement refinement = Refinement::kTime,
                                                const Compiled* like = nullptr);

/// Whether a region has the node.
bool in_region(const Compiled& compiled, NodeId id);
/// Whether all sizes of a region are known before the run, so that a device is bound to them then.
bool is_planned(const Compiled& compiled, BranchId region);

/// A kernel for `node` under concrete dims that inference accepts.
Result<NodeKernel> make_node_kernel(const Compiled& compiled, NodeId node,
                                    std::span<const Dims> inputs, std::span<const Dims> outputs);

/// The constant whose bytes `id` has, null where there is none.
const Constant* constant_of(const Compiled& compiled, ValueId id);

/// A plan of `compiled`: what it says of branches, bytes and times takes the place of what
/// `options` says. Errors: kBudgetExceeded.
Result<Plan> plan_of(const Compiled& compiled, ScheduleOptions options);

/// Of the arena that `plan` needs; nothing if they do not fit 63 bits.
std::optional<std::int64_t> arena_bytes(const Plan& plan);

}  // namespace parallax
