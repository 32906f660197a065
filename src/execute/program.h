// What executing a graph needs, in two parts:
//
//   Compiled  one binding of the symbols: concrete dimensions, kernels, which values share bytes.
//             Making it is the expensive part; all plans of the binding share it.
//   Program   a Compiled under one Plan: the order of execution and where every tensor lies.
//
// Both are immutable once made and shared by concurrent runs; the only thing that grows is a small,
// locked cache of kernels for nodes whose shapes only running can tell.
#pragma once

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
#include "execute/alike_nodes.h"
#include "execute/branch_order.h"
#include "execute/constant_store.h"
#include "execute/faster_order.h"
#include "ir/graph.h"
#include "kernels/packed_weights.h"
#include "kernels/registry.h"
#include "memory/memory.h"
#include "schedule/plan.h"

namespace parallax {

/// What a delegate runs. Plans with regions are made and reported; no executor runs them yet.
struct Delegation {
  IdVector<NodeId, RegionId> region_of;  ///< empty: nothing
  IdVector<RegionId, double> seconds;    ///< predicted, of each region
};

/// The parts of a graph that no binding changes, and what all its sessions share. Outlives every
/// Compiled.
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
  /// Of the nodes that have bodies, one for each.
  std::map<NodeId, std::vector<std::shared_ptr<GraphContext>>> bodies;
};

/// Where the bytes of a value lie while running.
enum class StorageKind : std::uint8_t {
  kNone,     ///< nowhere: nobody made it
  kInput,    ///< graph input `position`
  kFixed,    ///< a constant, or a symbolic value of this binding
  kArena,    ///< at byte `position` of the run's block
  kOutput,   ///< the caller's memory for graph output `position`; the run's own where that cannot
             ///< be written yet, and is copied at the end
  kRunTime,  ///< allocated while running
};
struct Storage {
  StorageKind kind = StorageKind::kNone;
  std::int64_t position = 0;
};

enum class NodeRole : std::uint8_t {
  kView,       ///< nothing to do: its output has the bytes of its input
  kPlanned,    ///< compiled now, outputs in the arena
  kDelegated,  ///< part of a region
  kRunTime,    ///< some dimension depends on values: inferred and compiled when reached
  kBodies,     ///< If, Loop, Scan: runs the programs of its bodies (control_flow.h)
};

/// A kernel that was made, and how to feed it constants.
struct NodeKernel {
  std::shared_ptr<const Kernel> kernel;  ///< shared where the same one serves
  KernelLibrary library = KernelLibrary::kReference;
  std::int64_t tiles = 0;
  /// Per input: its bytes where they are fixed and the kernel reads them; null otherwise.
  std::vector<const std::byte*> fixed;
  /// Per input: false where the kernel gets a null pointer (left out, not read, no elements).
  std::vector<bool> reads;
};

struct Program;

/// A body under the plan that it has inside its node.
struct BodyProgram {
  std::shared_ptr<const Program> program;
  std::optional<Error> error;  ///< why there is none: for when the branch is taken
};

/// Where a loop keeps what it carries and cuts: offsets in its workspace, -1 where the value has a
/// place of its own or a size that only running tells.
struct LoopBuffers {
  std::vector<std::pair<std::int64_t, std::int64_t>> carried;  ///< two in turn
  std::vector<std::int64_t> scan_inputs, scan_outputs;         ///< one slice
};

struct CompiledNode {
  NodeRole role = NodeRole::kPlanned;
  NodeKernel code;                ///< kPlanned
  bool code_is_shared = false;    ///< made for another node or binding
  std::int64_t macs = 0;          ///< 0 where dimensions are not known yet
  std::int64_t bytes = 0;         ///< read and written
  std::vector<ValueId> releases;  ///< run-time roots that this node reads, each once
  // kBodies:
  std::vector<BodyProgram> bodies;
  LoopBuffers loop;
  std::optional<std::int64_t> trips;  ///< of a Loop or Scan, where the binding tells
  std::int64_t workspace_bytes = 0;   ///< the bodies' arenas, one over the other, then `loop`
  std::int32_t workspace = -1;        ///< the buffer of the problem that has these bytes
};

/// Seconds that one core takes for a node; 0 where it has nothing to do or its shapes are not
/// known.
inline double predicted_work(const CompiledNode& node) {
  if (node.role != NodeRole::kPlanned) return 0;
  return predicted_seconds(static_cast<double>(node.macs), static_cast<double>(node.bytes));
}

/// At least so long does a node take on one core: 50 multiply-accumulates and 20 bytes a
/// nanosecond, the best of one core of Zen 4 in f32 (57 and 24 measured). kLong where that is not
/// known or the kernel is a plain one.
double predicted_ns(const CompiledNode& node);

/// Kernels of run-time nodes by node and concrete dimensions, as many as fit both limits; the least
/// recently used is forgotten first, the latest never. Thread-safe.
class RunTimeKernels {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::int64_t kTableBytes = std::int64_t{4} << 20;
  using Key = std::pair<NodeId, std::vector<Dims>>;
  std::shared_ptr<const NodeKernel> find(const Key& key);
  /// Keeps the first kernel where two threads made the same one.
  std::shared_ptr<const NodeKernel> insert(Key key, NodeKernel kernel);
  std::size_t size() const;
  /// Of all of them.
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
  IdVector<ValueId, std::optional<Dims>> dims;  ///< nothing where they depend on values
  /// The value whose bytes a value has: itself, or what a chain of views starts from.
  IdVector<ValueId, ValueId> root;
  /// Bytes of constants and symbolic values, at any alignment; null for others.
  IdVector<ValueId, const std::byte*> fixed;
  std::vector<AlignedBytes> materialised;  ///< bytes of symbolic values
  IdVector<NodeId, CompiledNode> nodes;
  bool has_run_time_nodes = false;
  /// Readers of each run-time root (a result, or what a body gets), graph outputs counted; 0 for
  /// other values.
  IdVector<ValueId, std::int32_t> run_time_readers;
  /// Roots that lie where a graph output does: its index, else -1. Of those that only running can
  /// size, bodies alone write them there.
  IdVector<ValueId, std::int32_t> output_of;
  MemoryProblem problem;
  /// The root behind each buffer of `problem`; invalid for workspaces.
  std::vector<ValueId> buffer_value;
  IdVector<BranchId, double> work;  ///< predicted seconds
  std::vector<LayerGroups> groups;
  std::int64_t scratch_bytes = 0;  ///< of one thread, rounded to kAlignment
  mutable RunTimeKernels run_time_kernels;

  const Graph& graph() const { return context->graph; }
};

/// Dimensions, kernels and lifetimes for `binding`; weights are packed by `parallel`. `like`, of
/// the same context and kernels, gives what `binding` does not change. Errors: kUnboundSymbol,
/// kInvalidInput (sizes that contradict each other), kUnsupported, kOutOfMemory.
Result<std::shared_ptr<const Compiled>> compile(std::shared_ptr<GraphContext> context,
                                                const Binding& binding, KernelChoice kernels,
                                                Refinement refinement = Refinement::kTime,
                                                const ParallelFor& parallel = serial_for,
                                                const Compiled* like = nullptr);

/// A kernel for `node` under concrete dims that inference agrees with, constants fetched as it
/// wants to read them and packed through `packed` (those of the context, now or in a queue).
Result<NodeKernel> make_node_kernel(const Compiled& compiled, NodeId node,
                                    std::span<const Dims> inputs, std::span<const Dims> outputs,
                                    PackedWeights& packed);

struct Program {
  std::shared_ptr<const Compiled> compiled;
  Plan plan;
  BranchOrder order;                     ///< of plan.waits
  IdVector<ValueId, Storage> storage;    ///< of roots; kNone for others
  IdVector<BranchId, double> branch_ns;  ///< sums of predicted_ns()
  mutable FasterOrder faster;            ///< where `order` leaves a choice
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
  const Program* like = nullptr;  ///< of the same context and options: its steps may serve again
  bool explain = true;            ///< ScheduleOptions::explain
};
/// Errors: kBudgetExceeded.
Result<std::shared_ptr<const Program>> lay_out(std::shared_ptr<const Compiled> compiled,
                                               const LayoutOptions& options);

}  // namespace parallax
