// Writes small ONNX models for tests of the loader: each function gives the bytes of one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "load/onnx/onnx.h"

namespace parallax {

// TensorProto.DataType.
inline constexpr int kOnnxFloat = 1, kOnnxUint8 = 2, kOnnxInt8 = 3, kOnnxInt32 = 6, kOnnxInt64 = 7,
                     kOnnxString = 8, kOnnxBool = 9, kOnnxHalf = 10, kOnnxDouble = 11;

using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// A message that is written by `fill(writer)`.
template <class Fill>
std::string message(Fill fill) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

template <class T>
std::string raw_data(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

/// -3 to 3, again and again.
inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i % 7) - 3;
  return result;
}

/// Returns the fields that all tensors have; the caller appends more.
inline std::string tensor_head(std::string_view name, int type, const Ints& dims) {
  return message([&](protozero::pbf_writer& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, type);
    w.add_string(8, name.data(), name.size());
  });
}
inline std::string raw_tensor(std::string_view name, int type, const Ints& dims,
                              const std::string& raw) {
  return tensor_head(name, type, dims) +
         message([&](protozero::pbf_writer& w) { w.add_bytes(9, raw); });
}
inline std::string float_tensor(std::string_view name, const Ints& dims,
                                const std::vector<float>& elements) {
  return raw_tensor(name, kOnnxFloat, dims, raw_data(elements));
}
inline std::string int_tensor(std::string_view name, const Ints& elements) {
  return raw_tensor(name, kOnnxInt64, {static_cast<std::int64_t>(elements.size())},
                    raw_data(elements));
}

inline std::string attribute_head(std::string_view name, int type) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, name.data(), name.size());
    w.add_enum(20, type);
  });
}
inline std::string attribute(std::string_view name, float value) {
  return attribute_head(name, 1) +
         message([&](protozero::pbf_writer& w) { w.add_float(2, value); });
}
inline std::string attribute(std::string_view name, std::int64_t value) {
  return attribute_head(name, 2) +
         message([&](protozero::pbf_writer& w) { w.add_int64(3, value); });
}
inline std::string attribute(std::string_view name, int value) {
  return attribute(name, std::int64_t{value});
}
inline std::string attribute(std::string_view name, const char* value) {
  return attribute_head(name, 3) +
         message([&](protozero::pbf_writer& w) { w.add_string(4, value); });
}
inline std::string attribute(std::string_view name, const std::vector<float>& values) {
  return attribute_head(name, 6) + message([&](protozero::pbf_writer& w) {
           for (const float value : values) w.add_float(7, value);
         });
}
inline std::string attribute(std::string_view name, const Ints& values) {
  return attribute_head(name, 7) + message([&](protozero::pbf_writer& w) {
           for (const std::int64_t value : values) w.add_int64(8, value);
         });
}
inline std::string attribute(std::string_view name, const Names& values) {
  return attribute_head(name, 8) + message([&](protozero::pbf_writer& w) {
           for (const std::string& value : values) w.add_string(9, value);
         });
}
inline std::string tensor_attribute(std::string_view name, const std::string& tensor) {
  return attribute_head(name, 4) +
         message([&](protozero::pbf_writer& w) { w.add_message(5, tensor); });
}
inline std::string graph_attribute(std::string_view name, const std::string& graph) {
  return attribute_head(name, 5) +
         message([&](protozero::pbf_writer& w) { w.add_message(6, graph); });
}

inline std::string node(std::string_view op, const Names& inputs, const Names& outputs,
                        const Names& attributes = {}, std::string_view name = {},
                        std::string_view domain = {}) {
  return message([&](protozero::pbf_writer& w) {
    for (const std::string& input : inputs) w.add_string(1, input);
    for (const std::string& output : outputs) w.add_string(2, output);
    if (!name.empty()) w.add_string(3, name.data(), name.size());
    w.add_string(4, op.data(), op.size());
    for (const std::string& attribute : attributes) w.add_message(5, attribute);
    if (!domain.empty()) w.add_string(7, domain.data(), domain.size());
  });
}

/// A number, a name, or nothing.
using Dim = std::variant<std::monostate, std::int64_t, std::string>;

/// ValueInfoProto of a tensor.
inline std::string value_info(std::string_view name, int type, const std::vector<Dim>& dims) {
  const std::string shape = message([&](protozero::pbf_writer& w) {
    for (const Dim& dim : dims) {
      w.add_message(1, message([&](protozero::pbf_writer& d) {
                      if (const auto* n = std::get_if<std::int64_t>(&dim)) d.add_int64(1, *n);
                      if (const auto* s = std::get_if<std::string>(&dim)) d.add_string(2, *s);
                    }));
    }
  });
  const std::string tensor = message([&](protozero::pbf_writer& w) {
    w.add_int32(1, type);
    w.add_message(2, shape);
  });
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, name.data(), name.size());
    w.add_message(2, message([&](protozero::pbf_writer& t) { t.add_message(1, tensor); }));
  });
}
/// The same without a type.
inline std::string value_info(std::string_view name) {
  return message([&](protozero::pbf_writer& w) { w.add_string(1, name.data(), name.size()); });
}

/// The parts of a GraphProto.
struct TestGraph {
  Names nodes, initializers, inputs, outputs;

  std::string bytes() const {
    return message([&](protozero::pbf_writer& w) {
      for (const std::string& node : nodes) w.add_message(1, node);
      w.add_string(2, "g");
      for (const std::string& tensor : initializers) w.add_message(5, tensor);
      for (const std::string& input : inputs) w.add_message(11, input);
      for (const std::string& output : outputs) w.add_message(12, output);
    });
  }
};

inline std::string opset_import(std::int64_t version, std::string_view domain = {}) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, domain.data(), domain.size());
    w.add_int64(2, version);
  });
}

/// A ModelProto in the order in which exporters write its fields.
inline std::string model(const TestGraph& graph, std::int64_t opset = 17) {
  return message([&](protozero::pbf_writer& w) {
    w.add_int64(1, 8);
    w.add_string(2, "test");
    w.add_message(7, graph.bytes());
    w.add_message(8, opset_import(opset));
  });
}

/// A ModelProto of a GraphProto and OperatorSetIdProtos only; `ir_version` < 0: without one.
inline std::string fields(const std::string& graph, const Names& opsets,
                          std::int64_t ir_version = 8) {
  return message([&](protozero::pbf_writer& w) {
    if (ir_version >= 0) w.add_int64(1, ir_version);
    w.add_message(7, graph);
    for (const std::string& opset : opsets) w.add_message(8, opset);
  });
}

/// Loads from memory of exactly the model's size, so that a sanitizer sees every byte too far.
/// Throws if the model loads and check_onnx() lists a node.
inline Result<Graph> load(const std::string& bytes, const std::filesystem::path& folder = {}) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  auto owner = std::make_shared<std::vector<std::byte>>(data, data + bytes.size());
  const ModelBytes model{std::span<const std::byte>(*owner), owner, folder};
  auto graph = load_onnx(model);
  const auto nodes = check_onnx(model);
  if (graph && !(nodes && nodes->empty()))
    throw std::logic_error(nodes ? nodes->front().reason : nodes.error().to_string());
  return graph;
}

}  // namespace parallax
