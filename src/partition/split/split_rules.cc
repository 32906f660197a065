#include "partition/split/split_rules.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/params/matmul.h"
#include "ops/params/movement.h"
#include "ops/params/normalization.h"
#include "ops/params/reduce.h"
#include "ops/params/resize.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/// A node with all its dims.
struct Sized {
  const Graph& graph;
  const ConcreteShapes& shapes;
  const Node& node;
  std::vector<Dims> inputs;  ///< rank 0 for those left out
  Dims out;                  ///< dims of output 0

  int rank(std::size_t input) const { return inputs[input].rank(); }
  int out_rank() const { return out.rank(); }
};

InputRows same(int axis) { return {.axis = axis}; }

/// Numpy's broadcasting: the rows of input `i` that go with rows along `axis` of the result.
InputRows broadcast_rows(const Sized& n, std::size_t i, int axis) {
  const int own = axis - (n.out_rank() - n.rank(i));
  if (own < 0 || n.inputs[i][own] != n.out[axis]) return {};
  return same(own);
}

SplitRule all_whole(const Sized& n, int axis) {
  return {axis, 1, std::vector<InputRows>(n.inputs.size())};
}

/// Input 0 alone has rows, those of the result.
SplitRule first_same(const Sized& n, int axis) {
  SplitRule rule = all_whole(n, axis);
  rule.inputs[0] = same(axis);
  return rule;
}

std::optional<SplitRule> elementwise_rule(const Sized& n, int axis) {
  SplitRule rule = all_whole(n, axis);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) rule.inputs[i] = broadcast_rows(n, i, axis);
  return rule;
}

std::optional<SplitRule> matmul_rule(const Sized& n, int axis) {
  if (n.inputs.size() != 2 || n.rank(0) < 2 || n.rank(1) < 2 || !n.node.attributes.empty())
    return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  const int last = n.out_rank() - 1;
  if (axis != last) rule.inputs[0] = broadcast_rows(n, 0, axis);
  if (axis != last - 1) rule.inputs[1] = broadcast_rows(n, 1, axis);
  return rule;
}

std::optional<SplitRule> gemm_rule(const Sized& n, int axis) {
  SplitRule rule = all_whole(n, axis);
  const auto params = params_of<GemmParams>(n.node);
  if (axis == 0) rule.inputs[0] = same(params.trans_a ? 1 : 0);
  if (axis == 1) rule.inputs[1] = same(params.trans_b ? 0 : 1);
  if (n.inputs.size() > 2) rule.inputs[2] = broadcast_rows(n, 2, axis);
  return rule;
}

std::optional<SplitRule> window_rule(const Sized& n, int axis) {
  if (axis == 0) return first_same(n, axis);
  if (axis == 1) return std::nullopt;
  const auto window = window_along(n.shapes, n.node, static_cast<std::size_t>(axis - 2));
  if (!window) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  rule.inputs[0] = {axis, window->stride, 1, -window->pad_begin,
                    window->extent - window->stride - window->pad_begin};
  return rule;
}

std::optional<SplitRule> normalization_rule(const Sized& n, int axis) {
  const auto normal = normalize_axis(params_of<AxisParams<-1>>(n.node).axis, n.out_rank());
  const bool all_behind =
      n.node.op == OpKind::kLayerNormalization || n.node.op == OpKind::kRMSNormalization;
  if (!normal || axis == *normal || (all_behind && axis > *normal)) return std::nullopt;
  return first_same(n, axis);
}

std::optional<SplitRule> reduce_rule(const Sized& n, int axis) {
  const auto axes = known_integers(n.graph, n.node, 1);
  if (!axes || axes->empty()) return std::nullopt;
  std::vector<bool> reduced(static_cast<std::size_t>(n.rank(0)), false);
  for (const std::int64_t one : *axes) {
    const auto normal = normalize_axis(one, n.rank(0));
    if (!normal) return std::nullopt;
    reduced[static_cast<std::size_t>(*normal)] = true;
  }
  int from = axis;
  if (!params_of<ReduceParams>(n.node).keepdims) {
    int kept = -1;
    for (from = 0; from < n.rank(0); ++from)
      if (!reduced[static_cast<std::size_t>(from)] && ++kept == axis) break;
  }
  if (from >= n.rank(0) || reduced[static_cast<std::size_t>(from)]) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  rule.inputs[0] = same(from);
  return rule;
}

std::optional<SplitRule> transpose_rule(const Sized& n, int axis) {
  const auto perm = params_of<TransposeParams>(n.node).perm;
  SplitRule rule = all_whole(n, axis);
  rule.inputs[0] = same(perm.empty() ? n.out_rank() - 1 - axis
                                     : static_cast<int>(perm[static_cast<std::size_t>(axis)]));
  return rule;
}

std::int64_t elements_between(const Dims& dims, int begin, int end) {
  std::int64_t result = 1;
  for (int i = begin; i < end; ++i) result *= dims[i];
  return result;
}

/// Returns the rule of a view. The elements keep their order: rows of the result are rows of the
/// input if as many elements precede both axes.
std::optional<SplitRule> view_rule(const Sized& n, int axis) {
  // Would drop an axis with one row left.
  if (n.node.op == OpKind::kSqueeze && (n.inputs.size() < 2 || !n.node.inputs[1].valid()))
    return std::nullopt;
  const std::int64_t before = elements_between(n.out, 0, axis);
  int from = -1;
  for (int i = 0; i < n.rank(0); ++i)
    if (n.inputs[0][i] > 1 && elements_between(n.inputs[0], 0, i) == before) from = i;
  if (from < 0) return std::nullopt;
  const std::int64_t of_row = elements_between(n.out, axis + 1, n.out_rank());
  const std::int64_t of_input_row = elements_between(n.inputs[0], from + 1, n.rank(0));
  if (of_row == 0 || of_input_row == 0) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  if (of_row % of_input_row == 0) {
    rule.inputs[0] = {from, of_row / of_input_row, 1, 0, 0};
  } else if (of_input_row % of_row == 0) {
    rule.granule = of_input_row / of_row;
    rule.inputs[0] = {from, 1, rule.granule, 0, 0};
  } else {
    return std::nullopt;
  }
  // Consecutive blocks of rows must have the same size on both sides.
  if (n.inputs[0][from] * of_input_row != n.out[axis] * of_row) return std::nullopt;
  return rule;
}

std::optional<SplitRule> concat_rule(const Sized& n, int axis) {
  const auto along = normalize_axis(params_of<AxisParams<0>>(n.node).axis, n.out_rank());
  if (!along) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    rule.inputs[i] = same(axis);
    if (axis != *along) continue;
    rule.inputs[i].before = rule.inputs[i].after = -offset;
    offset += n.inputs[i][axis];
  }
  return rule;
}

std::optional<SplitRule> split_rule(const Sized& n, int axis) {
  const auto along = normalize_axis(params_of<AxisParams<0>>(n.node).axis, n.rank(0));
  if (!along || axis == *along) return std::nullopt;
  return first_same(n, axis);
}

std::optional<SplitRule> slice_rule(const Sized& n, int axis) {
  const auto bounds = slice_bounds(n.graph, n.shapes, n.node);
  if (!bounds) return std::nullopt;
  const SliceAlong& along = (*bounds)[static_cast<std::size_t>(axis)];
  SplitRule rule = all_whole(n, axis);
  rule.inputs[0] = {axis, along.step, 1, along.start, along.start + 1 - along.step};
  return rule;
}

std::optional<SplitRule> gather_rule(const Sized& n, int axis) {
  if (n.inputs.size() != 2) return std::nullopt;
  const auto along = normalize_axis(params_of<AxisParams<0>>(n.node).axis, n.rank(0));
  if (!along) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  if (axis < *along) {
    rule.inputs[0] = same(axis);
  } else if (axis < *along + n.rank(1)) {
    rule.inputs[1] = same(axis - *along);
  } else {
    rule.inputs[0] = same(axis - n.rank(1) + 1);
  }
  return rule;
}

std::optional<SplitRule> pad_rule(const Sized& n, int axis) {
  if (n.inputs.size() > 3 || params_of<PadParams>(n.node).mode != PadMode::kConstant)
    return std::nullopt;
  const auto pads = known_integers(n.graph, n.node, 1);
  if (!pads || pads->size() != static_cast<std::size_t>(2 * n.out_rank())) return std::nullopt;
  const std::int64_t begin = (*pads)[static_cast<std::size_t>(axis)];
  const std::int64_t end = (*pads)[static_cast<std::size_t>(axis + n.out_rank())];
  if (begin < 0 || end < 0) return std::nullopt;
  SplitRule rule = first_same(n, axis);
  rule.inputs[0].before = rule.inputs[0].after = -begin;
  return rule;
}

/// Nearest, by a whole factor, where each input row becomes that many equal rows.
std::optional<SplitRule> resize_rule(const Sized& n, int axis) {
  const auto params = params_of<ResizeParams>(n.node);
  if (!params.axes.empty() || params.layout == ImageLayout::kNhwc || !params.copies())
    return std::nullopt;
  const bool blocks =
      (params.coordinates == ResizeCoordinates::kAsymmetric &&
       params.rounding == ResizeRounding::kFloor) ||
      (params.coordinates == ResizeCoordinates::kHalfPixel && params.rounds_to_nearest());
  const std::int64_t from = n.inputs[0][axis];
  if (!blocks || from == 0 || n.out[axis] % from != 0) return std::nullopt;
  SplitRule rule = all_whole(n, axis);
  rule.granule = n.out[axis] / from;
  rule.inputs[0] = {axis, 1, rule.granule, 0, 0};
  return rule;
}

std::optional<SplitRule> batch_normalization_rule(const Sized& n, int axis) {
  if (axis == 1 || params_of<BatchNormalizationParams>(n.node).training_mode) return std::nullopt;
  return first_same(n, axis);
}

std::optional<SplitRule> expand_rule(const Sized& n, int axis) {
  return SplitRule{axis, 1, {broadcast_rows(n, 0, axis), InputRows{}}};
}

std::optional<SplitRule> rule_of(const Sized& n, int axis) {
  switch (op_def(n.node.op).traits.rows) {
    case RowRule::kNone:
      return std::nullopt;
    case RowRule::kElementwise:
      return elementwise_rule(n, axis);
    case RowRule::kMatMul:
      return matmul_rule(n, axis);
    case RowRule::kGemm:
      return gemm_rule(n, axis);
    case RowRule::kWindow:
      return window_rule(n, axis);
    case RowRule::kBatchNormalization:
      return batch_normalization_rule(n, axis);
    case RowRule::kNormalization:
      return normalization_rule(n, axis);
    case RowRule::kReduction:
      return reduce_rule(n, axis);
    case RowRule::kTranspose:
      return transpose_rule(n, axis);
    case RowRule::kView:
      return view_rule(n, axis);
    case RowRule::kConcat:
      return concat_rule(n, axis);
    case RowRule::kSplit:
      return split_rule(n, axis);
    case RowRule::kSlice:
      return slice_rule(n, axis);
    case RowRule::kGather:
      return gather_rule(n, axis);
    case RowRule::kPad:
      return pad_rule(n, axis);
    case RowRule::kResize:
      return resize_rule(n, axis);
    case RowRule::kExpand:
      return expand_rule(n, axis);
  }
  return std::nullopt;
}

/// Output 0 is there, others as wide along `axis`, or left out.
bool outputs_agree(const Sized& n, int axis) {
  for (std::size_t i = 1; i < n.node.outputs.size(); ++i) {
    const ValueId id = n.node.outputs[i];
    if (!id.valid()) continue;
    if (n.node.op != OpKind::kSplit) return false;
    const auto& dims = n.shapes[id];
    if (!dims || dims->rank() != n.out_rank() || (*dims)[axis] != n.out[axis]) return false;
  }
  return true;
}

bool sane(const Dims& dims) {
  return std::ranges::all_of(dims, [](std::int64_t d) { return d > 0 && d <= kMaxRows; });
}

std::optional<Sized> sized(const Graph& graph, const ConcreteShapes& shapes, const Node& node) {
  if (node.outputs.empty() || !node.outputs[0].valid() || !node.bodies.empty() ||
      !node.epilogue.empty())
    return std::nullopt;
  const auto& out = shapes[node.outputs[0]];
  if (!out || !sane(*out)) return std::nullopt;
  Sized result{graph, shapes, node, {}, *out};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id.valid() && !shapes[id]) return std::nullopt;
    result.inputs.push_back(id.valid() ? *shapes[id] : Dims());
    const bool given = id.valid() && graph.values[id].kind == ValueKind::kConstant;
    if (!given && !sane(result.inputs.back())) return std::nullopt;
  }
  return result;
}

}  // namespace

Rows hull(const Rows& a, const Rows& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Rows overlap_of(const Rows& a, const Rows& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

Rows InputRows::of(const Rows& wanted) const {
  return {floor_quotient(wanted.begin * scale + before, divisor),
          -floor_quotient(-(wanted.end * scale + after), divisor)};
}

std::optional<SplitRule> split_rule(const Graph& graph, const ConcreteShapes& shapes,
                                    const Node& node, int axis) {
  const auto n = sized(graph, shapes, node);
  if (!n || axis < 0 || axis >= n->out_rank() || n->out[axis] < 2 || !outputs_agree(*n, axis))
    return std::nullopt;
  return rule_of(*n, axis);
}

}  // namespace parallax
