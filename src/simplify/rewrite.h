// Helpers with which passes change a graph consistently: substitution of values, and removal of
// unused nodes. Called by passes of simplify/ and lower/, and by partition/. Not thread-safe.
#pragma once

#include "ir/graph.h"

namespace parallax {

/// Replaces values by equal ones while a pass visits the nodes in order:
///
///     Replacements replacements(graph);
///     for (NodeId id : graph.nodes.ids()) {
///       replacements.apply(graph.nodes[id]);
///       if (... the node does nothing ...) replacements.replace(its output, its input);
///     }
///     replacements.finish();
///
/// All steps together cost O(V+E). No values may be added meanwhile. Bodies need no visit: whatever
/// they read of the graph around them is an input of their node.
class Replacements {
 public:
  explicit Replacements(Graph& graph);
  /// Makes the node read the replacements of its inputs.
  void apply(Node& node) const;
  /// Replaces `from` by `to`. If `to` has no Value::content, it gets that of `from`. If `from` is
  /// an output of the graph, `to` becomes that output, and the two exchange names. Returns false,
  /// without a change, if `to` is `from`, or if `from` is an output and `to` is an output too or is
  /// not computed by a node. REQUIRES: both have the same dtype, shape and elements; now(to) is
  /// `to`, and `to` is not replaced later.
  bool replace(ValueId from, ValueId to);
  /// Returns the current replacement of `id`; `id` itself if it was not replaced or is invalid.
  ValueId now(ValueId id) const { return id.valid() ? to_[id] : id; }
  /// Replaces the graph's outputs, then calls erase_unused(): all ids may change.
  void finish();

 private:
  Graph& graph_;
  IdVector<ValueId, ValueId> to_;
  IdVector<ValueId, bool> is_output_;
};

/// Makes a value a constant. Its node no longer computes it; erase_unused() removes the node if
/// none of its other outputs is needed. The value gets the dtype and shape of `constant` and loses
/// Value::content. REQUIRES: a node computes it.
void make_constant_value(Graph& graph, ValueId id, Constant constant);
/// Makes a computed value symbolic. Its node no longer computes it; erase_unused() removes the node
/// if none of its other outputs is needed. REQUIRES: a node computes it, and it has Value::content,
/// its elements as expressions.
void make_symbolic_value(Graph& graph, ValueId id);

/// Removes nodes whose outputs are not needed and values that no node mentions; keeps order, inputs
/// and outputs, and numbers the remaining nodes and values again. Returns the number of nodes
/// removed. O(V+E).
int erase_unused(Graph& graph);

}  // namespace parallax
