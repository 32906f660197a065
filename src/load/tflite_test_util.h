// Writes small TFLite models for tests of the loader: a description of a model becomes a file in
// memory. What the description leaves out has the schema's default.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "load/tflite/tflite_file.h"

namespace parallax {

using FlatBuilder = flatbuffers::FlatBufferBuilder;
using TfliteType = tflite_schema::TensorType;
using TfliteOp = tflite_schema::BuiltinOperator;
using TfliteInts = std::vector<std::int32_t>;

/// The bytes of scalars.
template <class T>
std::string tflite_data(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}
/// The bytes of a constant of type STRING.
inline std::string tflite_strings(const std::vector<std::string>& texts) {
  TfliteInts words = {static_cast<std::int32_t>(texts.size())};
  std::string all;
  for (const std::string& text : texts) {
    words.push_back(static_cast<std::int32_t>((texts.size() + 2) * sizeof(int) + all.size()));
    all += text;
  }
  words.push_back(static_cast<std::int32_t>((texts.size() + 2) * sizeof(int) + all.size()));
  return tflite_data(words) + all;
}

/// Writes a table that another one refers to.
template <class Table>
using FlatTable = std::function<flatbuffers::Offset<Table>(FlatBuilder&)>;

/// Quantization parameters with a scale for the tensor, or for each index of an axis.
inline FlatTable<tflite_schema::QuantizationParameters> tflite_quantized(
    const std::vector<float>& scales, const std::vector<std::int64_t>& zeros, int axis = 0) {
  return [=](FlatBuilder& to) {
    const auto scale = to.CreateVector(scales);
    const auto zero = to.CreateVector(zeros);
    return tflite_schema::CreateQuantizationParameters(
        to, 0, 0, scale, zero, tflite_schema::QuantizationDetails::NONE, 0, axis);
  };
}

struct TfliteTensor {
  std::string name;
  TfliteInts shape = {};
  std::string bytes = {};  ///< gets a buffer of its own unless empty
  TfliteType type = TfliteType::FLOAT32;
  FlatTable<tflite_schema::QuantizationParameters> quantization = {};
  FlatTable<tflite_schema::SparsityParameters> sparsity = {};
  TfliteInts signature = {};  ///< shape_signature
  bool variable = false;
  std::optional<std::uint32_t> buffer = {};  ///< instead of one with `bytes`
  std::uint32_t external_buffer = 0;
};

/// Options of an operator: the type in one of the unions, and what writes them.
struct TfliteOptions {
  tflite_schema::BuiltinOptions type = tflite_schema::BuiltinOptions::NONE;
  tflite_schema::BuiltinOptions2 type_2 = tflite_schema::BuiltinOptions2::NONE;
  std::function<flatbuffers::Offset<void>(FlatBuilder&)> write = {};
};
template <class Table>
Table* tflite_table(flatbuffers::Offset<Table>);  // for its type only
/// Options that `write(builder)` returns, an offset of their table.
template <class Write>
TfliteOptions tflite_options(Write write) {
  using Table = std::remove_pointer_t<decltype(tflite_table(write(std::declval<FlatBuilder&>())))>;
  return {.type = tflite_schema::BuiltinOptionsTraits<Table>::enum_value,
          .type_2 = tflite_schema::BuiltinOptions2Traits<Table>::enum_value,
          .write = [=](FlatBuilder& to) { return write(to).Union(); }};
}

struct TfliteStep {
  TfliteOp code = TfliteOp::ADD;
  TfliteInts inputs = {}, outputs = {};
  TfliteOptions options = {};
  std::string custom_code = {}, custom_options = {};
  TfliteInts intermediates = {};
  std::uint64_t large_offset = 0, large_size = 0;
  std::vector<std::uint8_t> mutating = {};
  std::int32_t version = 1;
};
struct TfliteGraph {
  std::vector<TfliteTensor> tensors;
  std::vector<TfliteStep> operators;
  TfliteInts inputs, outputs;
  std::string name = {};
};
struct TfliteSignature {
  std::string key;
  std::vector<std::pair<std::string, std::uint32_t>> inputs, outputs;
  std::uint32_t subgraph = 0;
};
struct TfliteBuffer {
  std::string bytes = {};
  std::uint64_t offset = 0, size = 0;  ///< in the file
};
struct TfliteModel {
  std::vector<TfliteGraph> graphs;
  std::vector<TfliteSignature> signatures = {};
  std::vector<TfliteBuffer> buffers = {};  ///< the first has number 1
  std::vector<std::pair<std::string, std::uint32_t>> metadata = {};
  std::uint32_t version = 3;
};

/// Writes a TfliteModel.
class TfliteWriter {
 public:
  std::string bytes(const TfliteModel& model) {
    for (const TfliteBuffer& buffer : model.buffers) add_buffer(buffer);
    std::vector<flatbuffers::Offset<tflite_schema::SubGraph>> graphs;
    for (const TfliteGraph& graph : model.graphs) graphs.push_back(write(graph));
    std::vector<flatbuffers::Offset<tflite_schema::SignatureDef>> signatures;
    for (const TfliteSignature& signature : model.signatures)
      signatures.push_back(write(signature));
    std::vector<flatbuffers::Offset<tflite_schema::Metadata>> metadata;
    for (const auto& [name, buffer] : model.metadata)
      metadata.push_back(tflite_schema::CreateMetadataDirect(to_, name.c_str(), buffer));
    tflite_schema::FinishModelBuffer(
        to_, tflite_schema::CreateModelDirect(to_, model.version, &codes_, &graphs, "test",
                                              &buffers_, nullptr, &metadata, &signatures));
    return {reinterpret_cast<const char*>(to_.GetBufferPointer()), to_.GetSize()};
  }

 private:
  void add_buffer(const TfliteBuffer& buffer) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(buffer.bytes.data());
    const std::vector<std::uint8_t> bytes(data, data + buffer.bytes.size());
    buffers_.push_back(tflite_schema::CreateBufferDirect(to_, bytes.empty() ? nullptr : &bytes,
                                                         buffer.offset, buffer.size));
  }

  flatbuffers::Offset<tflite_schema::Tensor> write(const TfliteTensor& tensor) {
    std::uint32_t buffer = tensor.buffer.value_or(0);
    if (!tensor.bytes.empty()) {
      buffer = static_cast<std::uint32_t>(buffers_.size());
      add_buffer({.bytes = tensor.bytes});
    }
    flatbuffers::Offset<tflite_schema::QuantizationParameters> quantization = 0;
    if (tensor.quantization) quantization = tensor.quantization(to_);
    flatbuffers::Offset<tflite_schema::SparsityParameters> sparsity = 0;
    if (tensor.sparsity) sparsity = tensor.sparsity(to_);
    return tflite_schema::CreateTensorDirect(
        to_, &tensor.shape, tensor.type, buffer, tensor.name.c_str(), quantization, tensor.variable,
        sparsity, tensor.signature.empty() ? nullptr : &tensor.signature, false, nullptr,
        tensor.external_buffer);
  }

  /// Each operator has a code of its own.
  flatbuffers::Offset<tflite_schema::Operator> write(const TfliteStep& op) {
    const auto number = static_cast<std::uint32_t>(codes_.size());
    const auto old =
        static_cast<std::int8_t>(std::min(op.code, TfliteOp::PLACEHOLDER_FOR_GREATER_OP_CODES));
    codes_.push_back(tflite_schema::CreateOperatorCodeDirect(
        to_, old, op.custom_code.empty() ? nullptr : op.custom_code.c_str(), op.version, op.code));
    flatbuffers::Offset<void> options = 0, options_2 = 0;
    if (op.options.write)
      (op.options.type == tflite_schema::BuiltinOptions::NONE ? options_2 : options) =
          op.options.write(to_);
    const std::vector<std::uint8_t> custom(op.custom_options.begin(), op.custom_options.end());
    return tflite_schema::CreateOperatorDirect(
        to_, number, &op.inputs, &op.outputs, op.options.type, options,
        custom.empty() ? nullptr : &custom, tflite_schema::CustomOptionsFormat::FLEXBUFFERS,
        op.mutating.empty() ? nullptr : &op.mutating,
        op.intermediates.empty() ? nullptr : &op.intermediates, op.large_offset, op.large_size,
        op.options.type_2, options_2);
  }

  flatbuffers::Offset<tflite_schema::SubGraph> write(const TfliteGraph& graph) {
    std::vector<flatbuffers::Offset<tflite_schema::Tensor>> tensors;
    for (const TfliteTensor& tensor : graph.tensors) tensors.push_back(write(tensor));
    std::vector<flatbuffers::Offset<tflite_schema::Operator>> operators;
    for (const TfliteStep& op : graph.operators) operators.push_back(write(op));
    return tflite_schema::CreateSubGraphDirect(to_, &tensors, &graph.inputs, &graph.outputs,
                                               &operators, graph.name.c_str());
  }

  flatbuffers::Offset<tflite_schema::SignatureDef> write(const TfliteSignature& signature) {
    const auto maps = [&](const auto& names) {
      std::vector<flatbuffers::Offset<tflite_schema::TensorMap>> result;
      for (const auto& [name, tensor] : names)
        result.push_back(tflite_schema::CreateTensorMapDirect(to_, name.c_str(), tensor));
      return result;
    };
    const auto inputs = maps(signature.inputs), outputs = maps(signature.outputs);
    return tflite_schema::CreateSignatureDefDirect(to_, &inputs, &outputs, signature.key.c_str(),
                                                   signature.subgraph);
  }

  FlatBuilder to_;
  std::vector<flatbuffers::Offset<tflite_schema::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite_schema::Buffer>> buffers_ = {
      tflite_schema::CreateBuffer(to_)};
};

/// Returns the file.
inline std::string tflite_bytes(const TfliteModel& model) { return TfliteWriter().bytes(model); }

/// y = Relu(x + w), strings, an If over two more subgraphs, and a signature.
inline TfliteModel tflite_example() {
  TfliteGraph main = {
      .tensors = {{"x", {2, 2}},
                  {"w", {2, 2}, tflite_data<float>({1, 2, 3, 4})},
                  {"sum", {2, 2}},
                  {"", {2, 2}},
                  {"texts", {2}, tflite_strings({"one", ""}), TfliteType::STRING},
                  {"q", {2, 2}, "abcd", TfliteType::INT8, tflite_quantized({1, 2}, {0, 0}, 1)},
                  {"flag", {}, {}, TfliteType::BOOL},
                  {"z", {1, 2}, {}, TfliteType::FLOAT32, {}, {}, {-1, 2}}},
      .operators = {{TfliteOp::ADD, {0, 1}, {2}, tflite_options([=](auto& to) {
                       return tflite_schema::CreateAddOptions(to);
                     })},
                    {TfliteOp::RELU, {2}, {3}},
                    {TfliteOp::IF, {6, 2}, {7}, tflite_options([=](auto& to) {
                       return tflite_schema::CreateIfOptions(to, 1, 2);
                     })},
                    {.code = TfliteOp::CUSTOM,
                     .inputs = {4, -1, 5},
                     .outputs = {-1},
                     .custom_code = "Mine",
                     .custom_options = "options"}},
      .inputs = {0, 6},
      .outputs = {3, 7}};
  const TfliteGraph body = {.tensors = {{"a", {2, 2}}, {"b", {1, 2}}},
                            .operators = {{TfliteOp::STABLEHLO_ABS, {0}, {1}}},
                            .inputs = {0},
                            .outputs = {1}};
  return {.graphs = {std::move(main), body, body},
          .signatures = {{"run", {{"in", 0}, {"flag", 6}}, {{"out", 3}}}},
          .metadata = {{"note", 0}}};
}

/// A file in memory of exactly its size, so that a sanitizer sees every byte too far.
struct OpenedTflite {
  explicit OpenedTflite(std::string_view bytes)
      : memory(std::make_unique<std::byte[]>(bytes.size())), file([&] {
          if (!bytes.empty()) std::memcpy(memory.get(), bytes.data(), bytes.size());
          return open_tflite({memory.get(), bytes.size()});
        }()) {}

  std::unique_ptr<std::byte[]> memory;
  Result<TfliteFile> file;
};

/// Reads all that open_tflite() vouches for, and returns a sum of it.
inline std::size_t read_all(const TfliteFile& file) {
  std::size_t sum = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) sum += static_cast<std::size_t>(byte);
  };
  for (std::size_t g = 0; g < file.subgraphs.size(); ++g) {
    const tflite_schema::SubGraph& graph = *file.subgraphs[g].graph;
    for (std::uint32_t i = 0; i < length_of(graph.tensors()); ++i) {
      const tflite_schema::Tensor& tensor = *graph.tensors()->Get(i);
      sum += tensor_name(graph, static_cast<std::int32_t>(i)).size() + dims_of(tensor).elements();
      sum += static_cast<std::size_t>(quantized_axis(tensor).value_or(0)) + is_dynamic(tensor);
      const auto bytes = constant_bytes(file, tensor);
      add(bytes);
      if (tensor.type() != TfliteType::STRING) continue;
      for (const std::string_view text : constant_strings(bytes))
        add(std::as_bytes(std::span(text)));
    }
    for (const std::int32_t op : file.subgraphs[g].order) {
      const auto& found = *graph.operators()->Get(static_cast<std::uint32_t>(op));
      sum += operator_name(file, g, static_cast<std::size_t>(op)).size();
      for (const std::int32_t input : elements_of(found.inputs()))
        sum += tensor_name(graph, input).size();
      add(custom_options(file, found));
    }
  }
  return sum;
}

}  // namespace parallax
