// x * Sigmoid(x) becomes Silu(x).
#include <utility>

#include "passes/fuse_util.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace parallax {
namespace {

/// The x of x * Sigmoid(x), in either order; invalid where the node is no such product.
ValueId silu_operand(const Graph& graph, const Readers& readers, const Node& node) {
  if (node.op != OpKind::kMul) return {};
  for (const std::size_t side : {0U, 1U}) {
    const ValueId x = node.inputs[1 - side];
    const Node* sigmoid = produced_by(graph, node.inputs[side], OpKind::kSigmoid);
    if (sigmoid != nullptr && sigmoid->inputs[0] == x && readers.single(node.inputs[side])) {
      return x;
    }
  }
  return {};
}

}  // namespace

Result<int> fuse_silu(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const ValueId x = silu_operand(graph, readers, graph.nodes[id]);
    if (!x.valid()) continue;
    rewrite_node(graph, id, OpKind::kSilu, {x}, {});
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
