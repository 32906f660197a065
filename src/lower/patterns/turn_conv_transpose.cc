// Turns a ConvTranspose without strides into a Conv with mirrored taps and swapped channels, on an
// image with the remaining padding. Convolutions are faster.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/deferred.h"
#include "ops/params/window.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Padding that a Conv may have.
constexpr std::int64_t kMaxConvPadding = std::int64_t{1} << 30;

/// Returns the attributes of the Conv; nullopt if there is no equivalent. `weights`: [channels,
/// filters, kernel].
std::optional<Attributes> conv_attributes(const Node& node, const Dims& weights) {
  const auto params = params_of<ConvTransposeParams>(node);
  if (params.same() || !params.output_shape.empty() || params.layout != ImageLayout::kNchw)
    return std::nullopt;
  const Sizes& extra = params.output_padding;
  const auto axes = static_cast<std::size_t>(weights.rank() - 2);
  Sizes begin, end;
  for (std::size_t i = 0; i < axes; ++i) {
    if (params.stride(i) != 1) return std::nullopt;
    const std::int64_t reach = (weights[static_cast<int>(i) + 2] - 1) * params.dilation(i);
    const Padding padding = params.stated_padding(i, axes);
    begin.push_back(reach - padding.begin);
    end.push_back(reach - padding.end + (i < extra.size() ? extra[i] : 0));
    if (std::min(begin.back(), end.back()) < 0 ||
        std::max(begin.back(), end.back()) > kMaxConvPadding)
      return std::nullopt;
  }
  begin.insert(begin.end(), end.begin(), end.end());
  Attributes attributes = node.attributes;
  erase_param(attributes, &WindowParams::auto_pad);
  erase_param(attributes, &ConvTransposeParams::output_padding);
  set_param(attributes, &WindowParams::pads, std::move(begin));
  return attributes;
}

/// [groups * channels, filters, kernel] as [groups * filters, channels, kernel backwards].
Constant turned_weights(const Constant& weights, std::int64_t groups) {
  const std::int64_t channels = weights.dims[0] / groups, filters = weights.dims[1];
  Dims dims{groups * filters, channels};
  std::int64_t taps = 1;
  for (int axis = 2; axis < weights.dims.rank(); ++axis) {
    dims.push_back(weights.dims[axis]);
    taps *= weights.dims[axis];
  }
  const auto fill = [from = weights, groups, channels, filters,
                     taps](std::span<std::byte> into) -> Status {
    std::byte* to = into.data();
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t m = 0; m < filters; ++m)
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t tap = taps - 1; tap >= 0; --tap, to += sizeof(float)) {
            const std::int64_t at = ((g * channels + c) * filters + m) * taps + tap;
            std::memcpy(to, from.bytes.data() + static_cast<std::size_t>(at) * sizeof(float),
                        sizeof(float));
          }
    return {};
  };
  return defer_large(weights.dtype, dims, {weights}, fill);
}

/// Returns false if the quota does not cover a copy of the weights.
bool turn(Graph& graph, UniqueNames& names, NodeId id, Attributes attributes,
          const PassContext& context) {
  const Node node = graph.nodes[id];
  const Constant weights = *float_constant(graph, node.inputs[1]);
  const std::int64_t groups = groups_of(node);
  if (deferred_depth(weights) >= kMaxDeferredDepth ||
      !can_charge(*context.quota, std::ssize(weights.bytes), weight_bytes(weights)))
    return false;
  Constant turned = turned_weights(weights, groups);
  if (!charge(context.quota, turned, weight_bytes(weights))) return false;
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = add_constant(graph, names, node.name + "/turned", std::move(turned));
  rewrite_node(graph, id, OpKind::kConv, std::move(inputs), std::move(attributes), node.epilogue);
  return true;
}

}  // namespace

Result<int> turn_conv_transpose(Graph& graph, const PassContext& context) {
  std::optional<UniqueNames> names;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    if (node.op != OpKind::kConvTranspose) continue;
    const Constant* weights = float_constant(graph, node.inputs[1]);
    if (weights == nullptr || weights->dims.elements() == 0) continue;
    auto attributes = conv_attributes(node, weights->dims);
    if (!attributes) continue;
    if (!names) names.emplace(graph);
    if (turn(graph, *names, id, *std::move(attributes), context)) {
      ++changes;
    } else {
      context.missed("loading may not copy more weights", graph.nodes[id]);
    }
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
