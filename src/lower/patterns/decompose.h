// What a fused operator means, in operators of models: its decomposition. It gives what the fused
// operator gives, NaN, infinities and no elements included, up to rounding. Thread-safety: pure
// functions; Parts is not thread-safe.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "lower/patterns/fuse_util.h"

namespace parallax {

/// Where a decomposition writes its nodes. Whole chains stand in for one node: the last of them
/// gives the value that the node gave.
class Parts {
 public:
  Parts(Graph& graph, UniqueNames& names, Node node)
      : graph_(graph), names_(names), node_(std::move(node)) {}

  /// The node that is decomposed.
  const Node& node() const { return node_; }
  bool has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  ValueId input(std::size_t i) const { return node_.inputs[i]; }
  const Shape& shape(std::size_t i) const { return graph_.values[input(i)].shape; }

  /// A node between the inputs and the result; the value that it gives.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// The last node, which gives the outputs of the decomposed one.
  void result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  /// A node that gives output `o` of the decomposed one; that value.
  ValueId output(std::size_t o, OpKind kind, std::vector<ValueId> inputs, Attributes attributes);
  /// The node that was written last applies it as well.
  void last_epilogue(const Epilogue& epilogue) { nodes_.back().epilogue = epilogue; }
  ValueId number(float x);
  ValueId constant(Constant elements);
  ValueId ints(const std::vector<std::int64_t>& elements);
  /// The value with its axes in another order.
  ValueId transposed(ValueId value, std::vector<std::int64_t> perm);

  std::vector<Node> take() { return std::move(nodes_); }

 private:
  Graph& graph_;
  UniqueNames& names_;
  const Node node_;
  std::vector<Node> nodes_;
};

/// One way in which a node is fused. A node may be so in several ways: its parts are then fused in
/// the others.
struct Decomposition {
  std::string_view name;
  bool (*applies)(const Node& node);
  void (*write)(Parts& parts);
};
/// Of all that the patterns make.
std::span<const Decomposition> pattern_decompositions();
/// Of operators of models that have simpler parts.
std::span<const Decomposition> model_decompositions();
/// Both, for devices that lack an operator.
std::span<const Decomposition> delegate_decompositions();

/// Puts parts in the place of each node that one of `forms` applies to, again until none does, and
/// infers shapes. Bodies stay as they are. How many nodes were decomposed. Errors: of inference.
Result<int> decompose(Graph& graph, std::span<const Decomposition> forms);

}  // namespace parallax
