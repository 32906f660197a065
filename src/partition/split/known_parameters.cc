#include "partition/split/known_parameters.h"

#include <algorithm>
#include <string>

#include "ops/params/window.h"

namespace parallax {

std::optional<std::vector<std::int64_t>> known_integers(const Graph& graph, const Node& node,
                                                        std::size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].valid()) return std::nullopt;
  const Value& value = graph.values[node.inputs[input]];
  if (value.constant) return integers(*value.constant, kMaxContent);
  if (value.kind != ValueKind::kSymbolic || !value.content) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Expr& element : *value.content) {
    const auto number = element.constant();
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

std::optional<WindowAlong> window_along(const ConcreteShapes& shapes, const Node& node,
                                        std::size_t axis) {
  const auto params = params_of<PoolParams>(node);
  if (params.auto_pad != AutoPad::kNotSet || params.layout != ImageLayout::kNchw ||
      params.ceil_mode)
    return std::nullopt;
  const auto& image = shapes[node.inputs[0]];
  const std::size_t axes = static_cast<std::size_t>(image->rank()) - 2;
  auto kernel = params.kernel_shape;
  if (node.op == OpKind::kConv) {
    const auto& weight = shapes[node.inputs[1]];
    if (!weight || weight->rank() != image->rank()) return std::nullopt;
    kernel.assign(weight->begin() + 2, weight->end());
  }
  if (axis >= axes || axis >= kernel.size()) return std::nullopt;
  const Padding padding = params.stated_padding(axis, axes);
  const WindowAlong window{params.stride(axis), (kernel[axis] - 1) * params.dilation(axis) + 1,
                           padding.begin, padding.end};
  const bool fits = window.stride > 0 && window.stride <= kMaxRows && window.extent > 0 &&
                    window.extent <= kMaxRows && window.pad_begin >= 0 && window.pad_end >= 0;
  return fits ? std::optional(window) : std::nullopt;
}

std::optional<std::vector<SliceAlong>> slice_bounds(const Graph& graph,
                                                    const ConcreteShapes& shapes,
                                                    const Node& node) {
  const auto starts = known_integers(graph, node, 1), ends = known_integers(graph, node, 2);
  if (!starts || !ends || starts->size() != ends->size() || !shapes[node.inputs[0]])
    return std::nullopt;
  const Dims& dims = *shapes[node.inputs[0]];
  std::vector<SliceAlong> result;
  for (const std::int64_t dim : dims) result.push_back({0, dim, 1});
  const auto has = [&](std::size_t i) { return node.inputs.size() > i && node.inputs[i].valid(); };
  const auto axes = known_integers(graph, node, 3), steps = known_integers(graph, node, 4);
  if (has(3) != axes.has_value() || has(4) != steps.has_value()) return std::nullopt;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && axes->size() <= i) || (steps && steps->size() <= i)) return std::nullopt;
    const auto axis = normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), dims.rank());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step < 1 || step > kMaxRows) return std::nullopt;
    const auto clamp = [&](std::int64_t bound) {
      const std::int64_t dim = dims[*axis];
      if (bound < 0) bound = bound < -dim ? 0 : bound + dim;
      return std::min(bound, dim);
    };
    result[static_cast<std::size_t>(*axis)] = {clamp((*starts)[i]), clamp((*ends)[i]), step};
  }
  return result;
}

}  // namespace parallax
