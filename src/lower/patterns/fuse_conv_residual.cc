// Fuses x + Conv(y), with which residual blocks end, and the activation behind it into one node:
// its kernel adds x while the sums are in registers.
//
//     pattern  Add of a convolution's result and any value, in either order; perhaps an activation
//     guard    the convolution has a kernel that adds (conv_obstacle()); nothing else reads its
//              result, nor the sum that is activated; x has the shape of the result, and is not
//              constant
//     rewrite  Conv(y, weights, bias, x), with the activation in its epilogue
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Deepest sums: kernels of deeper ones add nothing.
constexpr std::int64_t kMostChannels = 65536;

/// Returns whether pixels of the result are products of pixels at the same place, all in f32: what
/// "columns" of kernels/cpu/convolution reads in place.
bool multiplies_pixels(const Graph& graph, const Node& conv) {
  const auto params = params_of<ConvParams>(conv);
  const auto& weights = graph.values[conv.inputs[1]].constant;
  const auto is = [](std::int64_t wanted) {
    return [wanted](std::int64_t x) { return x == wanted; };
  };
  if (!weights || weights->dtype != DType::kF32 || params.group != 1) return false;
  const Dims& dims = weights->dims;
  return params.layout == ImageLayout::kNhwc && (dims.rank() == 3 || dims.rank() == 4) &&
         dims[1] <= kMostChannels && std::all_of(dims.begin() + 2, dims.end(), is(1)) &&
         std::ranges::all_of(params.strides, is(1)) && std::ranges::all_of(params.pads, is(0));
}

/// Returns the reason why `residual` cannot be added where `conv` computes `sums`; empty: it can.
std::string_view conv_obstacle(const Graph& graph, const Readers& readers, const Node& conv,
                               ValueId sums, ValueId residual) {
  if (!multiplies_pixels(graph, conv)) return "only filters of 1x1 on NHWC add it";
  if (conv.inputs.size() > kConvResidual || residual == sums) return "it adds something already";
  if (!conv.epilogue.empty()) return "an activation stands before the sum";
  if (!readers.single(sums)) return "something else reads the convolution";
  const Value& added = graph.values[residual];
  if (added.constant || added.kind == ValueKind::kSymbolic) return "what is added is constant";
  if (added.shape != graph.values[sums].shape) return "what is added has another shape";
  return {};
}

struct ConvResidual {
  const Node* conv = nullptr;
  ValueId residual;
};

std::optional<ConvResidual> match_conv(const Graph& graph, const Readers& readers,
                                       const PassContext& context, const Node& add) {
  if (add.op != OpKind::kAdd || !add.outputs[0].valid()) return std::nullopt;
  std::string_view first;
  for (const std::size_t side : {1U, 0U}) {
    const ValueId sums = add.inputs[side], residual = add.inputs[1 - side];
    const Node* conv = produced_by(graph, sums, OpKind::kConv);
    if (conv == nullptr) continue;
    const std::string_view why = conv_obstacle(graph, readers, *conv, sums, residual);
    if (why.empty()) return ConvResidual{conv, residual};
    if (first.empty()) first = why;
  }
  if (!first.empty()) context.missed(first, add);
  return std::nullopt;
}

/// The activation that alone reads the sum, and its node; nullopt if something else reads it, and
/// for activations that kernels of products lack.
std::optional<std::pair<NodeId, Activation>> activation_behind(const Graph& graph,
                                                               const Readers& readers,
                                                               ValueId sum) {
  if (!readers.single(sum)) return std::nullopt;
  const NodeId reader = readers.of(sum)[0];
  const Node& node = graph.nodes[reader];
  if (!is_activation(node.op) || node.inputs[0] != sum) return std::nullopt;
  std::string_view why;
  const auto activation = product_activation(graph, node, why);
  return activation ? std::optional(std::pair(reader, *activation)) : std::nullopt;
}

}  // namespace

Result<int> fuse_conv_residual(Graph& graph, const PassContext& context) {
  const auto match = [&](const Readers& readers, const Node& node) {
    return match_conv(graph, readers, context, node);
  };
  return rewrite_matches(
      graph, match, [&](const Readers& readers, NodeId id, const ConvResidual& found) {
        std::vector<ValueId> inputs = found.conv->inputs;
        inputs.resize(kConvResidual);
        inputs.push_back(found.residual);
        const auto behind = activation_behind(graph, readers, graph.nodes[id].outputs[0]);
        rewrite_node(graph, behind ? behind->first : id, OpKind::kConv, std::move(inputs),
                     found.conv->attributes, {behind ? behind->second : Activation{}});
      });
}

void decompose_conv_residual(Parts& parts) {
  std::vector<ValueId> inputs = parts.node().inputs;
  inputs.resize(kConvResidual);
  while (!inputs.back().valid()) inputs.pop_back();
  const ValueId sums = parts.op(OpKind::kConv, std::move(inputs), parts.node().attributes);
  parts.result(OpKind::kAdd, {sums, parts.input(kConvResidual)});
}

}  // namespace parallax
