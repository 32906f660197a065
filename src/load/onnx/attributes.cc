#include "load/onnx/attributes.h"

#include <fmt/core.h>

#include <span>

#include "base/status.h"
#include "ir/strings.h"
#include "load/names.h"
#include "load/onnx/sparse.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

template <class T>
Constant make(DType dtype, const Dims& dims, std::span<const T> elements) {
  return make_constant(dtype, dims, std::as_bytes(elements));
}

/// Strings that are no names: no message has them.
bool is_data(std::string_view attribute) {
  return attribute == "delimiter" || attribute == "pattern" || attribute == "default_string" ||
         attribute == "value_string";
}

/// ONNX's element type, then what is around it, outermost first.
Result<AttributeValue> read_type(const OnnxAttribute& attribute) {
  OnnxValueInfo info;
  if (attribute.type_proto) PX_RETURN_IF_ERROR(parse_onnx_type(*attribute.type_proto, info));
  if (!info.is_tensor)
    return unsupported(
        fmt::format("attribute {} is a type that is not supported", quote(attribute.name)));
  std::vector<std::int64_t> type = {info.element_type};
  for (const ObjectType container : info.containers)
    type.push_back(static_cast<std::int64_t>(container));
  return AttributeValue(std::move(type));
}

Result<Constant> strings_constant(const Dims& dims, std::span<const std::string> strings) {
  const std::vector<std::string_view> views(strings.begin(), strings.end());
  if (auto constant = make_strings(dims, views)) return *std::move(constant);
  return unsupported("Constant: a string is too long");
}

Result<AttributeValue> read_value(const OnnxAttribute& attribute,
                                  const std::shared_ptr<const void>& owner,
                                  ExternalFiles& external) {
  switch (attribute.type) {
    case OnnxAttributeType::kFloat:
      return AttributeValue(attribute.f);
    case OnnxAttributeType::kInt:
      return AttributeValue(attribute.i);
    case OnnxAttributeType::kString:
      PX_RETURN_IF_ERROR(is_data(attribute.name) ? check_text("a string", attribute.s)
                                                 : check_name("a string", attribute.s));
      return AttributeValue(std::string(attribute.s));
    case OnnxAttributeType::kFloats:
      return AttributeValue(attribute.floats);
    case OnnxAttributeType::kInts:
      return AttributeValue(attribute.ints);
    case OnnxAttributeType::kStrings: {
      std::vector<std::string> strings;
      for (const std::string_view text : attribute.strings) {
        PX_RETURN_IF_ERROR(check_text("a string", text));
        strings.emplace_back(text);
      }
      return AttributeValue(std::move(strings));
    }
    case OnnxAttributeType::kTensor: {
      if (!attribute.tensor) {
        return invalid_model(fmt::format("attribute {} has no tensor", quote(attribute.name)));
      }
      PX_ASSIGN(const OnnxTensor tensor, parse_onnx_tensor(*attribute.tensor));
      PX_ASSIGN(Constant constant, read_tensor(tensor, owner, external));
      return AttributeValue(std::move(constant));
    }
    case OnnxAttributeType::kTypeProto:
      return read_type(attribute);
    default:
      return unsupported(
          fmt::format("attribute {} has a type that is not supported", quote(attribute.name)));
  }
}

Status check_reference(const OnnxNode& node, const OnnxAttribute& attribute) {
  if (attribute.reference.empty()) return {};
  return invalid_model(
      fmt::format("{}: attribute {} refers to a function", node.op_type, quote(attribute.name)));
}

bool has_bodies(const OnnxNode& node) {
  return node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan";
}

}  // namespace

Result<Attributes> read_attributes(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                                   ExternalFiles& external) {
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
                             ExternalFiles& external, LoadQuota& quota) {
  if (node.attributes.size() != 1 || !node.inputs.empty() || node.outputs.size() != 1 ||
      node.outputs[0].name.empty()) {
    return invalid_model("Constant: must have one attribute, no inputs and one output");
  }
  PX_RETURN_IF_ERROR(check_reference(node, node.attributes[0]));
  const std::string_view key = node.attributes[0].name;
  if (key == "sparse_value" && node.attributes[0].sparse_tensor) {
    PX_ASSIGN(const OnnxSparseTensor sparse,
              parse_onnx_sparse_tensor(*node.attributes[0].sparse_tensor));
    return read_sparse_tensor(sparse, owner, external, quota);
  }
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
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && key == "value_string") {
    return strings_constant(Dims{}, std::span(text, 1));
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value);
      texts != nullptr && key == "value_strings") {
    return strings_constant(Dims{static_cast<std::int64_t>(texts->size())}, *texts);
  }
  return unsupported(fmt::format("Constant: attribute {} is not supported", quote(key)));
}

}  // namespace parallax
