#include "lower/cpu/movement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/op.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;

std::optional<Ints> constant_ints(const Graph& graph, const Node& node, std::size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return std::nullopt;
  const auto& constant = graph.values[node.inputs[i]].constant;
  return constant ? integers(*constant, Dims::kMaxRank) : std::nullopt;
}

std::optional<Movement> slice_of(const Graph& graph, const Node& node, Movement m) {
  const auto starts = constant_ints(graph, node, 1), axes = constant_ints(graph, node, 3);
  const auto steps = constant_ints(graph, node, 4);
  const auto from = known_dims(graph.values[node.inputs[0]].shape),
             to = known_dims(graph.values[node.outputs[0]].shape);
  const bool has_axes = node.inputs.size() > 3 && node.inputs[3].valid();
  const bool has_steps = node.inputs.size() > 4 && node.inputs[4].valid();
  if (!starts || has_axes != axes.has_value() || has_steps != steps.has_value() || !from || !to)
    return std::nullopt;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && i >= axes->size()) || (steps && i >= steps->size())) return std::nullopt;
    const auto axis = normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i),
                                     static_cast<int>(from->size()));
    if (!axis) return std::nullopt;
    const auto d = static_cast<std::size_t>(*axis);
    const std::int64_t size = (*from)[d], step = steps ? (*steps)[i] : 1;
    if (step < 1 || step > size) return std::nullopt;
    std::int64_t start = (*starts)[i];
    if (start < 0) start = std::max<std::int64_t>(start + size, 0);
    if (start >= size || start + ((*to)[d] - 1) * step >= size) return std::nullopt;
    m.start[d] = start;
    m.step[d] = step;
  }
  return m;
}

std::optional<Movement> split_of(const Graph& graph, const Node& node, std::size_t output,
                                 Movement m) {
  const auto axis =
      normalize_axis(params_of<AxisParams<0>>(node).axis, static_cast<int>(m.axes.size()));
  if (!axis) return std::nullopt;
  const auto d = static_cast<std::size_t>(*axis);
  for (std::size_t o = 0; o < output; ++o) {
    const auto dims =
        node.outputs[o].valid() ? known_dims(graph.values[node.outputs[o]].shape) : std::nullopt;
    if (!dims) return std::nullopt;
    m.start[d] += (*dims)[d];
  }
  return m;
}

}  // namespace

std::optional<Ints> known_dims(const Shape& shape) {
  Ints dims;
  std::int64_t elements = 1;
  for (const Expr& dim : shape) {
    const auto number = dim.constant();
    if (!number || *number <= 0 || *number > kMaxElements / elements) return std::nullopt;
    elements *= *number;
    dims.push_back(*number);
  }
  return dims;
}

std::int64_t elements_in(const Ints& dims) {
  std::int64_t result = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) result *= dims[d];
  return result;
}

std::optional<Movement> read_movement(const Graph& graph, const Node& node, std::size_t output) {
  if (node.inputs.empty() || !node.inputs[0].valid()) return std::nullopt;
  const std::size_t rank = graph.values[node.inputs[0]].shape.size();
  Movement m;
  m.axes.resize(rank);
  std::iota(m.axes.begin(), m.axes.end(), 0);
  m.start.assign(rank, 0);
  m.step.assign(rank, 1);
  switch (node.op) {
    case OpKind::kReshape:
    case OpKind::kFlatten:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
      m.view = true;
      return m;
    case OpKind::kTranspose: {
      const Ints perm = params_of<TransposeParams>(node).perm;
      if (perm.size() == rank) {
        m.axes = perm;
      } else {
        std::reverse(m.axes.begin(), m.axes.end());
      }
      return m;
    }
    case OpKind::kSlice:
      return slice_of(graph, node, std::move(m));
    case OpKind::kSplit:
      return split_of(graph, node, output, std::move(m));
    case OpKind::kConcat: {
      const auto axis = normalize_axis(params_of<AxisParams<0>>(node).axis, static_cast<int>(rank));
      const bool present = std::all_of(node.inputs.begin(), node.inputs.end(),
                                       [](ValueId input) { return input.valid(); });
      if (!axis || !present) return std::nullopt;
      m.joined = *axis;
      return m;
    }
    default:
      return std::nullopt;
  }
}

std::int64_t run_of(const Movement& m, const Ints& from, const Ints& to) {
  if (m.view) return elements_in(from);
  std::int64_t inner = 1;
  for (std::size_t d = to.size(); d-- > 0;) {
    const bool whole = m.axes[d] == static_cast<std::int64_t>(d) && m.start[d] == 0 &&
                       m.step[d] == 1 && from[d] == to[d];
    if (whole) {
      inner *= to[d];
      continue;
    }
    if (m.axes[d] != static_cast<std::int64_t>(d) || m.step[d] != 1) return inner;
    return inner * std::gcd(m.start[d], std::gcd(from[d], to[d]));
  }
  return inner;
}

}  // namespace parallax
