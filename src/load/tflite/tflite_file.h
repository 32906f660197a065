// A TFLite file whose tables, indices and sizes have been checked. open_tflite() reads nothing but
// the file's own bytes and copies none of them; the assembly of a Graph may then follow every index
// and every size without a check of its own. The file is an attacker's.
//
// The assembly still decides what can run: operators, element types and options are not judged
// here, and a table of options that is missing is null.
// Thread-safety: pure functions; a TfliteFile may be read from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "load/tflite/schema.h"
#include "parallax/result.h"
#include "parallax/tensor.h"

namespace parallax {

/// A file's bytes are used in place if they begin at a multiple of this one: files in an archive of
/// MediaPipe do. Wider numbers may then begin at a multiple of 4 only.
inline constexpr std::size_t kTfliteAlignment = 4;

/// `graph` points into TfliteFile::bytes.
struct TfliteSubgraph {
  const tflite_schema::SubGraph* graph = nullptr;
  /// The order in which operators run: each after those that make its inputs, otherwise as in the
  /// file, whose order is kept if it is one already.
  std::vector<std::int32_t> order;
};

/// A view of the file with what open_tflite() computed. Copies share the bytes.
struct TfliteFile {
  const tflite_schema::Model* model = nullptr;  ///< points into `bytes`
  std::span<const std::byte> bytes;             ///< the whole file
  std::vector<TfliteSubgraph> subgraphs;        ///< at least one; the first is the model's main one
  /// A copy of the file if the caller's bytes do not begin at a multiple of kTfliteAlignment;
  /// `bytes` is this copy then, and constants must keep it alive. Otherwise null, and the caller's
  /// bytes must stay.
  std::shared_ptr<const void> copy;
};

/// Whether the bytes begin as a TFLite file of schema version 3 does. They are "TFL3" at byte 4.
/// Nothing else is checked.
bool is_tflite(std::span<const std::byte> bytes);

/// Checks a file. Takes time and memory linear in its size. Guaranteed afterwards:
///  - inputs and outputs of a subgraph are tensors of it; those of an operator too, or -1 for one
///    left out; no tensor is an input of the subgraph twice;
///  - a tensor is written by at most one operator, and then it is no input, constant or variable;
///  - each tensor that is read or an output is written, an input, constant, variable or empty;
///  - shapes have at most Dims::kMaxRank dimensions and sizes of 63 bits; constants have exactly
///    the bytes of their shape, or of their stored elements if they are sparse;
///  - strings, sparsity and quantization parameters are consistent with the tensor;
///  - names have passed check_name(); names in a signature are unique;
///  - subgraphs do not call themselves, and calls are at most kMaxNesting deep. One subgraph may be
///    called many times, so that expanding all calls can take exponential time.
/// Errors: stage kLoad; kInvalidModel; kUnsupported for ranks, nesting and element types that
/// Parallax does not know and for bytes in other files. The flatbuffer lies in the first 2 GiB;
/// bytes of buffers may lie behind it. Tables are at most 64 deep. Also kUnsupported for other
/// schema versions than 3, and for a variable that has bytes. The allowance of TfliteChecks bounds
/// the time.
Result<TfliteFile> open_tflite(std::span<const std::byte> bytes);

/// Returns the number of elements of a vector; 0 if the file lacks it.
template <class Vector>
std::size_t length_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}
/// Returns the elements of a vector of scalars, which is empty if the file lacks it.
template <class T>
std::span<const T> elements_of(const flatbuffers::Vector<T>* vector) {
  static_assert(sizeof(T) <= kTfliteAlignment, "longs_of() reads these");
  if (vector == nullptr) return {};
  return {vector->data(), vector->size()};
}
/// Returns a copy of the elements, for numbers that need not be aligned. Empty if the file lacks
/// the vector.
std::vector<std::int64_t> longs_of(const flatbuffers::Vector<std::int64_t>* vector);
/// Returns the text, which is empty if the file lacks it. It points into the file and may have any
/// bytes unless check_name() has seen it.
std::string_view text_of(const flatbuffers::String* text);

/// Returns the row of the model's operator codes that an operator refers to.
const tflite_schema::OperatorCode& code_of(const TfliteFile& file,
                                           const tflite_schema::Operator& op);
/// Returns the operator of a code, which stands in either of two fields. The number may be one that
/// the enum lacks.
tflite_schema::BuiltinOperator builtin_of(const tflite_schema::OperatorCode& code);
/// Returns "CONV_2D", "CUSTOM Name", or "operator 250" for a number that the enum lacks. Names of
/// custom operators are shortened to 120 bytes.
std::string code_name(const tflite_schema::OperatorCode& code);
/// Returns a name of an operator for messages: "CONV_2D 17", with its index in the subgraph; in
/// other subgraphs than the first "CONV_2D 17 of subgraph 2".
std::string operator_name(const TfliteFile& file, std::size_t subgraph, std::size_t op);
/// Returns a name of a tensor for messages: its own in quotes, or "tensor 17" if it has none. An
/// index of -1 is "no tensor".
std::string tensor_name(const tflite_schema::SubGraph& graph, std::int32_t tensor);

/// Returns the element type; nullopt for complex numbers, resources and variants.
std::optional<DType> dtype_of(tflite_schema::TensorType type);
/// Returns the shape in elements. A dimension that shape_signature leaves open has the size that
/// the converter noted, often 1.
Dims dims_of(const tflite_schema::Tensor& tensor);
/// Whether a dimension of the tensor is open: -1 in shape_signature.
bool is_dynamic(const tflite_schema::Tensor& tensor);
/// Returns the axis whose indices have a scale each; nullopt if one scale holds for the whole
/// tensor, and without scales.
std::optional<int> quantized_axis(const tflite_schema::Tensor& tensor);

/// Returns the bytes of a buffer, wherever in the file they lie; empty for the first buffer and for
/// those of tensors that are computed. They may begin at any address. REQUIRES: the index is below
/// the number of buffers, or 0.
std::span<const std::byte> buffer_bytes(const TfliteFile& file, std::uint32_t buffer);
/// Returns the bytes of a constant; empty for other tensors and for those without elements.
std::span<const std::byte> constant_bytes(const TfliteFile& file,
                                          const tflite_schema::Tensor& tensor);
/// Returns the options of a custom operator, wherever in the file they lie: bytes that only this
/// operator understands, unchecked.
std::span<const std::byte> custom_options(const TfliteFile& file,
                                          const tflite_schema::Operator& op);
/// Returns the texts of a constant of type STRING, which point into the file; any bytes.
std::vector<std::string_view> constant_strings(std::span<const std::byte> bytes);

}  // namespace parallax
