// Fuses x + LayerNormalization(y), in blocks that end with their normalisation, into one node: the
// sum is computed while the row is in cache.
//
//     pattern  Add of a LayerNormalization's result and any value, in either order
//     guard    nothing else reads the result, nothing the statistics; both operands have its shape
//     rewrite  LayerNormalization(y, scale, bias, x)
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"

namespace parallax {
namespace {

constexpr std::size_t kResidual = 3;

struct ResidualMatch {
  const Node* norm = nullptr;
  ValueId residual;
};

/// Returns the reason why `residual` cannot be added where `norm` computes `normal`; empty: it can.
std::string_view obstacle(const Graph& graph, const Readers& readers, const Node& norm,
                          ValueId normal, ValueId residual) {
  const Shape& shape = graph.values[normal].shape;
  if (norm.inputs.size() > kResidual || residual == normal) return "it adds something already";
  if (!readers.single(normal)) return "something else reads the normalized values";
  for (std::size_t o = 1; o < norm.outputs.size(); ++o)
    if (norm.outputs[o].valid()) return "something reads the statistics";
  if (graph.values[residual].shape != shape) return "what is added has another shape";
  if (graph.values[normal].dtype != DType::kF32) return "the values are not f32";
  return {};
}

std::optional<ResidualMatch> match_residual(const Graph& graph, const Readers& readers,
                                            const PassContext& context, const Node& add) {
  if (add.op != OpKind::kAdd || !add.outputs[0].valid()) return std::nullopt;
  for (const std::size_t side : {1U, 0U}) {
    const ValueId normal = add.inputs[side], residual = add.inputs[1 - side];
    const Node* norm = produced_by(graph, normal, OpKind::kLayerNormalization);
    if (norm == nullptr) continue;
    const std::string_view why = obstacle(graph, readers, *norm, normal, residual);
    if (why.empty()) return ResidualMatch{norm, residual};
    context.missed(why, add);
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_norm_residual(Graph& graph, const PassContext& context) {
  const auto match = [&](const Readers& readers, const Node& node) {
    return match_residual(graph, readers, context, node);
  };
  return rewrite_matches(graph, match, [&](const Readers&, NodeId id, const ResidualMatch& found) {
    std::vector<ValueId> inputs = found.norm->inputs;
    inputs.resize(kResidual);
    inputs.push_back(found.residual);
    rewrite_node(graph, id, OpKind::kLayerNormalization, std::move(inputs), found.norm->attributes);
  });
}

void decompose_norm_residual(Parts& parts) {
  std::vector<ValueId> inputs(parts.node().inputs.begin(), parts.node().inputs.begin() + kResidual);
  while (!inputs.back().valid()) inputs.pop_back();
  const ValueId norm =
      parts.op(OpKind::kLayerNormalization, std::move(inputs), parts.node().attributes);
  parts.result(OpKind::kAdd, {parts.input(kResidual), norm});
}

}  // namespace parallax
