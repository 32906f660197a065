// What passes share to change a graph and leave it whole: values that take the place of others, and
// the removal of what is no longer read. Not thread-safe.
#pragma once

#include "ir/graph.h"

namespace parallax {

/// Replaces values by equal ones while a pass walks the nodes in order:
///
///     Replacements replacements(graph);
///     for (NodeId id : graph.nodes.ids()) {
///       replacements.apply(graph.nodes[id]);
///       if (... the node does nothing ...) replacements.replace(its output, its input);
///     }
///     replacements.finish();
///
/// The whole costs O(V+E).
class Replacements {
 public:
  explicit Replacements(Graph& graph);
  /// Makes the node read the values that took the place of its inputs.
  void apply(Node& node) const;
  /// Lets `to` take the place of `from`, which has the same dtype, shape and elements, also as an
  /// output of the graph under the same name. False, with nothing changed, where that cannot be:
  /// `from` is an output, and `to` already has a name that users see.
  bool replace(ValueId from, ValueId to);
  /// Where uses of `id` go now.
  ValueId now(ValueId id) const { return id.valid() ? to_[id] : id; }
  /// Makes the graph's outputs follow and removes what is unused.
  void finish();

 private:
  Graph& graph_;
  IdVector<ValueId, ValueId> to_;
  IdVector<ValueId, bool> is_output_;
};

/// Makes a computed value a constant. Its node keeps no claim to it.
void make_constant_value(Graph& graph, ValueId id, Constant constant);
/// Makes a computed value symbolic; it has content. Its node keeps no claim to it.
void make_symbolic_value(Graph& graph, ValueId id);

/// Removes nodes whose outputs are not needed and values that no node mentions; keeps order,
/// inputs and outputs. The number of nodes removed. O(V+E).
int erase_unused(Graph& graph);

}  // namespace parallax
