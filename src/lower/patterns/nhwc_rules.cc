#include "lower/patterns/nhwc_rules.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ops/deferred.h"
#include "ops/op.h"
#include "ops/params/axis.h"
#include "ops/params/reduce.h"
#include "ops/params/window.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

NhwcRule rule_of(OpKind op) { return op_def(op).traits.nhwc; }

/// Channels from which fewer multiplications outweigh transposes. On one Zen 4 core, with both
/// transposes, as multiples of a convolution on NCHW: 64x56x56 0.39, 256x14x14 0.41, 512x7x7 0.65.
constexpr std::int64_t kFewestChannels = 16;
/// Lists of axes are no longer.
constexpr std::int64_t kMaxRank = 4;

std::size_t axes_input(OpKind op) { return op == OpKind::kSlice ? 3 : 1; }

std::int64_t axis_of(const Node& node) {
  return rule_of(node.op) == NhwcRule::kLastAxis ? params_of<AxisParams<-1>>(node).axis
                                                 : params_of<AxisParams<0>>(node).axis;
}

/// Returns the NHWC axis that NCHW axis `axis` (perhaps negative) becomes.
std::int64_t moved_axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  const Permutation axes = to_nhwc(rank);
  return std::find(axes.begin(), axes.end(), axis) - axes.begin();
}

bool is_image(const Graph& graph, ValueId id, std::size_t rank) {
  const Value& value = graph.values[id];
  return value.shape.size() == rank && !value.content && value.kind != ValueKind::kSymbolic;
}

bool is_constant(const Graph& graph, ValueId id) {
  return graph.values[id].kind == ValueKind::kConstant;
}

/// A number for all elements, known or computed, has no layout.
bool has_one_element(const Graph& graph, ValueId id) {
  const Shape& shape = graph.values[id].shape;
  return std::ranges::all_of(shape, [](const Expr& size) { return size == Expr(1); });
}

bool is_low_rank_constant(const Graph& graph, ValueId id, std::size_t rank) {
  return is_constant(graph, id) && graph.values[id].shape.size() <= rank;
}

bool elementwise_fits(const Graph& graph, const Node& node, std::size_t rank) {
  const bool scales = node.op == OpKind::kQuantizeLinear || node.op == OpKind::kDequantizeLinear;
  // A list of scales is along an axis.
  for (std::size_t i = 1; scales && i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !has_one_element(graph, node.inputs[i])) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return !id.valid() || is_image(graph, id, rank) || is_low_rank_constant(graph, id, rank) ||
           (has_one_element(graph, id) && graph.values[id].shape.size() <= rank);
  });
}

bool concat_fits(const Graph& graph, const Node& node, std::size_t rank) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return id.valid() && is_image(graph, id, rank); });
}

/// Returns the axes in a constant input, each in [-rank, rank).
std::optional<std::vector<std::int64_t>> listed_axes(const Graph& graph, const Node& node) {
  const std::size_t i = axes_input(node.op);
  if (node.inputs.size() <= i || !node.inputs[i].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[i]].constant;
  auto axes = constant ? integers(*constant, kMaxRank) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  return axes;
}

bool axes_fit(const Graph& graph, const Node& node, std::size_t rank) {
  const auto axes = listed_axes(graph, node);
  if (!axes) return false;
  if (node.op == OpKind::kSlice || params_of<ReduceParams>(node).keepdims) return true;
  // Without the reduced axes the layouts agree only if height and width are both reduced.
  const auto spatial = static_cast<std::int64_t>(rank) - 2;
  return static_cast<std::int64_t>(axes->size()) == spatial &&
         std::all_of(axes->begin(), axes->end(), [&](std::int64_t axis) {
           const std::int64_t moved = moved_axis(axis, rank);
           return moved >= 1 && moved <= spatial;
         });
}

/// Returns the pads before all axes, then those after, of a Pad without an axes input.
std::optional<std::vector<std::int64_t>> listed_pads(const Graph& graph, const Node& node,
                                                     std::size_t rank) {
  if (node.inputs.size() > 3 && node.inputs[3].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[1]].constant;
  auto pads = constant ? integers(*constant, 2 * kMaxRank) : std::nullopt;
  if (!pads || pads->size() != 2 * rank) return std::nullopt;
  return pads;
}

bool window_fits(const Graph& graph, const Node& node) {
  if (channels_last(node)) return false;
  const DType dtype = graph.values[node.inputs[0]].dtype;
  const DTypeSet bytes = node.op == OpKind::kAveragePool ? 0 : kByteIntegers;
  if (!contains(bytes | dtype_bit(DType::kF32), dtype)) return false;
  const bool transposed = node.op == OpKind::kConvTranspose;
  // With several groups only NCHW planes are fast.
  if (transposed && (dtype != DType::kF32 || groups_of(node) != 1)) return false;
  // Only constant weights are packed ahead.
  return (!is_convolution(node.op) && !transposed) || is_constant(graph, node.inputs[1]);
}

}  // namespace

Permutation to_nhwc(std::size_t rank) {
  Permutation axes = {0};
  for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  axes.push_back(1);
  return axes;
}

Permutation to_nchw(std::size_t rank) {
  Permutation axes = {0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t axis = 1; axis + 1 < rank; ++axis)
    axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

bool gains_from_nhwc(const Graph& graph, const Node& node) {
  // No other layout has an integer kernel.
  if (node.op == OpKind::kConvInteger) return true;
  if (node.op != OpKind::kConv || groups_of(node) != 1) return false;
  const Dims& w = graph.values[node.inputs[1]].constant->dims;
  if (w.rank() != 4 || w[2] != 3 || w[3] != 3) return false;
  const auto params = params_of<WindowParams>(node);
  for (const std::size_t axis : {0U, 1U})
    if (params.stride(axis) != 1) return false;
  return w[0] >= kFewestChannels && w[1] >= kFewestChannels;
}

std::size_t image_rank(const Graph& graph, const Node& node) {
  std::size_t rank = 0;
  const std::size_t count = rule_of(node.op) == NhwcRule::kElementwise ? node.inputs.size() : 1;
  for (std::size_t i = 0; i < count; ++i)
    if (node.inputs[i].valid()) rank = std::max(rank, graph.values[node.inputs[i]].shape.size());
  return rank;
}

bool can_be_nhwc(const Graph& graph, const Node& node) {
  const NhwcRule rule = rule_of(node.op);
  if (rule == NhwcRule::kNone || node.inputs.empty() || !node.inputs[0].valid()) return false;
  const std::size_t rank = image_rank(graph, node);
  if (!is_image_rank(rank)) return false;
  if (rule != NhwcRule::kElementwise && !is_image(graph, node.inputs[0], rank)) return false;
  if (node.op == OpKind::kMaxPool && node.outputs.size() > 1 && node.outputs[1].valid()) {
    return false;  // its indices are positions in NCHW order
  }
  const bool reduces = rule == NhwcRule::kAxesInput && node.op != OpKind::kSlice;
  for (const ValueId output : node.outputs) {
    // DynamicQuantizeLinear also has the scale and the zero point.
    if (output.valid() && !reduces && !graph.values[output].shape.empty() &&
        !is_image(graph, output, rank))
      return false;
  }
  switch (rule) {
    case NhwcRule::kWindow:
      return window_fits(graph, node);
    case NhwcRule::kElementwise:
      return elementwise_fits(graph, node, rank);
    case NhwcRule::kConcat:
      return concat_fits(graph, node, rank);
    case NhwcRule::kAxesInput:
      return axes_fit(graph, node, rank);
    case NhwcRule::kPad:
      return listed_pads(graph, node, rank).has_value();
    default:
      return true;
  }
}

bool is_image_input(const Graph& graph, const Node& node, std::size_t i) {
  if (!node.inputs[i].valid()) return false;
  switch (rule_of(node.op)) {
    case NhwcRule::kElementwise:
      return !has_one_element(graph, node.inputs[i]);
    case NhwcRule::kConcat:
      return true;
    default:
      return i == 0;
  }
}

void adapt_to_nhwc(Graph& graph, UniqueNames& names, Node& node, std::size_t rank) {
  switch (rule_of(node.op)) {
    case NhwcRule::kWindow:
      set_param(node, &LayoutParams::layout, ImageLayout::kNhwc);
      return;
    case NhwcRule::kAxis:
    case NhwcRule::kLastAxis:
    case NhwcRule::kConcat:
      set_param(node, &AxisParams<0>::axis, moved_axis(axis_of(node), rank));
      return;
    case NhwcRule::kAxesInput: {
      std::vector<std::int64_t> axes = *listed_axes(graph, node);
      for (std::int64_t& axis : axes) axis = moved_axis(axis, rank);
      node.inputs[axes_input(node.op)] =
          add_constant(graph, names, node.name + "/nhwc_axes", make_i64(axes));
      return;
    }
    case NhwcRule::kPad: {
      const std::vector<std::int64_t> pads = *listed_pads(graph, node, rank);
      std::vector<std::int64_t> moved;
      for (const std::size_t end : {std::size_t{0}, rank}) {
        for (const std::int64_t axis : to_nhwc(rank))
          moved.push_back(pads[end + static_cast<std::size_t>(axis)]);
      }
      node.inputs[1] = add_constant(graph, names, node.name + "/nhwc_pads", make_i64(moved));
      return;
    }
    default:
      return;
  }
}

Constant to_nhwc(const Constant& constant, std::size_t rank) {
  std::vector<std::int64_t> from(rank - static_cast<std::size_t>(constant.dims.rank()), 1);
  from.insert(from.end(), constant.dims.begin(), constant.dims.end());
  Dims to;
  std::int64_t plane = 1;
  for (const std::int64_t axis : to_nhwc(rank)) to.push_back(from[static_cast<std::size_t>(axis)]);
  for (std::size_t axis = 2; axis < rank; ++axis) plane *= from[axis];
  const auto element = static_cast<std::size_t>(size_of(constant.dtype));
  const std::int64_t channels = from[1];
  const auto fill = [nchw = constant, images = from[0], channels, plane,
                     element](std::span<std::byte> into) -> Status {
    for (std::int64_t n = 0; n < images; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t hw = 0; hw < plane; ++hw) {
          const auto source = static_cast<std::size_t>((n * channels + c) * plane + hw) * element;
          const auto target = static_cast<std::size_t>((n * plane + hw) * channels + c) * element;
          std::memcpy(into.data() + target, nchw.bytes.data() + source, element);
        }
      }
    }
    return {};
  };
  return defer_large(constant.dtype, to, {constant}, fill);
}

}  // namespace parallax
