#include "load/onnx/attributes.h"

#include <fmt/core.h>

#include <span>

#include "base/status.h"
#include "load/onnx/names.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

template <class T>
Constant make(DType dtype, const Dims& dims, std::span<const T> elements) {
  return make_constant(dtype, dims, std::as_bytes(elements));
}

Result<AttributeValue> read_value(const OnnxAttribute& attribute,
                                  const std::shared_ptr<const void>& owner,
                                  ExternalData& external) {
  switch (attribute.type) {
    case OnnxAttributeType::kFloat:
      return AttributeValue(attribute.f);
    case OnnxAttributeType::kInt:
      return AttributeValue(attribute.i);
    case OnnxAttributeType::kString:
      PX_RETURN_IF_ERROR(check_name("a string", attribute.s));
      return AttributeValue(std::string(attribute.s));
    case OnnxAttributeType::kFloats:
      return AttributeValue(attribute.floats);
    case OnnxAttributeType::kInts:
      return AttributeValue(attribute.ints);
    case OnnxAttributeType::kTensor: {
      if (!attribute.tensor) {
        return invalid_model(fmt::format("attribute {} has no tensor", quote(attribute.name)));
      }
      PX_ASSIGN(const OnnxTensor tensor, parse_onnx_tensor(*attribute.tensor));
      PX_ASSIGN(Constant constant, read_tensor(tensor, owner, external));
      return AttributeValue(std::move(constant));
    }
    default:
      return unsupported(
          fmt::format("attribute {} has a type that is not supported", quote(attribute.name)));
  }
}

Status check_reference(const OnnxNode& node, const OnnxAttribute& attribute) {
  if (!attribute.is_reference) return {};
  return invalid_model(
      fmt::format("{}: attribute {} refers to a function", node.op_type, quote(attribute.name)));
}

bool has_bodies(const OnnxNode& node) {
  return node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan";
}

}  // namespace

Result<Attributes> read_attributes(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                                   ExternalData& external) {
  Attributes attributes;
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.type == OnnxAttributeType::kGraph && has_bodies(node)) continue;
    PX_RETURN_IF_ERROR(check_reference(node, attribute));
    if (attributes.find(attribute.name) != nullptr) {
      return invalid_model(
          fmt::format("{}: attribute {} occurs twice", node.op_type, quote(attribute.name)));
    }
    PX_ASSIGN(AttributeValue value, read_value(attribute, owner, external));
    attributes.set(std::string(attribute.name), std::move(value));
  }
  return attributes;
}

Result<Constant> constant_of(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                             ExternalData& external) {
  if (node.attributes.size() != 1 || !node.inputs.empty() || node.outputs.size() != 1 ||
      node.outputs[0].name.empty()) {
    return invalid_model("Constant: must have one attribute, no inputs and one output");
  }
  PX_RETURN_IF_ERROR(check_reference(node, node.attributes[0]));
  const std::string_view key = node.attributes[0].name;
  PX_ASSIGN(AttributeValue value, read_value(node.attributes[0], owner, external));
  if (auto* tensor = std::get_if<Constant>(&value); tensor != nullptr && key == "value") {
    return std::move(*tensor);
  }
  if (const auto* i = std::get_if<std::int64_t>(&value); i != nullptr && key == "value_int") {
    return make(DType::kI64, Dims{}, std::span(i, 1));
  }
  if (const auto* f = std::get_if<float>(&value); f != nullptr && key == "value_float") {
    return make(DType::kF32, Dims{}, std::span(f, 1));
  }
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
      ints != nullptr && key == "value_ints") {
    return make_i64(*ints);
  }
  if (const auto* floats = std::get_if<std::vector<float>>(&value);
      floats != nullptr && key == "value_floats") {
    return make(DType::kF32, Dims{static_cast<std::int64_t>(floats->size())},
                std::span(floats->data(), floats->size()));
  }
  return unsupported(fmt::format("Constant: attribute {} is not supported", quote(key)));
}

}  // namespace parallax
