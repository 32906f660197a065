// What executing a graph needs, in two parts:
//
//   Compiled  one binding of the symbols: concrete dimensions, kernels, which values share bytes.
//             Making it is the expensive part; all plans of the binding share it.
//   Program   a Compiled under one Plan: the order of execution and where every tensor lies.
//
// Both are immutable once made and shared by concurrent runs, except for a small, locked cache of
// kernels for nodes whose shapes only running can tell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/recently_used.h"
#include "branch/branch.h"
#include "compile/alike_nodes.h"
#include "compile/branch_order.h"
#include "compile/faster_order.h"
#include "cost/kernel_seconds.h"
#include "ir/graph.h"
#include "kernels/registry.h"
#include "kernels/weights/constant_store.h"
#include "kernels/weights/packed_weights.h"
#include "memory/memory.h"
#include "schedule/plan.h"

namespace parallax {

/// The regions that a device runs (run/device.h).
struct Delegation {
  IdVector<NodeId, RegionId> region_of;  ///< empty: nothing
  IdVector<RegionId, double> seconds;    ///< predicted, of each region
  /// The CPU runs a region that its device fails to run: the plan has kernels and memory for that.
  bool substitute = false;
};

/// The parts of a graph that no binding changes and all sessions share. Outlives every Compiled.
struct GraphContext {
  /// Weights that bodies share with the graph around them.
  struct Weights {
    PackedWeights packed;
    ConstantStore constants;
  };
  explicit GraphContext(Graph graph_in, Delegation delegation_in = {},
                        std::shared_ptr<Weights> shared = nullptr);

  const Graph graph;
  const Delegation delegation;
  const BranchGraph branches;
  const IdVector<NodeId, Position> position;  ///< where each node stands in `branches`
  const IdVector<NodeId, NodeId> alike;       ///< find_alike()
  const std::shared_ptr<Weights> weights;
  PackedWeights& packed;
  ConstantStore& constants;
  /// By node with bodies: the context of each body.
  std::map<NodeId, std::vector<std::shared_ptr<GraphContext>>> bodies;
};

/// Where the bytes of a value lie during a run.
enum class StorageKind : std::uint8_t {
  kNone,     ///< nowhere: no node makes it
  kInput,    ///< graph input `position`
  kFixed,    ///< a constant, or a symbolic value of this binding
  kArena,    ///< at byte `position` of the run's block
  kOutput,   ///< the caller's memory for graph output `position`; if that cannot be written yet,
             ///< memory of the run that is copied at the end
  kRunTime,  ///< allocated while running
};
/// Who may touch the bytes of a value. A device with memory of its own works on copies there
/// (run/device.h).
enum class MemorySpace : std::uint8_t {
  kHost,    ///< the CPU
  kShared,  ///< the CPU and, while it runs a region that reads or makes the value, a device
  kDevice,  ///< a device only: the value never leaves its region
};
struct Storage {
  StorageKind kind = StorageKind::kNone;
  std::int64_t position = 0;
  MemorySpace space = MemorySpace::kHost;
};

enum class NodeRole : std::uint8_t {
  kView,       ///< nothing to do: its output has the bytes of its input
  kPlanned,    ///< compiled now, outputs in the arena
  kDelegated,  ///< part of a region: a device runs it with the others, or `code` in its place
  kRunTime,    ///< some dimension depends on values: inferred and compiled when reached
  kBodies,     ///< If, Loop, Scan: runs the programs of its bodies (control_flow.h)
};

/// A kernel and the constants that it reads.
struct NodeKernel {
  std::shared_ptr<const Kernel> kernel;  ///< shared by nodes that need the same one
  const KernelRow* row = nullptr;        ///< of the catalogue
  std::int64_t tiles = 0;
  /// Per input: its bytes if they are fixed and the kernel reads them; else null.
  std::vector<const std::byte*> fixed;
  /// Per input: false if the kernel is given a null pointer (left out, not read, no elements).
  std::vector<bool> reads;
  std::shared_ptr<const PackingList> packings;  ///< null: none
};

struct Program;

/// A body with its plan inside the node.
struct BodyProgram {
  std::shared_ptr<const Program> program;
  std::optional<Error> error;  ///< why there is no program; returned if the branch is taken
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
  std::vector<BodyProgram> bodies;
  LoopBuffers loop;
  std::optional<std::int64_t> trips;  ///< of a Loop or Scan, if the binding tells
  std::int64_t workspace_bytes = 0;   ///< the bodies' arenas, one over the other, then `loop`
  std::int32_t workspace = -1;        ///< the buffer of the problem that has these bytes
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

/// Kernels of run-time nodes by node and concrete dimensions, as many as fit both limits. Forgets
/// the least recently used first, the latest never. Thread-safe.
class RunTimeKernels {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::int64_t kTableBytes = std::int64_t{4} << 20;
  using Key = std::pair<NodeId, std::vector<Dims>>;
  std::shared_ptr<const NodeKernel> find(const Key& key);
  /// Keeps the first kernel if two threads made the same one.
  std::shared_ptr<const NodeKernel> insert(Key key, NodeKernel kernel);
  std::size_t size() const;
  /// Bytes of the tables of all kernels.
  std::int64_t table_bytes() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  mutable Mutex mutex_;
  RecentlyUsed<Key, std::shared_ptr<const NodeKernel>, KeyHash> kernels_ PX_GUARDED_BY(mutex_);
  std::int64_t table_bytes_ PX_GUARDED_BY(mutex_) = 0;
};

struct Compiled {
  std::shared_ptr<GraphContext> context;
  KernelChoice kernels;
  Binding binding;
  IdVector<ValueId, std::optional<Dims>> dims;  ///< nothing if they depend on values
  /// The value whose bytes a value has: itself, or the start of its chain of views.
  IdVector<ValueId, ValueId> root;
  /// Bytes of constants and symbolic values, at any alignment; null for others.
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
  std::int64_t scratch_bytes = 0;           ///< of one thread, rounded to kAlignment
  mutable std::atomic<bool> bound = false;  ///< every packing is there
  mutable RunTimeKernels run_time_kernels;

  const Graph& graph() const { return context->graph; }
};

/// Dimensions, kernels and lifetimes for `binding`. Packs no weights: bind() does, before the first
/// run. `like`, of the same context and kernels, provides what `binding` does not change. Errors:
/// kUnboundSymbol, kInvalidInput (sizes that contradict each other), kUnsupported, kOutOfMemory.
Result<std::shared_ptr<const Compiled>> compile(std::shared_ptr<GraphContext> context,
                                                const Binding& binding, KernelChoice kernels,
                                                Refinement refinement = Refinement::kTime,
                                                const Compiled* like = nullptr);

/// A kernel for `node` under concrete dims that inference accepts. It can run once its packings are
/// there: bind().
Result<NodeKernel> make_node_kernel(const Compiled& compiled, NodeId node,
                                    std::span<const Dims> inputs, std::span<const Dims> outputs);

struct Program {
  std::shared_ptr<const Compiled> compiled;
  Plan plan;
  BranchOrder order;                     ///< of plan.waits
  IdVector<ValueId, Storage> storage;    ///< of roots; kNone for others
  IdVector<BranchId, double> branch_ns;  ///< sums of predicted_ns()
  mutable FasterOrder faster;            ///< if `order` leaves a choice
  int threads = 1;
  std::int64_t arena_bytes = 0;
  std::int64_t bytes = 0;  ///< of the block of a run: the arena, then the scratch of each thread

  std::int64_t scratch_offset(int participant) const {
    return arena_bytes + participant * compiled->scratch_bytes;
  }
};

struct LayoutOptions {
  bool parallel = true;
  int threads = 1;
  std::optional<std::int64_t> budget;
  Admission admission = Admission::kTimeSaved;
  const Program* like = nullptr;  ///< of the same context and options: its steps may be reused
  bool explain = true;            ///< ScheduleOptions::explain
};
/// Errors: kBudgetExceeded.
Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<const Compiled> compiled,
                                               const LayoutOptions& options);

}  // namespace parallax
