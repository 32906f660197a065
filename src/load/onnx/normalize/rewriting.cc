#include "load/onnx/normalize/rewriting.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/status.h"
#include "load/names.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

template <class T>
Constant scalar_of(DType dtype, T x) {
  return make_constant(dtype, Dims{}, std::as_bytes(std::span(&x, 1)));
}

/// Inputs that are left out at the end are not inputs.
std::vector<ValueId> trimmed(std::vector<ValueId> inputs) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return inputs;
}

}  // namespace

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

ValueId Rewriting::need(std::size_t i) {
  if (!has(i)) invalid(fmt::format("input {} is missing", i));
  return in(i);
}

const Value* Rewriting::typed(ValueId value) {
  if (failed() || !value.valid()) return nullptr;
  if (file_.infer) {
    if (auto status = file_.infer(); !status) {
      fail(std::move(status).error());
      return nullptr;
    }
  }
  return &file_.writer.graph().values[value];
}

DType Rewriting::dtype(ValueId value) {
  const Value* const known = typed(value);
  return known == nullptr ? DType::kF32 : known->dtype;
}

int Rewriting::rank(ValueId value) { return static_cast<int>(shape(value).size()); }

const Shape& Rewriting::shape(ValueId value) {
  static const Shape kNone;
  const Value* const known = typed(value);
  return known == nullptr ? kNone : known->shape;
}

std::int64_t Rewriting::dimension(ValueId value, int axis) {
  const Shape& known = shape(value);
  if (axis < 0 || axis >= static_cast<int>(known.size())) return -1;
  return known[static_cast<std::size_t>(axis)].constant().value_or(-1);
}

const Constant* Rewriting::constant(ValueId value) const {
  if (!value.valid()) return nullptr;
  const auto& known = file_.writer.graph().values[value].constant;
  return known ? &*known : nullptr;
}

bool Rewriting::is_known(ValueId list) {
  if (constant(list) != nullptr) return true;
  const Value* const known = typed(list);
  return known != nullptr && known->content &&
         std::ranges::all_of(*known->content,
                             [](const Expr& e) { return e.constant().has_value(); });
}

void Rewriting::write(Node node) {
  if (failed()) return;
  node.inputs = trimmed(std::move(node.inputs));
  if (auto written = file_.writer.node(std::move(node)); !written) fail(written.error());
}

std::vector<ValueId> Rewriting::ops(OpKind kind, std::vector<ValueId> inputs, Attributes attributes,
                                    std::size_t outputs) {
  std::vector<ValueId> results(outputs);
  if (failed()) return results;
  const std::string name = fmt::format("{}/{}", file_.node.name, to_string(kind));
  for (ValueId& result : results) result = file_.writer.result(file_.writer.fresh_value_name(name));
  write({name, kind, std::move(attributes), std::move(inputs), results});
  return results;
}

ValueId Rewriting::op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  return ops(kind, std::move(inputs), std::move(attributes), 1)[0];
}

ValueId Rewriting::float_number(float x) { return constant(scalar_of(DType::kF32, x)); }
ValueId Rewriting::int_number(std::int64_t x) { return constant(scalar_of(DType::kI64, x)); }
ValueId Rewriting::ints(const std::vector<std::int64_t>& elements) {
  return constant(make_i64(elements));
}

ValueId Rewriting::number(double x, ValueId like) {
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

ValueId Rewriting::cast(ValueId x, DType to) {
  return op(OpKind::kCast, {x}, attributes_of({{"to", std::int64_t{info_of(to).onnx}}}));
}

ValueId Rewriting::cast_to(ValueId x, DType to) { return dtype(x) == to ? x : cast(x, to); }

ValueId Rewriting::reshape(ValueId x, const std::vector<std::int64_t>& shape) {
  return op(OpKind::kReshape, {x, ints(shape)});
}

ValueId Rewriting::reshape_like(ValueId x, ValueId like) {
  return op(OpKind::kReshape, {x, op(OpKind::kShape, {like})},
            attributes_of({{"allowzero", std::int64_t{1}}}));
}

ValueId Rewriting::transpose(ValueId x, std::vector<std::int64_t> perm) {
  return op(OpKind::kTranspose, {x}, attributes_of({{"perm", std::move(perm)}}));
}

ValueId Rewriting::unsqueeze(ValueId x, const std::vector<std::int64_t>& axes) {
  return op(OpKind::kUnsqueeze, {x, ints(axes)});
}

ValueId Rewriting::squeeze(ValueId x, const std::vector<std::int64_t>& axes) {
  return op(OpKind::kSqueeze, {x, ints(axes)});
}

ValueId Rewriting::concat(std::vector<ValueId> parts, std::int64_t axis) {
  return op(OpKind::kConcat, std::move(parts), with_axis(axis));
}

ValueId Rewriting::slice(ValueId x, std::int64_t begin, std::int64_t end, std::int64_t axis) {
  return op(OpKind::kSlice, {x, ints({begin}), ints({end}), ints({axis})});
}

ValueId Rewriting::reduce(OpKind kind, ValueId x, const std::vector<std::int64_t>& axes,
                          bool keep) {
  return op(kind, {x, ints(axes)}, attributes_of({{"keepdims", std::int64_t{keep}}}));
}

ValueId Rewriting::dim(ValueId x, std::int64_t axis) {
  Attributes part;
  part.set("start", axis);
  if (axis != -1) part.set("end", axis + 1);
  return op(OpKind::kShape, {x}, std::move(part));
}

void Rewriting::result(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  kind_ = kind;
  result_ = std::move(inputs);
  attributes_ = std::move(attributes);
}

void Rewriting::output(std::size_t i, OpKind kind, std::vector<ValueId> inputs,
                       Attributes attributes) {
  if (!reads_output(i)) return;
  const std::string name = fmt::format("{}/{}", file_.node.name, to_string(kind));
  write({name, kind, std::move(attributes), std::move(inputs), {file_.node.outputs[i]}});
  file_.node.outputs[i] = ValueId{};
}

void Rewriting::fail(Error error) {
  if (!failed()) status_ = tl::unexpected(std::move(error));
}

void Rewriting::refuse(std::string message) { fail(file_.refuse(std::move(message)).value()); }

void Rewriting::invalid(std::string message) {
  fail(invalid_model(std::move(message), file_.node.name).value());
}

Status Rewriting::finish() {
  if (failed()) return status_;
  for (const auto& [name, value] : file_.node.attributes)
    return file_.refuse(fmt::format("attribute {} is not supported", quote(name)));
  for (std::size_t i = 1; i < file_.node.outputs.size(); ++i)
    if (reads_output(i)) return file_.refuse(fmt::format("output {} is not supported", i));
  file_.node.outputs.resize(1);
  file_.node.op = kind_;
  file_.node.inputs = trimmed(std::move(result_));
  file_.node.attributes = std::move(attributes_);
  return {};
}

}  // namespace parallax
