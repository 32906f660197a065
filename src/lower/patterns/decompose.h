// Decompositions of fused operators into operators of models. They give the same results up to
// rounding, including NaN, infinities and empty tensors. Thread-safety: pure functions; Parts is
// not thread-safe.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "lower/patterns/fuse_util.h"

namespace parallax {

/// Receives the nodes of a decomposition. A chain of nodes replaces one node: the last of them
/// computes the value that the node computed. All references must outlive it. Types and shapes of
/// new values are inferred by decompose().
class Parts {
 public:
  Parts(Graph& graph, UniqueNames& names, Node node)
      : graph_(graph), names_(names), node_(std::move(node)) {}

  /// Returns the node that is decomposed.
  const Node& node() const { return node_; }
  bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  ValueId input(std::size_t i) const { return node_.inputs[i]; }
  const Shape& shape(std::size_t i) const { return graph_.values[input(i)].shape; }

  /// Adds a node between the inputs and the result; returns its output.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// Adds the last node, which computes the outputs of the decomposed one.
  void result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// Adds a node that computes output `o` of the decomposed one; returns that value.
  ValueId output(std::size_t o, OpKind kind, std::vector<ValueId> inputs, Attributes attributes);
  /// Adds an epilogue to the node that was added last.
  void last_epilogue(const Epilogue& epilogue) { nodes_.back().epilogue = epilogue; }
  /// Add a constant; return its value.
  ValueId number(float x);
  ValueId constant(Constant elements);
  ValueId ints(const std::vector<std::int64_t>& elements);
  /// Returns the value with its axes permuted.
  ValueId transposed(ValueId value, std::vector<std::int64_t> perm);
  /// Returns the inputs of a Reshape to `shape`, with exact_shape() as its attributes. REQUIRES:
  /// known_before_runs().
  std::vector<ValueId> reshape_inputs(ValueId value, const Shape& shape);
  /// Returns attributes of a Reshape in which a size of 0 means 0.
  static Attributes exact_shape();

  std::vector<Node> take() { return std::move(nodes_); }

 private:
  Graph& graph_;
  UniqueNames& names_;
  const Node node_;
  std::vector<Node> nodes_;
};

/// Parts that replace a node, in order.
struct ReplacedNode {
  NodeId node;
  std::vector<Node> parts;
};
/// Replaces nodes by their parts, and removes nodes that are no longer needed: all ids may change.
/// Types and shapes of new values are not inferred. `replaced` is in order of ids.
void put_parts(Graph& graph, std::vector<ReplacedNode> replaced);

/// One way in which a node is fused. A node may be fused in several ways: its parts are then fused
/// in the remaining ways. Both functions are pure; `write` is called only for nodes for which
/// `applies` is true.
struct Decomposition {
  std::string_view name;
  bool (*applies)(const Node& node);
  void (*write)(Parts& parts);
};
/// Returns the decompositions of everything that the patterns make.
std::span<const Decomposition> pattern_decompositions();
/// Returns the decompositions of operators of models that have simpler parts.
std::span<const Decomposition> model_decompositions();
/// Returns both, for devices that lack an operator.
std::span<const Decomposition> delegate_decompositions();

/// Replaces each node to which one of `forms` applies by its parts, repeatedly until none applies,
/// and infers shapes. Does not touch bodies. Returns the number of decomposed nodes. Errors: those
/// of inference.
Result<int> decompose(Graph& graph, std::span<const Decomposition> forms);

}  // namespace parallax
