#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

Status check_shape(const schema::Tensor& tensor, std::string_view label) {
  const auto shape = elements_of(tensor.shape());
  if (shape.size() > std::size_t{Dims::kMaxRank}) {
    return unsupported(fmt::format("{} has {} dimensions, at most {} are supported", label,
                                   shape.size(), Dims::kMaxRank));
  }
  for (const std::int32_t dim : shape)
    if (dim < 0) return invalid_model(fmt::format("{} has the dimension {}", label, dim));
  const auto signature = elements_of(tensor.shape_signature());
  const auto fits = [](std::int32_t open, std::int32_t dim) { return open == -1 || open == dim; };
  if (signature.empty() || std::ranges::equal(signature, shape, fits)) return {};
  return invalid_model(fmt::format("the shape_signature of {} contradicts its shape", label));
}

/// Returns the bytes of that many elements; nullopt if they exceed 63 bits, and for types whose
/// elements have no fixed size.
std::optional<std::int64_t> bytes_of_elements(schema::TensorType type, std::int64_t elements) {
  constexpr std::int64_t kComplex64 = 8, kComplex128 = 16;
  if (const auto dtype = dtype_of(type)) return bytes_of(*dtype, elements);
  if (type == schema::TensorType::COMPLEX64) return checked_mul(elements, kComplex64);
  if (type == schema::TensorType::COMPLEX128) return checked_mul(elements, kComplex128);
  return std::nullopt;
}

bool has_fixed_size(schema::TensorType type) { return bytes_of_elements(type, 0).has_value(); }

/// Checks a constant of type STRING: its count, count + 1 offsets of 32 bits, and the texts.
Status check_strings(TfliteChecks& checks, std::span<const std::byte> bytes, std::int64_t elements,
                     std::string_view label) {
  constexpr std::size_t kWord = sizeof(std::int32_t);
  const auto word = [&](std::size_t i) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * kWord, kWord);
    return std::int64_t{value};
  };
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::size_t words = bytes.size() / kWord;
  if (words < 2 || word(0) < 0 || static_cast<std::size_t>(word(0)) > words - 2)
    return invalid_model(fmt::format("{} has too few bytes for its strings", label));
  const std::int64_t count = word(0);
  if (count != elements)
    return invalid_model(fmt::format("{} has {} strings, not {}", label, count, elements));
  PX_RETURN_IF_ERROR(checks.take(static_cast<std::size_t>(count)));
  std::int64_t last = (count + 2) * static_cast<std::int64_t>(kWord);
  bool valid = word(1) == last;
  for (std::int64_t i = 0; i <= count && valid; ++i) {
    const std::int64_t next = word(static_cast<std::size_t>(i) + 1);
    valid = next >= last && next <= size;
    last = next;
  }
  if (valid && last == size) return {};
  return invalid_model(fmt::format("the offsets of the strings of {} are wrong", label));
}

Status check_constant(TfliteChecks& checks, const schema::Tensor& tensor, std::int64_t elements,
                      std::string_view label) {
  const auto bytes = constant_bytes(checks.file, tensor);
  if (tensor.is_variable()) return unsupported(fmt::format("the variable {} has bytes", label));
  if (tensor.type() == schema::TensorType::STRING)
    return check_strings(checks, bytes, elements, label);
  if (!has_fixed_size(tensor.type())) {
    return unsupported(fmt::format("{} is a constant of type {}", label,
                                   schema::EnumNameTensorType(tensor.type())));
  }
  if (tensor.sparsity() != nullptr) {
    PX_ASSIGN(elements, count_stored(checks, tensor, label));
  }
  const auto size = bytes_of_elements(tensor.type(), elements);
  if (size && static_cast<std::size_t>(*size) == bytes.size()) return {};
  return invalid_model(
      fmt::format("{} has {} bytes, not {}", label, bytes.size(), size.value_or(0)));
}

/// Checks the number of the tensor's buffer and that the buffer is in this file.
Status check_place(const TfliteChecks& checks, const schema::Tensor& tensor,
                   std::string_view label) {
  const std::size_t buffers = length_of(checks.file.model->buffers());
  if (tensor.buffer() != 0 && tensor.buffer() >= buffers)
    return invalid_model(fmt::format("{} has buffer {} of {}", label, tensor.buffer(), buffers));
  if (tensor.external_buffer() == 0) return {};
  return unsupported(fmt::format("the bytes of {} are in another file", label));
}

Status check_tensor(TfliteChecks& checks, const schema::SubGraph& graph, std::int32_t index,
                    TfliteUses& uses) {
  const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const std::string label = tensor_name(graph, index);
  if (tensor.type() < schema::TensorType::MIN || tensor.type() > schema::TensorType::MAX) {
    return unsupported(
        fmt::format("{} has the unknown element type {}", label, static_cast<int>(tensor.type())));
  }
  PX_RETURN_IF_ERROR(check_shape(tensor, label));
  PX_RETURN_IF_ERROR(check_place(checks, tensor, label));
  const auto elements = dims_of(tensor).checked_elements();
  const bool sized =
      elements && (!has_fixed_size(tensor.type()) || bytes_of_elements(tensor.type(), *elements));
  if (!sized) return invalid_model(fmt::format("the size of {} overflows", label));
  const bool constant = !constant_bytes(checks.file, tensor).empty();
  if (constant) PX_RETURN_IF_ERROR(check_constant(checks, tensor, *elements, label));
  uses.fixed = constant || tensor.is_variable();
  uses.empty = *elements == 0 && !is_dynamic(tensor);
  return check_quantization(checks, graph, tensor, label);
}

}  // namespace

Status check_tensors(TfliteChecks& checks, std::size_t subgraph) {
  const schema::SubGraph& graph = *checks.file.subgraphs[subgraph].graph;
  const std::size_t count = length_of(graph.tensors());
  checks.uses[subgraph].resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* name = graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i))->name();
    const std::string owner = fmt::format("tensor {} of subgraph {}", i, subgraph);
    PX_RETURN_IF_ERROR(checks.check_name(owner, name));
    PX_RETURN_IF_ERROR(
        check_tensor(checks, graph, static_cast<std::int32_t>(i), checks.uses[subgraph][i]));
  }
  return {};
}

}  // namespace parallax
