// Turns the zeros that a Pad adds around an image into the padding of the windows that read it.
//
//     pattern  Conv(Pad(x)), MaxPool(Pad(x)) or AveragePool(Pad(x))
//     guard    constant, non-negative pads of spatial axes, in NCHW or NHWC; every reader of the
//              Pad takes them; no window lies in padding alone. Convolutions pad with 0; MaxPool
//              with -inf, where 0 does as well if x has no negative element; AveragePool counts
//              what it pads
//     rewrite  the same window operator of x, its `pads` the sum of both
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/params/movement.h"
#include "ops/params/window.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxPadding = std::numeric_limits<std::int32_t>::max();

struct ConstantPad {
  ValueId image;
  std::vector<std::int64_t> pads;  ///< before each axis, then after each
  float value = 0;
};

std::optional<std::vector<std::int64_t>> constant_integers(const Graph& graph, ValueId id,
                                                           std::int64_t most) {
  if (!id.valid() || !graph.values[id].constant) return std::nullopt;
  return integers(*graph.values[id].constant, most);
}

/// {before, after} of every axis, those before all axes first.
std::optional<std::vector<std::int64_t>> pads_of_all_axes(const Graph& graph, const Node& pad,
                                                          std::int64_t rank) {
  auto given = constant_integers(graph, pad.inputs[1], 2 * rank);
  if (!given || given->size() % 2 != 0) return std::nullopt;
  if (pad.inputs.size() <= 3 || !pad.inputs[3].valid()) {
    return given->size() == static_cast<std::size_t>(2 * rank) ? given : std::nullopt;
  }
  const auto axes = constant_integers(graph, pad.inputs[3], rank);
  if (!axes || 2 * axes->size() != given->size()) return std::nullopt;
  std::vector<std::int64_t> all(static_cast<std::size_t>(2 * rank), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    all[static_cast<std::size_t>(axis)] = (*given)[i];
    all[static_cast<std::size_t>(axis + rank)] = (*given)[axes->size() + i];
  }
  return all;
}

std::optional<ConstantPad> constant_pad(const Graph& graph, const Node& pad) {
  if (pad.op != OpKind::kPad || params_of<PadParams>(pad).mode != PadMode::kConstant) {
    return std::nullopt;
  }
  const Value& image = graph.values[pad.inputs[0]];
  const auto rank = static_cast<std::int64_t>(image.shape.size());
  if (image.dtype != DType::kF32 || rank < 3) return std::nullopt;
  const auto all = pads_of_all_axes(graph, pad, rank);
  if (!all) return std::nullopt;
  ConstantPad found{pad.inputs[0], *all, 0};
  for (const std::int64_t amount : found.pads)
    if (amount < 0 || amount > kMaxPadding) return std::nullopt;
  if (pad.inputs.size() > 2 && pad.inputs[2].valid()) {
    const auto value = scalar_constant(graph, pad.inputs[2]);
    if (!value) return std::nullopt;
    found.value = *value;
  }
  return found;
}

/// Returns the pads of the spatial axes, like `pads` of a window operator; nullopt if others are
/// padded.
std::optional<std::vector<std::int64_t>> spatial_pads(const ConstantPad& pad, ImageLayout layout) {
  const std::size_t rank = pad.pads.size() / 2,
                    channels = layout == ImageLayout::kNhwc ? rank - 1 : 1;
  std::vector<std::int64_t> pads;
  for (std::size_t i = 0; i < pad.pads.size(); ++i) {
    const bool spatial = i % rank != 0 && i % rank != channels;
    if (spatial) pads.push_back(pad.pads[i]);
    if (!spatial && pad.pads[i] != 0) return std::nullopt;
  }
  return pads;
}

/// Returns true if `value` is the result of an activation that is never negative.
bool never_negative(const Graph& graph, ValueId value) {
  const NodeId producer = graph.values[value].producer;
  if (!producer.valid() || graph.values[value].kind != ValueKind::kResult) return false;
  const Node& node = graph.nodes[producer];
  const OpKind last = node.epilogue.empty() ? node.op : node.epilogue.activation.op;
  return last == OpKind::kRelu || last == OpKind::kSigmoid;
}

bool pads_with(const Graph& graph, const Node& window, const ConstantPad& pad) {
  // With ceil_mode, the number of windows depends on what is image and what is padding.
  const bool ceil = params_of<PoolParams>(window).ceil_mode;
  switch (window.op) {
    case OpKind::kConv:
      return pad.value == 0.0F;
    case OpKind::kMaxPool:
      if (ceil || (window.outputs.size() > 1 && window.outputs[1].valid())) return false;
      return pad.value == 0.0F ? never_negative(graph, pad.image)
                               : pad.value == -std::numeric_limits<float>::infinity();
    case OpKind::kAveragePool: {
      const auto own = params_of<AveragePoolParams>(window);
      return !ceil && pad.value == 0.0F &&
             (own.count_include_pad ||
              std::ranges::all_of(own.pads, [](std::int64_t p) { return p == 0; }));
    }
    default:
      return false;
  }
}

/// Returns the number of elements that a window covers along each spatial axis.
std::optional<std::vector<std::int64_t>> window_extents(const Graph& graph, const Node& window,
                                                        std::size_t axes) {
  const auto params = params_of<WindowParams>(window);
  auto extents = params.kernel_shape;
  if (extents.empty() && window.op == OpKind::kConv) {
    const Shape& weights = graph.values[window.inputs[1]].shape;
    for (std::size_t i = 2; i < weights.size(); ++i) {
      const auto size = weights[i].constant();
      if (!size) return std::nullopt;
      extents.push_back(*size);
    }
  }
  if (extents.size() != axes) return std::nullopt;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto reach = checked_mul(extents[i] - 1, params.dilation(i));
    if (!reach || *reach >= kMaxPadding) return std::nullopt;
    extents[i] = *reach + 1;
  }
  return extents;
}

/// Returns the window operator's pads combined with those of `pad`; nullopt if it cannot have them.
std::optional<std::vector<std::int64_t>> joint_pads(const Graph& graph, const Node& window,
                                                    ValueId padded, const ConstantPad& pad) {
  if (window.inputs[0] != padded ||
      std::count(window.inputs.begin(), window.inputs.end(), padded) > 1)
    return std::nullopt;
  if (!pads_with(graph, window, pad)) return std::nullopt;
  const auto params = params_of<WindowParams>(window);
  if (params.same()) return std::nullopt;
  const auto added = spatial_pads(pad, params.layout);
  if (!added) return std::nullopt;
  const std::size_t axes = added->size() / 2;
  const auto extents = window_extents(graph, window, axes);
  if (!extents) return std::nullopt;
  auto pads = params.pads;
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (pads.size() != 2 * axes) return std::nullopt;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const auto sum = checked_add(pads[i], (*added)[i]);
    if (!sum || *sum >= (*extents)[i % axes]) return std::nullopt;
    pads[i] = *sum;
  }
  return pads;
}

struct Reader {
  NodeId node;
  std::vector<std::int64_t> pads;
};

/// Returns all readers of `pad`, a node; empty if one of them needs its result.
std::vector<Reader> readers_that_pad(const Graph& graph, const Readers& readers,
                                     const PassContext& context, const Node& pad) {
  const auto found = constant_pad(graph, pad);
  if (!found) return {};
  const auto missed = [&](std::string_view why) -> std::vector<Reader> {
    context.missed(why, pad);
    return {};
  };
  if (readers.is_output(pad.outputs[0])) return missed("it is an output");
  std::vector<Reader> result;
  for (const NodeId id : readers.of(pad.outputs[0])) {
    auto pads = joint_pads(graph, graph.nodes[id], pad.outputs[0], *found);
    if (!pads) return missed("something reads it that cannot pad by itself");
    result.push_back({id, *std::move(pads)});
  }
  return result;
}

}  // namespace

Result<int> fuse_pad(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    for (Reader& reader : readers_that_pad(graph, readers, context, graph.nodes[id])) {
      Node& window = graph.nodes[reader.node];
      window.inputs[0] = graph.nodes[id].inputs[0];
      set_param(window, &WindowParams::auto_pad, AutoPad::kNotSet);
      set_param(window, &WindowParams::pads, std::move(reader.pads));
      if (window.op == OpKind::kAveragePool)
        set_param(window, &AveragePoolParams::count_include_pad, true);
      ++changes;
    }
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
