#include "load/operator_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "load/names.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

template <class T>
Constant scalar_of(DType dtype, T x) {
  return make_constant(dtype, Dims{}, std::as_bytes(std::span(&x, 1)));
}

}  // namespace

std::vector<ValueId> trimmed(std::vector<ValueId> inputs) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return inputs;
}

Attributes attributes_of(std::initializer_list<NamedAttribute> list) {
  Attributes attributes;
  for (const auto& [name, value] : list) attributes.set(name, value);
  return attributes;
}

Attributes with_axis(std::int64_t axis, std::initializer_list<NamedAttribute> others) {
  Attributes attributes = attributes_of(others);
  set_param(attributes, &AxisParams<0>::axis, axis);
  return attributes;
}

const Value* OperatorWriter::typed(ValueId value) {
  if (failed() || !value.valid()) return nullptr;
  if (infer_) {
    if (auto status = infer_(); !status) {
      fail(std::move(status).error());
      return nullptr;
    }
  }
  return &writer_.graph().values[value];
}

DType OperatorWriter::dtype(ValueId value) {
  const Value* const known = typed(value);
  return known == nullptr ? DType::kF32 : known->dtype;
}

int OperatorWriter::rank(ValueId value) { return static_cast<int>(shape(value).size()); }

const Shape& OperatorWriter::shape(ValueId value) {
  static const Shape kNone;
  const Value* const known = typed(value);
  return known == nullptr ? kNone : known->shape;
}

std::int64_t OperatorWriter::dimension(ValueId value, int axis) {
  const Shape& known = shape(value);
  if (axis < 0 || axis >= static_cast<int>(known.size())) return -1;
  return known[static_cast<std::size_t>(axis)].constant().value_or(-1);
}

const Constant* OperatorWriter::constant(ValueId value) const {
  if (!value.valid()) return nullptr;
  const auto& known = writer_.graph().values[value].constant;
  return known ? &*known : nullptr;
}

bool OperatorWriter::is_known(ValueId list) {
  if (constant(list) != nullptr) return true;
  const Value* const known = typed(list);
  return known != nullptr && known->content &&
         std::ranges::all_of(*known->content,
                             [](const Expr& e) { return e.constant().has_value(); });
}

std::string OperatorWriter::name_of(OpKind kind) const {
  return fmt::format("{}/{}", name_.node, to_string(kind));
}

void OperatorWriter::write(Node node) {
  if (failed()) return;
  node.inputs = trimmed(std::move(node.inputs));
  if (auto written = writer_.node(std::move(node), origin_); !written) fail(written.error());
}

std::vector<ValueId> OperatorWriter::ops(OpKind kind, std::vector<ValueId> inputs,
                                         Attributes attributes, std::size_t outputs) {
  std::vector<ValueId> results(outputs);
  if (failed()) return results;
  const std::string name = name_of(kind);
  for (ValueId& result : results) result = writer_.result(writer_.fresh_value_name(name));
  write({name, kind, std::move(attributes), std::move(inputs), results});
  return results;
}

ValueId OperatorWriter::op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  return ops(kind, std::move(inputs), std::move(attributes), 1)[0];
}

ValueId OperatorWriter::constant(Constant value) {
  return writer_.constant(writer_.fresh_value_name(name_.node + "/constant"), std::move(value));
}

ValueId OperatorWriter::float_number(float x) { return constant(scalar_of(DType::kF32, x)); }
ValueId OperatorWriter::int_number(std::int64_t x) { return constant(scalar_of(DType::kI64, x)); }
ValueId OperatorWriter::ints(const std::vector<std::int64_t>& elements) {
  return constant(make_i64(elements));
}

ValueId OperatorWriter::number(double x, ValueId like) {
  switch (const DType type = dtype(like)) {
    case DType::kF64:
      return constant(scalar_of(type, x));
    case DType::kI64:
      return int_number(static_cast<std::int64_t>(x));
    case DType::kI32:
      return constant(scalar_of(type, static_cast<std::int32_t>(x)));
    default:
      return cast_to(float_number(static_cast<float>(x)), type);
  }
}

ValueId OperatorWriter::cast(ValueId x, DType to) {
  return op(OpKind::kCast, {x}, attributes_of({{"to", std::int64_t{info_of(to).onnx}}}));
}

ValueId OperatorWriter::cast_to(ValueId x, DType to) { return dtype(x) == to ? x : cast(x, to); }

ValueId OperatorWriter::reshape(ValueId x, const std::vector<std::int64_t>& shape) {
  return op(OpKind::kReshape, {x, ints(shape)});
}

ValueId OperatorWriter::reshape_like(ValueId x, ValueId like) {
  return op(OpKind::kReshape, {x, op(OpKind::kShape, {like})},
            attributes_of({{"allowzero", std::int64_t{1}}}));
}

ValueId OperatorWriter::transpose(ValueId x, std::vector<std::int64_t> perm) {
  return op(OpKind::kTranspose, {x}, attributes_of({{"perm", std::move(perm)}}));
}

ValueId OperatorWriter::unsqueeze(ValueId x, const std::vector<std::int64_t>& axes) {
  return op(OpKind::kUnsqueeze, {x, ints(axes)});
}

ValueId OperatorWriter::squeeze(ValueId x, const std::vector<std::int64_t>& axes) {
  return op(OpKind::kSqueeze, {x, ints(axes)});
}

ValueId OperatorWriter::concat(std::vector<ValueId> parts, std::int64_t axis) {
  return op(OpKind::kConcat, std::move(parts), with_axis(axis));
}

ValueId OperatorWriter::slice(ValueId x, std::int64_t begin, std::int64_t end, std::int64_t axis) {
  return op(OpKind::kSlice, {x, ints({begin}), ints({end}), ints({axis})});
}

ValueId OperatorWriter::reduce(OpKind kind, ValueId x, const std::vector<std::int64_t>& axes,
                               bool keep) {
  return op(kind, {x, ints(axes)}, attributes_of({{"keepdims", std::int64_t{keep}}}));
}

ValueId OperatorWriter::dim(ValueId x, std::int64_t axis) {
  Attributes part;
  part.set("start", axis);
  if (axis != -1) part.set("end", axis + 1);
  return op(OpKind::kShape, {x}, std::move(part));
}

void OperatorWriter::fail(Error error) {
  if (!failed()) status_ = tl::unexpected(std::move(error));
}

void OperatorWriter::refuse(std::string_view message) {
  fail(
      load_error(ErrorCode::kUnsupported, fmt::format("{}: {}", name_.label, message), name_.node));
}

void OperatorWriter::invalid(std::string message) {
  fail(load_error(ErrorCode::kInvalidModel, std::move(message), name_.node));
}

}  // namespace parallax
