#include "passes/layout_nhwc_rules.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "ops/op.h"

namespace parallax {
namespace {

enum class Rule {
  kNone,
  kWindow,       ///< attribute `layout`; input 0 is the image
  kElementwise,  ///< every input is an image or a constant
  kAxis,         ///< attribute `axis`; input 0 is the image
  kConcat,       ///< attribute `axis`; every input is an image
  kAxesInput,    ///< a constant input lists axes; input 0 is the image
  kPad,          ///< a constant input has two numbers per axis; input 0 is the image
};

Rule rule_of(OpKind op) {
  switch (op) {
    case OpKind::kConv:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
    case OpKind::kGlobalAveragePool:
    case OpKind::kResize:
      return Rule::kWindow;
    case OpKind::kSoftmax:
    case OpKind::kSplit:
      return Rule::kAxis;
    case OpKind::kConcat:
      return Rule::kConcat;
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
    case OpKind::kReduceMax:
    case OpKind::kReduceL2:
    case OpKind::kSlice:
      return Rule::kAxesInput;
    case OpKind::kPad:
      return Rule::kPad;
    default:
      return op_def(op).elementwise ? Rule::kElementwise : Rule::kNone;
  }
}

std::size_t axes_input(OpKind op) { return op == OpKind::kSlice ? 3 : 1; }

std::int64_t default_axis(OpKind op) { return op == OpKind::kSoftmax ? -1 : 0; }

/// The NHWC axis that NCHW axis `axis` (perhaps negative) becomes.
std::int64_t moved_axis(std::int64_t axis) {
  if (axis < 0) axis += kImageRank;
  return std::find(kToNhwc.begin(), kToNhwc.end(), axis) - kToNhwc.begin();
}

bool is_image(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  return value.shape.size() == kImageRank && !value.content && value.kind != ValueKind::kSymbolic;
}

bool is_constant(const Graph& graph, ValueId id) {
  return graph.values[id].kind == ValueKind::kConstant;
}

bool has_one_element(const Graph& graph, ValueId id) {
  const auto& constant = graph.values[id].constant;
  return constant && constant->dims.elements() == 1;
}

bool is_low_rank_constant(const Graph& graph, ValueId id) {
  return is_constant(graph, id) && graph.values[id].shape.size() <= kImageRank;
}

bool elementwise_fits(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&graph](ValueId id) {
    return !id.valid() || is_image(graph, id) || is_low_rank_constant(graph, id);
  });
}

bool concat_fits(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&graph](ValueId id) { return id.valid() && is_image(graph, id); });
}

/// The axes in a constant input, each in [-4, 4).
std::optional<std::vector<std::int64_t>> listed_axes(const Graph& graph, const Node& node) {
  const std::size_t i = axes_input(node.op);
  if (node.inputs.size() <= i || !node.inputs[i].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[i]].constant;
  auto axes = constant ? integers(*constant, kImageRank) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  return axes;
}

bool axes_fit(const Graph& graph, const Node& node) {
  const auto axes = listed_axes(graph, node);
  if (!axes) return false;
  if (node.op == OpKind::kSlice || node.attributes.get_int("keepdims", 1) != 0) return true;
  // Without the reduced axes the layouts agree only where height and width go together.
  return axes->size() == 2 && std::all_of(axes->begin(), axes->end(), [](std::int64_t axis) {
           const std::int64_t moved = moved_axis(axis);
           return moved == 1 || moved == 2;
         });
}

/// The numbers before all axes, then those after, of a Pad that names no axes.
std::optional<std::vector<std::int64_t>> listed_pads(const Graph& graph, const Node& node) {
  if (node.inputs.size() > 3 && node.inputs[3].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[1]].constant;
  auto pads = constant ? integers(*constant, 2 * kImageRank) : std::nullopt;
  if (!pads || pads->size() != 2 * kImageRank) return std::nullopt;
  return pads;
}

bool window_fits(const Graph& graph, const Node& node) {
  if (node.attributes.get_string("layout", "NCHW") != "NCHW") return false;
  if (graph.values[node.inputs[0]].dtype != DType::kF32) return false;
  // Only constant weights are packed ahead.
  return node.op != OpKind::kConv || is_constant(graph, node.inputs[1]);
}

}  // namespace

bool can_be_nhwc(const Graph& graph, const Node& node) {
  const Rule rule = rule_of(node.op);
  if (rule == Rule::kNone || node.inputs.empty() || !node.inputs[0].valid()) return false;
  if (rule != Rule::kElementwise && !is_image(graph, node.inputs[0])) return false;
  if (node.op == OpKind::kMaxPool && node.outputs.size() > 1 && node.outputs[1].valid()) {
    return false;  // its indices count in NCHW
  }
  const bool reduces = rule == Rule::kAxesInput && node.op != OpKind::kSlice;
  for (const ValueId output : node.outputs) {
    if (output.valid() && !reduces && !is_image(graph, output)) return false;
  }
  switch (rule) {
    case Rule::kWindow:
      return window_fits(graph, node);
    case Rule::kElementwise:
      return elementwise_fits(graph, node);
    case Rule::kConcat:
      return concat_fits(graph, node);
    case Rule::kAxesInput:
      return axes_fit(graph, node);
    case Rule::kPad:
      return listed_pads(graph, node).has_value();
    default:
      return true;
  }
}

bool is_image_input(const Graph& graph, const Node& node, std::size_t i) {
  if (!node.inputs[i].valid()) return false;
  switch (rule_of(node.op)) {
    case Rule::kElementwise:
      return !has_one_element(graph, node.inputs[i]);
    case Rule::kConcat:
      return true;
    default:
      return i == 0;
  }
}

void adapt_to_nhwc(Graph& graph, UniqueNames& names, Node& node) {
  switch (rule_of(node.op)) {
    case Rule::kWindow:
      node.attributes.set("layout", std::string("NHWC"));
      return;
    case Rule::kAxis:
    case Rule::kConcat:
      node.attributes.set("axis",
                          moved_axis(node.attributes.get_int("axis", default_axis(node.op))));
      return;
    case Rule::kAxesInput: {
      std::vector<std::int64_t> axes = *listed_axes(graph, node);
      for (std::int64_t& axis : axes) axis = moved_axis(axis);
      node.inputs[axes_input(node.op)] =
          add_constant(graph, names, node.name + "/nhwc_axes", make_i64(axes));
      return;
    }
    case Rule::kPad: {
      const std::vector<std::int64_t> pads = *listed_pads(graph, node);
      std::vector<std::int64_t> moved;
      for (const std::int64_t end : {0, kImageRank}) {
        for (const std::int64_t axis : kToNhwc) {
          moved.push_back(pads[static_cast<std::size_t>(end + axis)]);
        }
      }
      node.inputs[1] = add_constant(graph, names, node.name + "/nhwc_pads", make_i64(moved));
      return;
    }
    default:
      return;
  }
}

Constant to_nhwc(const Constant& constant) {
  Dims from;
  for (int i = constant.dims.rank(); i < kImageRank; ++i) from.push_back(1);
  for (const std::int64_t dim : constant.dims) from.push_back(dim);
  const Dims to = {from[0], from[2], from[3], from[1]};
  const auto element = static_cast<std::size_t>(size_of(constant.dtype));
  const std::int64_t channels = from[1];
  const std::int64_t plane = from[2] * from[3];
  std::vector<std::byte> bytes(constant.bytes.size());
  for (std::int64_t n = 0; n < from[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t hw = 0; hw < plane; ++hw) {
        const auto source = static_cast<std::size_t>((n * channels + c) * plane + hw) * element;
        const auto target = static_cast<std::size_t>((n * plane + hw) * channels + c) * element;
        std::memcpy(bytes.data() + target, constant.bytes.data() + source, element);
      }
    }
  }
  return make_constant(constant.dtype, to, bytes);
}

}  // namespace parallax
