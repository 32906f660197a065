// Runs inference over graphs and single nodes, in the account of a load (LoadQuota), and again at
// run time with concrete shapes. Loaders call it when they append a node, passes after each
// rewrite. One thread at a time may work on a graph or quota; infer_runtime() is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/load_quota.h"
#include "ops/op.h"

namespace parallax {

/// kData symbols by a name that follows from the node, "NonZero_3.0", so that inferring a graph
/// again gives the same symbols. The table of names is built when the first is asked for, and
/// learns symbols that others append. Holds a reference to the graph.
class FreshSymbols {
 public:
  explicit FreshSymbols(Graph& graph) : graph_(graph) {}
  /// Returns symbol `number` of `node`, appending it to the graph if it is new. If a symbol of
  /// another kind has the name, a prime is added.
  Expr make(const Node& node, int number);

 private:
  Graph& graph_;
  std::int32_t known_ = 0;  ///< symbols of the graph that the table has
  std::unordered_map<std::string, SymbolId> ids_;
};

/// Inference over the nodes of one graph, which may grow meanwhile; both must outlive it.
class Inference {
 public:
  Inference(Graph& graph, LoadQuota& quota) : graph_(graph), quota_(quota), symbols_(graph) {}

  /// Fills dtype, shape and content of the outputs of `node` (whose inputs are filled), adding
  /// kData symbols as needed. Refuses outputs of rank > Dims::kMaxRank. Errors: as the operator's
  /// inference; kUnsupported if the quota is spent.
  Status infer(NodeId node);

 private:
  Graph& graph_;
  LoadQuota& quota_;
  FreshSymbols symbols_;
  std::vector<InferInput> inputs_;  ///< keeps its memory from node to node
};

/// Runs Inference::infer over all nodes, in order, after check_node() on each with origin kPass.
/// Stops at the first error, which leaves later nodes as they were.
Status infer_graph(Graph& graph, LoadQuota& quota);
/// Likewise with a quota of its own, for a graph that is not being loaded. `file_bytes`: size of
/// its model's file, which raises the quota.
Status infer_graph(Graph& graph, std::int64_t file_bytes = 0);

/// Checks that each node, in bodies too, is one that its operator computes, of the types and ranks
/// that the graph has for its outputs and of no other dimensions; the latter is left out for
/// arithmetic on known elements. The graph stays as it is. Errors: kInternal if node and graph
/// disagree; as check_node and Inference::infer. O(V+E).
Status check_inferred(const Graph& graph, LoadQuota& quota);

/// Returns the bytes of known elements in the load's account.
std::int64_t content_bytes(const Content& content);
/// Takes the work from the quota. Errors: kUnsupported, of `node` in `graph`, if it is spent.
Status need_work(const Graph& graph, const Node& node, std::int64_t work, LoadQuota& quota);
/// Gives a value another type, and the quota back what its shape and content took. The content
/// stays unknown if the quota is spent (LoadQuota::left_out() is then true). Errors: kUnsupported,
/// of `node` in `graph`, if even the shape is too much.
Status set_type(const Graph& graph, const Node& node, Value& value, InferOutput type,
                LoadQuota& quota);
/// Makes the quota count what the values of the graph and its bodies take, after changes that did
/// not: passes move, copy and drop values. O(V+E).
void settle(const Graph& graph, LoadQuota& quota);

/// A tensor as the executor knows it at run time: concrete, with its bytes if the operator's
/// shape_inputs ask for them. Views: the caller keeps the bytes during the call.
struct RuntimeInput {
  bool present = false;
  DType dtype = DType::kF32;
  Dims dims;
  const std::byte* bytes = nullptr;  ///< aligned; may be null for inputs that are not shape inputs
};
/// Returns the output dims of `node` for concrete inputs, one for each output of the node; nullopt
/// for an output that only the kernel can size (NonZero, NonMaxSuppression). Thread-safe;
/// allocates. Errors, with stage kRun: kInvalidInput for whatever inference refuses; kInternal if
/// the bytes of a shape input are missing.
Result<std::vector<std::optional<Dims>>> infer_runtime(const Node& node,
                                                       std::span<const RuntimeInput> inputs);

}  // namespace parallax
