// The messages of an ONNX file as views: strings, tensors' bytes and nested messages point into the
// file, numbers are decoded. Nothing is interpreted here beyond the wire format and names, which
// are checked (names.h). Nested messages of attributes (tensors, subgraphs) stay bytes until
// the caller asks, so that nothing recurses.
//
// Scalars that occur twice take the last value, as protobuf says; a message that occurs twice where
// one is expected is refused. Thread-safety: plain values; the file's bytes must outlive them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parallax/result.h"

namespace parallax {

/// A key and a value, of external data.
struct OnnxEntry {
  std::string_view key, value;
};

struct OnnxTensor {
  std::string_view name;
  std::vector<std::int64_t> dims;  ///< not checked; at most Dims::kMaxRank of them
  std::int64_t data_type = 0;
  std::optional<std::string_view> raw_data;
  /// Wire bytes of the typed fields, one view per run: little-endian floats, varints.
  std::vector<std::string_view> float_data, int32_data, int64_data;
  bool other_data = false;  ///< string_data, double_data or uint64_data
  bool segment = false;
  std::vector<OnnxEntry> external_data;
  std::int64_t data_location = 0;
};

/// AttributeProto.AttributeType.
enum class OnnxAttributeType : std::uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

struct OnnxAttribute {
  std::string_view name;
  OnnxAttributeType type = OnnxAttributeType::kUndefined;
  bool is_reference = false;  ///< to an attribute of a function
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::optional<std::string_view> tensor;
  std::vector<std::string_view> graphs;  ///< of `g` and `graphs`
};

/// A value as a node names it; empty: left out.
struct OnnxUse {
  std::string_view name;
  std::size_t index = 0;  ///< Definition::index, which check_structure fills in
};

struct OnnxNode {
  std::string_view name, op_type, domain;
  std::vector<OnnxUse> inputs, outputs;
  std::vector<OnnxAttribute> attributes;
};

struct OnnxDimension {
  std::optional<std::int64_t> value;
  std::string_view param;
};

struct OnnxValueInfo {
  std::string_view name;
  bool has_type = false;
  bool is_tensor = false;
  std::int64_t element_type = 0;
  std::optional<std::vector<OnnxDimension>> shape;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs;
  bool has_sparse_initializers = false;
};

struct OnnxOpset {
  std::string_view domain;  ///< "" for ai.onnx
  std::int64_t version = 0;
};

struct OnnxModel {
  std::optional<std::int64_t> ir_version;
  std::vector<OnnxOpset> opsets;
  std::optional<std::string_view> graph;
};

/// Each reads one message. Errors: kInvalidModel with the kind of the message for bytes that are
/// no such message, kUnsupported for tensors of too high a rank.
Result<OnnxModel> parse_onnx_model(std::string_view bytes);
Result<OnnxGraph> parse_onnx_graph(std::string_view bytes);
Result<OnnxTensor> parse_onnx_tensor(std::string_view bytes);

}  // namespace parallax
