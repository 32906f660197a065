// Tensors made of shapes and numbers: Shape, Size, ConstantOfShape, Range.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "ops/common.h"
#include "ops/params/movement.h"
#include "ops/params/numbers.h"
#include "parallax/elements.h"

namespace parallax {

namespace {

InferResult infer_shape(const InferContext& context) {
  const Shape& from = context.inputs[0].shape;
  const auto rank = static_cast<std::int64_t>(from.size());
  PX_ASSIGN(const auto params, read_params<ShapeParams>(context));
  const auto bound = [&](std::int64_t at) {
    if (at < 0) return at < -rank ? 0 : at + rank;
    return std::min(at, rank);
  };
  const std::int64_t start = bound(params.start);
  const std::int64_t end = std::max(start, bound(params.end));
  std::vector<Expr> content(from.begin() + start, from.begin() + end);
  return one_output(DType::kI64, {Expr(end - start)}, std::move(content));
}

InferResult infer_size(const InferContext& context) {
  return one_output(DType::kI64, {}, std::vector<Expr>{product(context.inputs[0].shape)});
}

InferResult infer_constant_of_shape(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, 0));
  const auto params = params_of<ConstantOfShapeParams>(context.node);
  const bool filled = params.value.has_value();
  const Constant fill = params.value.value_or(Constant{});
  if (filled && fill.dims.checked_elements() != 1) {
    return fail(context, "value must have one element");
  }
  if (!length || *length > Dims::kMaxRank) {
    return fail(context, "the rank of the result is not known or too large",
                ErrorCode::kUnsupported);
  }
  const auto wanted = context.exprs(0);
  if (!wanted) {
    return one_output(fill.dtype, fresh_shape(context, static_cast<std::size_t>(*length)));
  }
  for (const Expr& dim : *wanted) {
    if (is_negative(dim)) return fail(context, "the shape has a negative dimension");
  }
  Content content;
  const auto size = content_size(*wanted);
  if (filled && size) {
    if (const auto value = integers(fill, 1)) content.emplace(*size, Expr(value->front()));
  }
  return one_output(fill.dtype, *wanted, std::move(content));
}

constexpr DTypeSet kRangeTypes = kFloatTypes | kIndexTypes | dtype_bit(DType::kI16);

/// The one element of a constant.
template <class Number>
std::optional<Number> known_number(const InferInput& input) {
  if (input.constant == nullptr || input.constant->dims.checked_elements() != 1)
    return std::nullopt;
  return read_element<Number>(input.dtype, input.constant->bytes.data(), 0);
}

/// Number of elements of a range of floats; a fresh symbol where its bounds are computed while
/// running.
template <class Number>
Result<Expr> float_count(const InferContext& context) {
  const auto start = known_number<Number>(context.inputs[0]);
  const auto limit = known_number<Number>(context.inputs[1]);
  const auto delta = known_number<Number>(context.inputs[2]);
  if (!start || !limit || !delta) return context.fresh_symbol("range");
  const double count =
      std::ceil(static_cast<double>(*limit - *start) / static_cast<double>(*delta));
  if (*delta == Number{0} || !(count < 9.0e18)) return fail(context, "the range has no end");
  return Expr(count <= 0 ? 0 : static_cast<std::int64_t>(count));
}

struct IntRange {
  Expr start, delta, count;
};

Result<std::optional<IntRange>> int_range(const InferContext& context) {
  std::vector<Expr> bounds;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto elements = context.exprs(i);
    const auto number = known_number<std::int64_t>(context.inputs[i]);
    if (elements && elements->size() == 1) {
      bounds.push_back(elements->front());
    } else if (number) {
      bounds.emplace_back(*number);
    } else {
      return std::nullopt;
    }
  }
  const Expr& delta = bounds[2];
  if (delta == Expr(0)) return fail(context, "delta is 0");
  const Expr room = bounds[1] - bounds[0];
  if (is_negative(Expr(0) - delta)) {
    return IntRange{bounds[0], delta, max(ceil_div(room, delta), 0)};
  }
  if (is_negative(delta)) {
    return IntRange{bounds[0], delta, max(ceil_div(Expr(0) - room, Expr(0) - delta), 0)};
  }
  return std::nullopt;
}

InferResult infer_range(const InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kRangeTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    PX_RETURN_IF_ERROR(expect_one_element(context, i));
  }
  const DType dtype = context.inputs[0].dtype;
  if (contains(kFloatTypes, dtype)) {
    PX_ASSIGN(Expr count,
              dtype == DType::kF64 ? float_count<double>(context) : float_count<float>(context));
    return one_output(dtype, {std::move(count)});
  }
  PX_ASSIGN(const auto range, int_range(context));
  if (!range) return one_output(dtype, {context.fresh_symbol("range")});
  Content content;
  const auto size = content_size({range->count});
  if (size && has_content(dtype)) {
    content.emplace();
    for (std::size_t i = 0; i < *size; ++i) {
      content->push_back(range->start + range->delta * Expr(static_cast<std::int64_t>(i)));
    }
  }
  return one_output(dtype, {range->count}, std::move(content));
}

}  // namespace

const OpDef& op_def_Shape() {
  static const OpDef def = [] {
    OpDef d(OpKind::kShape, whole_tensors(WorkKind::kMovement, ConformanceForm::kFolded));
    d.attributes = attributes_of<ShapeParams>();
    d.infer = infer_shape;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

const OpDef& op_def_Size() {
  static const OpDef def = [] {
    OpDef d(OpKind::kSize, whole_tensors(WorkKind::kMovement, ConformanceForm::kFolded));
    d.infer = infer_size;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

const OpDef& op_def_ConstantOfShape() {
  static const OpDef def = [] {
    OpDef d(OpKind::kConstantOfShape, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 9;
    d.attributes = attributes_of<ConstantOfShapeParams>();
    d.infer = infer_constant_of_shape;
    d.macs = macs_none;
    d.shape_inputs = 0b1;
    return d;
  }();
  return def;
}

const OpDef& op_def_Range() {
  static const OpDef def = [] {
    OpDef d(OpKind::kRange, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 11;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.infer = infer_range;
    d.macs = macs_per_output;
    d.shape_inputs = 0b111;
    return d;
  }();
  return def;
}

}  // namespace parallax
