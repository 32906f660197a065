#include "load/tflite/tflite_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

/// An offset below this one says that a buffer's bytes are in the flatbuffer.
constexpr std::uint64_t kFirstOffset = 2;
/// Tables in tables: the format itself has six levels.
constexpr flatbuffers::uoffset_t kMaxDepth = 64;

bool is_aligned(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % kTfliteAlignment == 0;
}

/// Verifies all tables that the schema knows. The flatbuffer is at the file's beginning, where
/// offsets of 31 bits reach; each table needs four bytes for a reference to it.
bool is_flatbuffer(std::span<const std::byte> bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), size,
                                 kMaxDepth, static_cast<flatbuffers::uoffset_t>(size / 4));
  return schema::VerifyModelBuffer(verifier);
}

Status check_all(TfliteFile& file) {
  TfliteChecks checks(file);
  PX_RETURN_IF_ERROR(check_model(checks));
  for (std::size_t i = 0; i < file.subgraphs.size(); ++i) {
    PX_RETURN_IF_ERROR(check_tensors(checks, i));
    PX_RETURN_IF_ERROR(check_operators(checks, i));
    PX_ASSIGN(file.subgraphs[i].order, operator_order(checks, i));
  }
  PX_RETURN_IF_ERROR(check_calls(checks));
  return check_signatures(checks);
}

std::span<const std::byte> bytes_of_vector(const flatbuffers::Vector<std::uint8_t>* vector) {
  return std::as_bytes(elements_of(vector));
}

/// Returns what lies at an offset that was checked.
std::span<const std::byte> bytes_at(const TfliteFile& file, std::uint64_t offset,
                                    std::uint64_t size) {
  if (offset < kFirstOffset) return {};
  return file.bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

}  // namespace

bool is_tflite(std::span<const std::byte> bytes) {
  const std::string_view identifier = schema::ModelIdentifier();
  constexpr std::size_t kPlace = sizeof(flatbuffers::uoffset_t);
  return bytes.size() >= kPlace + identifier.size() &&
         std::memcmp(bytes.data() + kPlace, identifier.data(), identifier.size()) == 0;
}

Result<TfliteFile> open_tflite(std::span<const std::byte> bytes) {
  if (!is_tflite(bytes)) return invalid_model("the file is no TFLite model");
  TfliteFile file;
  file.bytes = bytes;
  if (!is_aligned(bytes)) {
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    file.bytes = *copy;
    file.copy = copy;
  }
  if (!is_flatbuffer(file.bytes))
    return invalid_model("the file is cut short or no valid flatbuffer of a TFLite model");
  file.model = schema::GetModel(file.bytes.data());
  for (std::size_t i = 0; i < length_of(file.model->subgraphs()); ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    file.subgraphs.push_back({file.model->subgraphs()->Get(index), {}});
  }
  PX_RETURN_IF_ERROR(check_all(file));
  return file;
}

std::vector<std::int64_t> longs_of(const flatbuffers::Vector<std::int64_t>* vector) {
  std::vector<std::int64_t> longs(length_of(vector));
  if (!longs.empty())
    std::memcpy(longs.data(), vector->Data(), longs.size() * sizeof(std::int64_t));
  return longs;
}

std::string_view text_of(const flatbuffers::String* text) {
  if (text == nullptr) return {};
  return {text->c_str(), text->size()};
}

const schema::OperatorCode& code_of(const TfliteFile& file, const schema::Operator& op) {
  return *file.model->operator_codes()->Get(op.opcode_index());
}

schema::BuiltinOperator builtin_of(const schema::OperatorCode& code) {
  const auto old = static_cast<schema::BuiltinOperator>(code.deprecated_builtin_code());
  return std::max(old, code.builtin_code());
}

std::string code_name(const schema::OperatorCode& code) {
  const schema::BuiltinOperator builtin = builtin_of(code);
  if (builtin < schema::BuiltinOperator::MIN || builtin > schema::BuiltinOperator::MAX)
    return fmt::format("operator {}", static_cast<std::int32_t>(builtin));
  std::string name = schema::EnumNameBuiltinOperator(builtin);
  if (builtin != schema::BuiltinOperator::CUSTOM) return name;
  return fmt::format("{} {}", name, shorten(text_of(code.custom_code())));
}

std::string operator_name(const TfliteFile& file, std::size_t subgraph, std::size_t op) {
  const auto index = static_cast<flatbuffers::uoffset_t>(op);
  const schema::Operator& found = *file.subgraphs[subgraph].graph->operators()->Get(index);
  std::string name = fmt::format("{} {}", code_name(code_of(file, found)), op);
  if (subgraph != 0) name += fmt::format(" of subgraph {}", subgraph);
  return name;
}

std::string tensor_name(const schema::SubGraph& graph, std::int32_t tensor) {
  if (tensor < 0) return "no tensor";
  const auto index = static_cast<flatbuffers::uoffset_t>(tensor);
  const std::string_view name = text_of(graph.tensors()->Get(index)->name());
  return name.empty() ? fmt::format("tensor {}", tensor) : quote(name);
}

std::optional<DType> dtype_of(schema::TensorType type) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].tflite == static_cast<int>(type)) return static_cast<DType>(i);
  return std::nullopt;
}

Dims dims_of(const schema::Tensor& tensor) {
  Dims dims;
  for (const std::int32_t dim : elements_of(tensor.shape())) dims.push_back(dim);
  return dims;
}

bool is_dynamic(const schema::Tensor& tensor) {
  const auto signature = elements_of(tensor.shape_signature());
  return std::ranges::find(signature, -1) != signature.end();
}

std::optional<int> quantized_axis(const schema::Tensor& tensor) {
  const schema::QuantizationParameters* quantization = tensor.quantization();
  if (quantization == nullptr || length_of(quantization->scale()) < 2) return std::nullopt;
  // Some converters give a bias, a vector, the axis of its filter.
  return length_of(tensor.shape()) == 1 ? 0 : quantization->quantized_dimension();
}

std::span<const std::byte> buffer_bytes(const TfliteFile& file, std::uint32_t buffer) {
  if (buffer == 0) return {};
  const schema::Buffer& found = *file.model->buffers()->Get(buffer);
  const auto inside = bytes_of_vector(found.data());
  return inside.empty() ? bytes_at(file, found.offset(), found.size()) : inside;
}

std::span<const std::byte> constant_bytes(const TfliteFile& file, const schema::Tensor& tensor) {
  return buffer_bytes(file, tensor.buffer());
}

std::span<const std::byte> custom_options(const TfliteFile& file, const schema::Operator& op) {
  const auto inside = bytes_of_vector(op.custom_options());
  if (!inside.empty()) return inside;
  return bytes_at(file, op.large_custom_options_offset(), op.large_custom_options_size());
}

std::vector<std::string_view> constant_strings(std::span<const std::byte> bytes) {
  std::vector<std::string_view> strings;
  if (bytes.empty()) return strings;
  const auto word = [&](std::size_t i) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return static_cast<std::size_t>(value);
  };
  strings.reserve(word(0));
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  for (std::size_t i = 0; i < word(0); ++i)
    strings.emplace_back(text + word(i + 1), word(i + 2) - word(i + 1));
  return strings;
}

}  // namespace parallax
