// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include "ops/quantised.h"

#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/quantised.h"

namespace parallax {

namespace {

constexpr DTypeSet kRealTypes = kFloatTypes | dtype_bit(DType::kI32);
constexpr DTypeSet kDequantisedTypes = kQuantisedTypes | dtype_bit(DType::kI32);
constexpr std::size_t kScale = 1, kZero = 2;

/// A scale for each block of `size` neighbours along `axis`.
Status check_blocks(const InferContext& context, std::size_t axis, std::int64_t size) {
  const Shape& x = context.inputs[0].shape;
  const Shape& scale = context.inputs[kScale].shape;
  if (scale.size() != x.size()) return fail(context, "blocks need scales of the input's rank");
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto length = x[i].constant();
    const auto count = scale[i].constant();
    const bool fits = i != axis ? unify(x[i], scale[i]).has_value()
                                : !length || !count || *count == (*length + size - 1) / size;
    if (!fits) return fail(context, fmt::format("the scales do not fit blocks of {}", size));
  }
  return {};
}

/// One scale, one for each index along an axis, or one for each block along it.
Status check_scales(const InferContext& context, const DequantizeLinearParams& params) {
  const Shape& x = context.inputs[0].shape;
  const Shape& scale = context.inputs[kScale].shape;
  const std::int64_t block = params.block_size;
  if (block < 0 || block > std::int64_t{1} << 31)
    return fail(context, "block_size is out of range");
  if (context.has(kZero)) {
    const Shape& zero = context.inputs[kZero].shape;
    bool same = zero.size() == scale.size() || (zero.empty() && product(scale) == Expr(1)) ||
                (scale.empty() && product(zero) == Expr(1));
    for (std::size_t i = 0; same && i < zero.size() && i < scale.size(); ++i)
      same = unify(zero[i], scale[i]).has_value();
    if (!same) return fail(context, "scale and zero point must have one shape");
  }
  if (scale.empty() || (block == 0 && product(scale) == Expr(1))) return {};
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(context.inputs[0])));
  const auto at = static_cast<std::size_t>(axis);
  if (block > 0) return check_blocks(context, at, block);
  if (scale.size() != 1) return fail(context, "a scale for each index must have one dimension");
  if (!unify(scale[0], x[at])) return fail(context, "the scale does not fit the axis");
  return {};
}

/// The element type of the attribute `name`, of this ONNX number; nothing for 0.
Result<std::optional<DType>> stated_type(const InferContext& context, std::string_view name,
                                         std::int64_t code, DTypeSet types) {
  if (code == 0) return std::optional<DType>();
  const auto dtype = dtype_from_onnx(code);
  if (!dtype || !contains(types, *dtype))
    return fail(context, fmt::format("{} {} is not a type that it may have", name, code));
  return dtype;
}

/// A tensor of 8 bits through a table.
InferResult infer_table(const InferContext& context) {
  const Constant table = byte_table(context.node).value_or(Constant{});
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kByteIntegers));
  if (!contains(kByteIntegers, table.dtype) || table.dims.elements() != kByteTableSize)
    return fail(context, "the table must have 256 integers of 8 bits");
  return one_output(table.dtype, context.inputs[0].shape);
}

InferResult infer_quantize(const InferContext& context) {
  if (has_byte_table(context.node)) return infer_table(context);
  PX_ASSIGN(const auto params, read_params<QuantizeLinearParams>(context));
  if (!context.has(kScale)) return fail(context, "a scale is missing");
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kRealTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, kScale, kRealTypes | dtype_bit(DType::kF8E8M0)));
  PX_RETURN_IF_ERROR(expect_dtype(context, kZero, kQuantisedTypes));
  PX_RETURN_IF_ERROR(stated_type(context, "precision", params.precision, kFloatTypes));
  PX_ASSIGN(const auto stated,
            stated_type(context, "output_dtype", params.output_dtype, kQuantisedTypes));
  PX_RETURN_IF_ERROR(check_scales(context, params));
  if (context.has(kZero) && stated && *stated != context.inputs[kZero].dtype)
    return fail(context, "output_dtype is not the type of the zero point");
  const DType fallback = context.has(kZero) ? context.inputs[kZero].dtype : DType::kU8;
  return one_output(stated.value_or(fallback), context.inputs[0].shape);
}

InferResult infer_dequantize(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kDequantisedTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, kScale, kFloatTypes | dtype_bit(DType::kF8E8M0)));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, kZero));
  PX_ASSIGN(const auto params, read_params<DequantizeLinearParams>(context));
  PX_ASSIGN(const auto stated,
            stated_type(context, "output_dtype", params.output_dtype, kFloatTypes));
  PX_RETURN_IF_ERROR(check_scales(context, params));
  const DType scale = context.inputs[kScale].dtype;
  return one_output(stated.value_or(contains(kFloatTypes, scale) ? scale : DType::kF32),
                    context.inputs[0].shape);
}

InferResult infer_dynamic_quantize(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(DType::kF32)));
  return std::vector<InferOutput>{
      {DType::kU8, context.inputs[0].shape, {}}, {DType::kF32, {}, {}}, {DType::kU8, {}, {}}};
}

/// The type that quantised results have, through their table if there is one.
Result<DType> requantised_type(const InferContext& context) {
  const std::optional<Constant> table = byte_table(context.node);
  if (!table) return context.inputs[kProductYZero].dtype;
  if (!contains(kByteIntegers, table->dtype) || table->dims.elements() != kByteTableSize)
    return fail(context, "the table must have 256 integers of 8 bits");
  return table->dtype;
}

OpDef linear(OpKind kind, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, {.work = WorkKind::kElementwise,
                   .flops = PaperFlops::kNone,
                   .nhwc = NhwcRule::kElementwise,
                   .rows = RowRule::kNone,
                   .form = ConformanceForm::kOwn});
  def.since = 10;
  def.max_inputs = 3;
  def.infer = infer;
  def.macs = macs_per_output;
  return def;
}

}  // namespace

Result<DType> integer_product_type(const InferContext& context) {
  for (const std::size_t operand : {kProductX, kProductW}) {
    PX_RETURN_IF_ERROR(expect_dtype(context, operand, kByteIntegers));
    const std::size_t zero = operand + kProductXZero;
    if (context.has(zero) && context.inputs[zero].dtype != context.inputs[operand].dtype)
      return fail(context, fmt::format("input {} must have the type of input {}", zero, operand));
  }
  const Node& node = context.node;
  for (const std::size_t i : {kProductXScale, kProductWScale, kProductBias, kProductYScale})
    PX_RETURN_IF_ERROR(expect_dtype(context, i, dtype_bit(DType::kF32)));
  if (has_scales(node) != context.has(kProductWScale) ||
      (!has_scales(node) && (context.has(kProductBias) || is_requantised(node))))
    return fail(context, "a scale is missing");
  if (!has_scales(node))
    return node.epilogue.empty() ? Result<DType>(DType::kI32) : fail(context, "scales are missing");
  if (!is_requantised(node)) return DType::kF32;
  if (!context.has(kProductYZero)) return fail(context, "a zero point is missing");
  PX_RETURN_IF_ERROR(expect_dtype(context, kProductYZero, kByteIntegers));
  PX_RETURN_IF_ERROR(expect_one_element(context, kProductYScale));
  PX_RETURN_IF_ERROR(expect_one_element(context, kProductYZero));
  return requantised_type(context);
}

const OpDef& op_def_QuantizeLinear() {
  static const OpDef def = [] {
    OpDef d = linear(OpKind::kQuantizeLinear, infer_quantize);
    d.attributes = attributes_of<QuantizeLinearParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_DequantizeLinear() {
  static const OpDef def = [] {
    OpDef d = linear(OpKind::kDequantizeLinear, infer_dequantize);
    d.attributes = attributes_of<DequantizeLinearParams>();
    d.min_inputs = 2;
    return d;
  }();
  return def;
}

const OpDef& op_def_DynamicQuantizeLinear() {
  static const OpDef def = [] {
    OpDef d(OpKind::kDynamicQuantizeLinear, {.work = WorkKind::kElementwise,
                                             .flops = PaperFlops::kNone,
                                             .nhwc = NhwcRule::kElementwise,
                                             .rows = RowRule::kNone,
                                             .form = ConformanceForm::kOwn});
    d.since = 11;
    d.min_outputs = 3;
    d.max_outputs = 3;
    d.infer = infer_dynamic_quantize;
    d.macs = macs_per_output;
    return d;
  }();
  return def;
}

}  // namespace parallax
