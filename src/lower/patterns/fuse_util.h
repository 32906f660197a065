// Helpers of the fusing passes: matching around a value.
// A fusion rewrites its *last* node in place, so that order and output values stay, and leaves
// superfluous nodes to erase_unused. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_hashes.h"
#include "base/name_map.h"
#include "ir/graph.h"
#include "simplify/rewrite.h"

namespace parallax {

/// The readers of each value, for the graph as it was at construction. Nodes that passes add later
/// are not known; a node that reads a value twice counts once. O(V+E).
class Readers {
 public:
  explicit Readers(const Graph& graph);
  /// Returns whether exactly one node reads `value` and it is no graph output.
  bool single(ValueId value) const;
  bool is_output(ValueId value) const { return is_output_[value]; }
  /// Returns the nodes that read `value`, in order, each once.
  std::span<const NodeId> of(ValueId value) const;

 private:
  // Readers of one value after those of another: most passes ask for readers and rarely find a
  // match.
  std::vector<NodeId> readers_;
  IdVector<ValueId, std::uint32_t> begin_, end_;
  IdVector<ValueId, bool> is_output_;
};

/// Returns the node that computes `value` as its first output, if that is a `kind`; otherwise null.
const Node* produced_by(const Graph& graph, ValueId value, OpKind kind);
/// Returns produced_by() if only one node reads `value`, and it is no graph output: only then does
/// fusing save the node.
const Node* inner_node(const Graph& graph, const Readers& readers, ValueId value, OpKind kind);
/// Returns whether no size of `shape` becomes known only during a run.
bool known_before_runs(const Graph& graph, const Shape& shape);
/// Returns the constant behind `value`, if it is one of type f32; otherwise null.
const Constant* float_constant(const Graph& graph, ValueId value);
/// Returns the number in an f32 constant of one element; nullopt otherwise.
std::optional<float> scalar_constant(const Graph& graph, ValueId value);
/// Computes an f32 constant and returns all of its elements; empty if that fails.
std::vector<float> floats(const Constant& constant);
/// Returns an f32 constant with a copy of `elements`. REQUIRES: as many elements as `dims` say.
Constant make_f32(const Dims& dims, const std::vector<float>& elements);

/// Returns the function that kernels of products apply for `node`, an activation; otherwise `why`
/// states why they have none. REQUIRES: `why` is empty.
std::optional<Activation> product_activation(const Graph& graph, const Node& node,
                                             std::string_view& why);

/// Generates unique names.
class UniqueNames {
 public:
  UniqueNames() = default;
  /// The names of nodes and values of `graph` are in use.
  explicit UniqueNames(const Graph& graph);
  void take(std::string_view name) { taken_.insert(name); }
  /// Returns `wanted`, or `wanted` with a number, and marks it as used. n calls for one name need
  /// O(n) steps.
  std::string make(std::string_view wanted);

 private:
  NameHashes taken_;
  OwningNameMap<int> numbers_;
};
/// Appends a constant value with a name derived from `name`.
ValueId add_constant(Graph& graph, UniqueNames& names, std::string_view name, Constant constant);

/// Changes `last` to compute `op`(`inputs`) with `attributes`, then `epilogue`. Outputs and name
/// stay. Inputs that were read before may become unused.
void rewrite_node(Graph& graph, NodeId last, OpKind op, std::vector<ValueId> inputs,
                  Attributes attributes, const Epilogue& epilogue = {});

/// Calls `match(readers, node)` for each node, in order, and `rewrite(readers, id, found)` for what
/// it returns, an optional. Removes nodes that are no longer needed; returns the number of matches.
/// `readers` are those before the first rewrite.
template <class Match, class Rewrite>
int rewrite_matches(Graph& graph, const Match& match, const Rewrite& rewrite) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    if (const auto found = match(readers, std::as_const(graph.nodes[id]))) {
      rewrite(readers, id, *found);
      ++changes;
    }
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
