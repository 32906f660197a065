// Emits Softmax, normalisations, reductions and ArgMax.
#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/common.h"
#include "ops/params/normalization.h"
#include "ops/params/reduce.h"

namespace parallax::opencl {
namespace {

/// Items of a work-group of the kernels of rows.cl.
constexpr std::int64_t kLanes = 64;

std::int32_t small(std::int64_t x) { return static_cast<std::int32_t>(x); }

/// Rows of `width` elements at distances of `inner`.
struct Rows {
  std::int64_t rows = 0, width = 0, inner = 1;
};
Rows rows_along(const Dims& dims, int axis) {
  const std::int64_t outer = count_of(dims, 0, axis), inner = count_of(dims, axis + 1, dims.rank());
  return {outer * inner, dims[axis], inner};
}

/// Numbers as in rows.cl.
std::int32_t fold_of(OpKind op) {
  switch (op) {
    case OpKind::kReduceMean:
      return 1;
    case OpKind::kReduceSumSquare:
      return 2;
    case OpKind::kReduceL2:
      return 3;
    case OpKind::kReduceMax:
      return 4;
    default:
      return 0;
  }
}

void launch_reduce(Emission& e, const Rows& rows, TensorArgument x) {
  const std::int32_t fold = fold_of(e.node.op);
  if (rows.inner == 1 && rows.width >= kLanes) {
    e.launch(KernelId::reduce_group, {static_cast<std::size_t>(rows.rows), 1, 1},
             {small(rows.rows), small(rows.width), fold, x, e.output()});
  } else {
    e.launch(KernelId::reduce_item, {groups_of(rows.rows, kLanes), 1, 1},
             {small(rows.rows), small(rows.width), small(rows.inner), fold, x, e.output()});
  }
}

/// Which axes are folded: bit i = axis i.
Result<std::uint32_t> folded_axes(const Emission& e) {
  const int rank = e.in(0).rank();
  std::vector<std::int64_t> axes;
  if (e.has(1)) {
    PX_ASSIGN(axes, known_integers(e.inputs[1]));
  }
  if (axes.empty() && !params_of<ReduceParams>(e.node).noop_with_empty_axes)
    return (1U << rank) - 1;
  std::uint32_t mask = 0;
  for (const std::int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return bad_step("an axis is outside the rank");
    mask |= 1U << positive_axis(axis, rank);
  }
  return mask;
}

/// Returns rows along the folded axes if these are neighbours; otherwise nullopt.
std::optional<Rows> neighbours(const Dims& dims, std::uint32_t mask) {
  int begin = 0;
  while (begin < dims.rank() && (mask >> begin & 1U) == 0) ++begin;
  int end = begin;
  while (end < dims.rank() && (mask >> end & 1U) != 0) ++end;
  if (end < dims.rank() && mask >> end != 0) return std::nullopt;
  const std::int64_t inner = count_of(dims, end, dims.rank());
  return Rows{count_of(dims, 0, begin) * inner, count_of(dims, begin, end), inner};
}

/// Returns a copy of input 0 with the folded axes last.
TensorArgument folded_last(Emission& e, std::uint32_t mask) {
  const Dims& in = e.in(0);
  const Strides dense = row_major_strides(in);
  Dims dims;
  Strides strides{};
  for (const bool folded : {false, true}) {
    for (int axis = 0; axis < in.rank(); ++axis) {
      if (((mask >> axis & 1U) != 0) != folded) continue;
      strides[static_cast<std::size_t>(dims.rank())] = dense[static_cast<std::size_t>(axis)];
      dims.push_back(in[axis]);
    }
  }
  const TensorArgument moved = e.scratch(in.elements());
  emit_move(e, dims, e.input(0), strides, moved, row_major_strides(dims));
  return moved;
}

/// Scale or bias of a normalisation: rows of `width`, dense, one for all rows of x where possible.
struct RowOperand {
  TensorArgument tensor;
  std::int32_t row = 0;  ///< elements from the row of one row of x to that of the next
};
RowOperand row_operand(Emission& e, std::size_t i, int axis) {
  const Dims& x = e.in(0);
  const Dims tail(x.span().subspan(static_cast<std::size_t>(axis)));
  const Dims& own = e.in(i);
  bool same = own.rank() >= tail.rank();
  for (int k = 0; same && k < own.rank(); ++k) {
    const int at = k - (own.rank() - tail.rank());
    same = own[k] == (at < 0 ? 1 : tail[at]);
  }
  if (same) return {e.input(i), 0};
  const bool whole = own.rank() > tail.rank();
  const Dims& full = whole ? x : tail;
  const TensorArgument expanded = e.scratch(full.elements());
  emit_move(e, full, e.input(i), broadcast_strides(own, full), expanded, row_major_strides(full));
  return {expanded, whole ? small(tail.elements()) : 0};
}

}  // namespace

Status emit_softmax(Emission& e) {
  const int axis = positive_axis(params_of<AxisParams<-1>>(e.node).axis, e.in(0).rank());
  if (e.in(0).rank() == 0) return not_covered("a scalar has no axis");
  if (e.out().elements() == 0) return {};
  const Rows rows = rows_along(e.in(0), axis);
  const std::int32_t is_log = 0;
  if (rows.inner == 1 && rows.width >= kLanes) {
    e.launch(KernelId::softmax_group, {static_cast<std::size_t>(rows.rows), 1, 1},
             {small(rows.rows), small(rows.width), is_log, e.input(0), e.output()});
  } else {
    e.launch(
        KernelId::softmax_item, {groups_of(rows.rows, kLanes), 1, 1},
        {small(rows.rows), small(rows.width), small(rows.inner), is_log, e.input(0), e.output()});
  }
  return {};
}

Status emit_lp_normalization(Emission& e) {
  if (e.out().elements() == 0) return {};
  const int axis = positive_axis(params_of<AxisParams<-1>>(e.node).axis, e.in(0).rank());
  const Rows rows = rows_along(e.in(0), axis);
  const std::int32_t p = params_of<LpNormalizationParams>(e.node).p == 2 ? 2 : 1;
  e.launch(KernelId::lp_normalize_item, {groups_of(rows.rows, kLanes), 1, 1},
           {small(rows.rows), small(rows.width), small(rows.inner), p, e.input(0), e.output()});
  return {};
}

/// LayerNormalization and RMSNormalization.
Status emit_normalization(Emission& e) {
  const Dims& dims = e.in(0);
  const int axis = positive_axis(params_of<AxisParams<-1>>(e.node).axis, dims.rank());
  const std::int64_t width = count_of(dims, axis, dims.rank());
  const std::int64_t rows = dims.elements() == 0 ? 0 : dims.elements() / width;
  if (rows == 0) return {};
  const RowOperand scale = row_operand(e, 1, axis);
  const RowOperand bias = e.has(2) ? row_operand(e, 2, axis) : RowOperand{};
  const std::int32_t centered = e.node.op == OpKind::kLayerNormalization ? 1 : 0;
  e.launch(KernelId::normalize_group, {static_cast<std::size_t>(rows), 1, 1},
           {small(rows), small(width), params_of<EpsilonParams>(e.node).epsilon, centered,
            e.has(2) ? 1 : 0, scale.row, bias.row, e.input(0), scale.tensor, bias.tensor,
            e.wants(1) ? 1 : 0, e.wants(2) ? 1 : 0, e.output(), e.output(1), e.output(2)});
  return {};
}

Status emit_batch_normalization(Emission& e) {
  const Dims& dims = e.in(0);
  const std::int64_t total = dims.elements();
  if (total == 0) return {};
  const std::int64_t channels = dims.rank() > 1 ? dims[1] : 1;
  const std::int64_t plane = dims.rank() > 1 ? count_of(dims, 2, dims.rank()) : total;
  e.launch(KernelId::batch_normalize, {groups_of(total), 1, 1},
           {small(total), small(plane), small(channels), params_of<EpsilonParams>(e.node).epsilon,
            e.input(0), e.input(1), e.input(2), e.input(3), e.input(4), e.output()});
  return {};
}

Status emit_reduce(Emission& e) {
  if (e.out().elements() == 0) return {};
  PX_ASSIGN(const std::uint32_t mask, folded_axes(e));
  if (const auto rows = neighbours(e.in(0), mask)) {
    if (rows->rows != e.out().elements()) return bad_step("axes do not give the result's shape");
    launch_reduce(e, *rows, e.input(0));
    return {};
  }
  const std::int64_t outputs = e.out().elements();
  launch_reduce(e, {outputs, e.in(0).elements() / outputs, 1}, folded_last(e, mask));
  return {};
}

Status emit_arg_max(Emission& e) {
  if (e.out().elements() == 0) return {};
  const int axis = positive_axis(params_of<AxisParams<0>>(e.node).axis, e.in(0).rank());
  const Rows rows = rows_along(e.in(0), axis);
  if (rows.width == 0) return bad_step("largest of no elements");
  const std::int32_t last = params_of<ArgParams>(e.node).select_last_index ? 1 : 0;
  const DType dtype = e.inputs[0].desc.dtype;
  const KernelId kernel = dtype == DType::kI64   ? KernelId::arg_max_i64
                          : dtype == DType::kI32 ? KernelId::arg_max_i32
                                                 : KernelId::arg_max_f32;
  e.launch(kernel, {groups_of(rows.rows, kLanes), 1, 1},
           {small(rows.rows), small(rows.width), small(rows.inner), last, e.input(0), e.output()});
  return {};
}

}  // namespace parallax::opencl
