#include "load/onnx/inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

/// Some exporters write "?" for a dimension that they know nothing about.
bool is_nameless(std::string_view param) {
  return std::none_of(param.begin(), param.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte) != 0;
  });
}

std::string label(const OnnxValueInfo& input) { return "input " + quote(input.name); }

/// Bytes of an input whose unknown dimensions are 1.
bool overflows(DType dtype, const Shape& shape) {
  Dims known;
  for (const Expr& dim : shape) known.push_back(dim.constant().value_or(1));
  return dtype == DType::kString ? !known.checked_elements() : !bytes_of(dtype, known);
}

}  // namespace

InputReader::InputReader(Graph& graph, std::span<const OnnxValueInfo> inputs) : graph_(graph) {
  for (const OnnxValueInfo& input : inputs) {
    if (!input.shape) continue;
    for (const OnnxDimension& dimension : *input.shape) taken_.emplace(dimension.param);
  }
}

SymbolId InputReader::symbol(const std::string& name) {
  const auto [known, added] = symbols_.try_emplace(name);
  if (added) known->second = graph_.symbols.push_back({name, SymbolKind::kInput});
  return known->second;
}

Expr InputReader::dimension(const OnnxValueInfo& input, std::size_t axis) {
  const OnnxDimension& dimension = (*input.shape)[axis];
  if (dimension.value && *dimension.value >= 0) return {*dimension.value};
  if (!dimension.value && !is_nameless(dimension.param)) {
    return Expr::symbol(symbol(std::string(dimension.param)));
  }
  std::string name = fmt::format("{}_dim_{}", input.name, axis);
  while (!taken_.insert(name).second) name += '_';
  return Expr::symbol(symbol(name));
}

/// Names of dimensions say nothing here: they may differ from one tensor in it to the next.
Result<ContainerType> container_type(const OnnxValueInfo& info, const std::string& what) {
  if (!info.is_tensor) return unsupported(what + " has a type that is not supported");
  auto container = std::make_shared<Container>();
  container->types = info.containers;
  if (std::ranges::find(container->types, ObjectType::kMap) != container->types.end()) {
    PX_ASSIGN(container->key, onnx_dtype(info.key_type, "the key of " + what));
    if (container->key != DType::kI64 && container->key != DType::kString)
      return unsupported(what + " is a map whose keys are neither int64 nor strings");
  }
  container->filled = true;
  if (!info.shape || info.shape->size() > Dims::kMaxRank) return container;
  container->dims.emplace();
  for (const OnnxDimension& dimension : *info.shape) {
    const std::int64_t size = dimension.value.value_or(-1);
    container->dims->push_back(size < 0 ? -1 : size);
  }
  return container;
}

Result<Value> InputReader::read_container(const OnnxValueInfo& input) {
  Value value;
  value.name = input.name;
  value.kind = ValueKind::kInput;
  PX_ASSIGN(value.container, container_type(input, label(input)));
  PX_ASSIGN(value.dtype, onnx_dtype(input.element_type, label(input)));
  return value;
}

Result<Value> InputReader::read(const OnnxValueInfo& input) {
  if (!input.has_type) return invalid_model(label(input) + " has no type");
  if (!input.containers.empty()) return read_container(input);
  if (!input.is_tensor) return unsupported(label(input) + " is not a tensor");
  if (!input.shape)
    return unsupported(label(input) +
                       " has no shape; LoadOptions::inputs (--shape, or the file of --input) may "
                       "give it");
  if (input.shape->size() > Dims::kMaxRank) {
    return unsupported(fmt::format("{} has {} dimensions, at most {} are supported", label(input),
                                   input.shape->size(), Dims::kMaxRank));
  }
  Value value;
  value.name = input.name;
  value.kind = ValueKind::kInput;
  PX_ASSIGN(value.dtype, onnx_dtype(input.element_type, label(input)));
  for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
    value.shape.push_back(dimension(input, axis));
  }
  if (overflows(value.dtype, value.shape)) {
    return invalid_model(fmt::format("the size of {} overflows", label(input)));
  }
  return value;
}

Status check_default(const OnnxValueInfo& input, const Value& constant) {
  const auto contradiction = [&](std::string_view what) {
    return invalid_model(
        fmt::format("{} and the initializer of that name differ in {}", label(input), what));
  };
  if (!input.is_tensor || !input.containers.empty()) return {};
  if (input.element_type != 0) {
    PX_ASSIGN(const DType dtype, onnx_dtype(input.element_type, label(input)));
    if (dtype != constant.dtype) return contradiction("element type");
  }
  if (!input.shape) return {};
  if (input.shape->size() != constant.shape.size()) return contradiction("rank");
  for (std::size_t i = 0; i < constant.shape.size(); ++i) {
    const std::int64_t declared = (*input.shape)[i].value.value_or(-1);
    if (declared >= 0 && Expr(declared) != constant.shape[i]) return contradiction("shape");
  }
  return {};
}

}  // namespace parallax
