// Reductions over axes: ReduceSum and its kin, ArgMax, ArgMin, TopK.
#include <fmt/core.h>

#include <algorithm>

#include "ops/common.h"
#include "ops/params/reduce.h"

namespace parallax {

namespace {

using Axes = std::vector<bool>;  // true: reduced

/// `shape` with the marked axes made 1 or removed.
Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdims) {
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!axes[i]) {
      result.push_back(shape[i]);
    } else if (keepdims) {
      result.emplace_back(1);
    }
  }
  return result;
}

/// Returns the axes of the constant input 1; nullopt if they are computed while running.
Result<std::optional<Axes>> axes_input(const InferContext& context, bool noop) {
  const std::size_t rank = context.inputs[0].shape.size();
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 1));
  std::optional<std::vector<std::int64_t>> listed = std::vector<std::int64_t>{};
  if (context.has(1)) listed = context.known_ints(1);
  if (!listed) return std::nullopt;
  if (listed->empty()) return Axes(rank, !noop);
  PX_ASSIGN(const auto normal, normalize_axes(context, *listed, static_cast<int>(rank)));
  Axes axes(rank, false);
  for (int axis : normal) axes[static_cast<std::size_t>(axis)] = true;
  return axes;
}

/// The shape where the axes are not known before running.
Result<Shape> unknown_axes_shape(const InferContext& context, bool keepdims) {
  const std::size_t rank = context.inputs[0].shape.size();
  if (keepdims) return fresh_shape(context, rank);
  const auto count = context.inputs[1].shape[0].constant();
  if (!count || *count <= 0 || *count > static_cast<std::int64_t>(rank)) {
    return fail(context, "the number of axes must be known", ErrorCode::kUnsupported);
  }
  return fresh_shape(context, rank - static_cast<std::size_t>(*count));
}

using Fold = Expr (*)(const Expr&, const Expr&);

Content reduced_content(const InferContext& context, const Axes& axes, const Shape& kept,
                        Fold fold) {
  const InferInput& x = context.inputs[0];
  const auto size = content_size(kept);
  if (!has_content(x.dtype) || !content_size(x.shape) || !size) return std::nullopt;
  const auto elements = context.exprs(0);
  if (!elements) return std::nullopt;
  const Dims dims = *concrete(x.shape);
  const Dims out = *concrete(kept);
  std::vector<std::optional<Expr>> sums(*size);
  std::size_t next = 0;
  for_each_index(dims, [&](Dims index) {
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (axes[static_cast<std::size_t>(axis)]) index[axis] = 0;
    }
    auto& sum = sums[offset_of(out, index)];
    const Expr& element = (*elements)[next++];
    sum = sum ? fold(*sum, element) : element;
  });
  std::vector<Expr> result;
  for (const auto& sum : sums) {
    if (!sum) return std::nullopt;  // nothing to fold: left to the kernel
    result.push_back(*sum);
  }
  return result;
}

template <DTypeSet kTypes, Fold kFold = nullptr>
InferResult infer_reduce(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTypes));
  PX_ASSIGN(const auto params, read_params<ReduceParams>(context));
  const bool keepdims = params.keepdims;
  PX_ASSIGN(const auto axes, axes_input(context, params.noop_with_empty_axes));
  const InferInput& x = context.inputs[0];
  if (!axes) {
    PX_ASSIGN(Shape unknown, unknown_axes_shape(context, keepdims));
    return one_output(x.dtype, std::move(unknown));
  }
  Content content;
  if constexpr (kFold != nullptr) {
    content = reduced_content(context, *axes, reduced_shape(x.shape, *axes, true), kFold);
  }
  return one_output(x.dtype, reduced_shape(x.shape, *axes, keepdims), std::move(content));
}

Expr sum_of(const Expr& a, const Expr& b) { return a + b; }
Expr product_of(const Expr& a, const Expr& b) { return a * b; }
Expr larger_of(const Expr& a, const Expr& b) { return max(a, b); }
Expr smaller_of(const Expr& a, const Expr& b) { return min(a, b); }

/// ArgMax and ArgMin.
InferResult infer_arg_max(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  PX_ASSIGN(const auto params, read_params<ArgParams>(context));
  const Shape& shape = context.inputs[0].shape;
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(context.inputs[0])));
  if (shape[static_cast<std::size_t>(axis)] == Expr(0)) {
    return fail(context, "the axis has no elements");
  }
  Axes axes(shape.size(), false);
  axes[static_cast<std::size_t>(axis)] = true;
  return one_output(DType::kI64, reduced_shape(shape, axes, params.keepdims));
}

InferResult infer_top_k(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_RETURN_IF_ERROR(expect_one_element(context, 1));
  PX_ASSIGN(const auto params, read_params<TopKParams>(context));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(x)));
  Shape shape = x.shape;
  Expr& dim = shape[static_cast<std::size_t>(axis)];
  const auto k = context.exprs(1);
  if (!k || k->size() != 1) {
    dim = context.fresh_symbol("k");
  } else {
    const Expr left = dim - k->front();
    if (is_negative(k->front()) || is_negative(left)) {
      return fail(context, "k is negative or more than the axis has");
    }
    dim = k->front();
  }
  std::vector<InferOutput> outputs = one_output(x.dtype, shape);
  outputs.push_back({DType::kI64, std::move(shape), std::nullopt});
  return outputs;
}

OpDef reduction(OpKind kind, ConformanceForm form, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, {.work = WorkKind::kReduction,
                   .flops = PaperFlops::kInputs,
                   .nhwc = NhwcRule::kAxesInput,
                   .rows = RowRule::kReduction,
                   .form = form});
  def.max_inputs = 2;
  def.attributes = attributes_of<ReduceParams>();
  def.infer = infer;
  def.macs = macs_per_input;
  def.shape_inputs = 0b10;
  return def;
}

OpDef arg_reduction(OpKind kind) {
  OpDef def(kind, {.work = WorkKind::kReduction,
                   .flops = PaperFlops::kInputs,
                   .nhwc = NhwcRule::kNone,
                   .rows = RowRule::kNone,
                   .form = ConformanceForm::kOwn});
  def.attributes = attributes_of<ArgParams>();
  def.infer = infer_arg_max;
  def.macs = macs_per_input;
  return def;
}

/// The types of ReduceMax and ReduceMin: 16 bits are not among them.
constexpr DTypeSet kOrderedTypes =
    kSumTypes | kBoolTypes |
    (kNumericTypes & dtypes_where([](const DTypeInfo& type) { return type.bits == 8; }));

}  // namespace

const OpDef& op_def_ReduceL1() {
  static const OpDef def =
      reduction(OpKind::kReduceL1, ConformanceForm::kReduction, infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceLogSum() {
  static const OpDef def = reduction(OpKind::kReduceLogSum, ConformanceForm::kReductionOfPositive,
                                     infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceLogSumExp() {
  static const OpDef def =
      reduction(OpKind::kReduceLogSumExp, ConformanceForm::kReduction, infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceProd() {
  static const OpDef def = reduction(OpKind::kReduceProd, ConformanceForm::kReduction,
                                     infer_reduce<kSumTypes, product_of>);
  return def;
}

const OpDef& op_def_ReduceMin() {
  static const OpDef def = reduction(OpKind::kReduceMin, ConformanceForm::kReduction,
                                     infer_reduce<kOrderedTypes, smaller_of>);
  return def;
}

const OpDef& op_def_ReduceL2() {
  static const OpDef def =
      reduction(OpKind::kReduceL2, ConformanceForm::kReduction, infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceMean() {
  static const OpDef def =
      reduction(OpKind::kReduceMean, ConformanceForm::kReduction, infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceSum() {
  static const OpDef def =
      reduction(OpKind::kReduceSum, ConformanceForm::kReduction, infer_reduce<kSumTypes, sum_of>);
  return def;
}

const OpDef& op_def_ReduceSumSquare() {
  static const OpDef def =
      reduction(OpKind::kReduceSumSquare, ConformanceForm::kReduction, infer_reduce<kSumTypes>);
  return def;
}

const OpDef& op_def_ReduceMax() {
  static const OpDef def = reduction(OpKind::kReduceMax, ConformanceForm::kReduction,
                                     infer_reduce<kOrderedTypes, larger_of>);
  return def;
}

const OpDef& op_def_ArgMax() {
  static const OpDef def = arg_reduction(OpKind::kArgMax);
  return def;
}

const OpDef& op_def_ArgMin() {
  static const OpDef def = arg_reduction(OpKind::kArgMin);
  return def;
}

const OpDef& op_def_TopK() {
  static const OpDef def = [] {
    OpDef d(OpKind::kTopK, whole_tensors(WorkKind::kReduction, ConformanceForm::kOwn));
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.max_outputs = 2;
    d.attributes = attributes_of<TopKParams>();
    d.infer = infer_top_k;
    d.macs = macs_per_input;
    d.shape_inputs = 0b10;
    return d;
  }();
  return def;
}

}  // namespace parallax
