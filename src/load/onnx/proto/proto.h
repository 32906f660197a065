// The messages of an ONNX file as views: strings, tensors' bytes and nested messages point into the
// file, numbers are decoded. Nothing is interpreted here beyond the wire format and names, which
// are checked (names.h). Nested messages of attributes (tensors, subgraphs) stay bytes until
// the caller asks, so that nothing recurses.
//
// Scalars that occur twice take the last value, as protobuf says; a message that occurs twice where
// one is expected is refused. Thread-safety: plain values; the file's bytes must outlive them.
//
// Limits: names as check_name() accepts them; ranks of at most Dims::kMaxRank; 256 operator sets in
// a model or function; types nested 16 deep; ModelMetadata::kMaxProperties properties are kept. If
// the nodes and initializers of a graph need more than 32 MiB of memory, they may need at most
// eight times the bytes of the graph's message. Unknown fields are skipped, as protobuf demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "parallax/object.h"
#include "parallax/result.h"

namespace parallax {

/// A key and a value, of external data or of metadata; not checked.
struct OnnxEntry {
  std::string_view key, value;
};

/// The typed fields of a tensor, by their numbers.
enum class OnnxField : std::uint8_t {
  /// No typed field: the elements are raw data, in another file, or absent.
  kNone = 0,
  kFloat = 4,
  /// Also types of 16 bits and less, bools, and floats of at most 16 bits as their bits.
  kInt32 = 5,
  kString = 6,
  kInt64 = 7,
  kDouble = 10,
  /// Also u32.
  kUint64 = 11,
};

/// TensorProto. Whether its parts agree with each other is checked by read_tensor() (tensor.h), not
/// here.
struct OnnxTensor {
  std::string_view name;
  std::vector<std::int64_t> dims;  ///< not checked; at most Dims::kMaxRank of them
  /// TensorProto.DataType, not checked; 0 is UNDEFINED.
  std::int64_t data_type = 0;
  /// TensorProto.raw_data: elements as memory has them, little-endian; nullopt if the field is
  /// absent.
  std::optional<std::string_view> raw_data;
  /// Wire bytes of the typed field that holds elements, one view per run or string: little-endian
  /// floats, varints.
  std::vector<std::string_view> runs;
  OnnxField field = OnnxField::kNone;  ///< the field of `runs`
  bool mixed = false;                  ///< Further fields hold elements: `runs` has them too.
  /// Whether the tensor is a segment of a larger one, which no loader supports.
  bool segment = false;
  /// Location, offset and length of bytes in another file (external_data.h).
  std::vector<OnnxEntry> external_data;
  /// TensorProto.DataLocation: 0 in the file, 1 in another one; other numbers are kept.
  std::int64_t data_location = 0;
};

/// As stored: the elements that are not zero. SparseTensorProto; read_sparse_tensor() (sparse.h)
/// checks that indices ascend and fit.
struct OnnxSparseTensor {
  OnnxTensor values;   ///< its name is that of the whole
  OnnxTensor indices;  ///< place of each value in the flat tensor, or one index per dimension
  std::vector<std::int64_t> dims;  ///< as OnnxTensor::dims
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

struct OnnxGraph;

/// AttributeProto. The member that `type` names has the value; the parser does not check that it is
/// there, and other members may be set too. Strings are bytes that nothing has checked.
struct OnnxAttribute {
  std::string_view name;
  OnnxAttributeType type = OnnxAttributeType::kUndefined;
  std::string_view reference;  ///< the attribute of the function whose value it takes
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> strings;
  /// Messages that are not parsed yet: parse_onnx_tensor(), parse_onnx_sparse_tensor() and
  /// parse_onnx_type() do that on request.
  std::optional<std::string_view> tensor, sparse_tensor, type_proto;
  /// Bodies in `g` and `graphs`. They are not parsed yet, so that the depth of a file's bodies
  /// costs no stack here.
  std::vector<std::string_view> graphs;
  /// These graphs with their functions inlined; empty if they call no functions. Copies of the
  /// attribute share the graphs.
  std::vector<std::shared_ptr<OnnxGraph>> inlined = {};
};

/// A value as a node names it; empty: left out.
struct OnnxUse {
  std::string_view name;
  std::size_t index = 0;  ///< Definition::index, which check_structure fills in
};

/// NodeProto. A trailing input that is left out may be absent or have an empty name; `op_type` is
/// not empty.
struct OnnxNode {
  std::string_view name, op_type, domain, overload;  ///< domain "" for ai.onnx
  /// Version of its domain in the function that it comes from; nothing: that of the model.
  std::optional<std::int64_t> opset = {};
  std::vector<OnnxUse> inputs, outputs;
  std::vector<OnnxAttribute> attributes;
};

/// A dimension of a declared shape: a number, which may be negative, a name, or neither.
struct OnnxDimension {
  std::optional<std::int64_t> value;
  std::string_view param;
};

/// ValueInfoProto: an input or output with its declared type. The name is not empty, except for the
/// types of attributes (parse_onnx_type()).
struct OnnxValueInfo {
  std::string_view name;
  /// Whether the type has any content; some exporters write an empty message.
  bool has_type = false;
  /// Containers around the tensor, outermost first.
  std::vector<ObjectType> containers;
  /// TensorProto.DataType of the keys of the innermost map; 0 if there is no map.
  std::int64_t key_type = 0;
  bool is_tensor = false;  ///< perhaps inside of containers
  /// TensorProto.DataType of the innermost tensor, not checked.
  std::int64_t element_type = 0;
  /// nullopt: the rank is unknown. An empty list is a scalar. May have more than Dims::kMaxRank
  /// dimensions.
  std::optional<std::vector<OnnxDimension>> shape;
};

/// GraphProto. Initializers have names; nodes stand in the file's order, which need not be
/// topological. value_info, quantization annotations and documentation are skipped.
struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxSparseTensor> sparse_initializers;
  std::vector<OnnxValueInfo> inputs, outputs;
};

/// OperatorSetIdProto; the domain "ai.onnx" is stored as "".
struct OnnxOpset {
  std::string_view domain;  ///< "" for ai.onnx
  std::int64_t version = 0;
};

/// ModelProto, the outermost message. `graph` and `functions` are messages that are not parsed yet.
/// A model without ir_version or graph parses; onnx.h refuses it.
struct OnnxModel {
  std::optional<std::int64_t> ir_version;
  std::vector<OnnxOpset> opsets;
  std::optional<std::string_view> graph;
  std::vector<std::string_view> functions = {};
  /// Texts about the model, not checked (metadata.h).
  std::string_view producer_name = {}, producer_version = {}, domain = {}, doc_string = {};
  std::int64_t model_version = 0;
  /// The first pairs of metadata_props; the further ones are counted only.
  std::vector<OnnxEntry> properties = {};
  std::size_t further_properties = 0;
};

/// A function of the model: what a node of its domain, name and overload stands for.
struct OnnxFunction {
  std::string_view domain, name, overload;  ///< domain "" for ai.onnx
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;  ///< without a default value
  std::vector<OnnxAttribute> defaults;       ///< attributes with one
  std::vector<OnnxOpset> opsets;
  OnnxGraph body;  ///< its nodes only
};

/// Each reads one message. Errors: kInvalidModel with the kind of the message for bytes that are
/// no such message, kUnsupported for tensors of too high a rank. The results are views: `bytes`
/// must outlive them. Also kUnsupported for the limits at the top of this header. Time and memory
/// are linear in `bytes`; nested graphs count when they are parsed.
Result<OnnxModel> parse_onnx_model(std::string_view bytes);
Result<OnnxGraph> parse_onnx_graph(std::string_view bytes);
Result<OnnxTensor> parse_onnx_tensor(std::string_view bytes);
/// `what` names the kind of the message.
Result<OnnxEntry> parse_onnx_entry(std::string_view bytes, std::string_view what);
Result<OnnxSparseTensor> parse_onnx_sparse_tensor(std::string_view bytes);
Result<OnnxFunction> parse_onnx_function(std::string_view bytes);
/// A TypeProto, into what it says of `info`. `info` is empty before, and has unspecified content
/// after an error.
Status parse_onnx_type(std::string_view bytes, OnnxValueInfo& info);
/// An input or output of a graph.
Result<OnnxValueInfo> parse_onnx_value_info(std::string_view bytes);

}  // namespace parallax
