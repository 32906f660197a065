// Tensors of a file as constants. Bytes stay in the file wherever it stores them as the graph wants
// them (raw data, one packed run of floats, external data); other encodings are decoded.
// Thread-safety: pure functions, apart from the ExternalFiles they are given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "load/external_files.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// NumPy's name of TensorProto.DataType `type`, "type 99" where ONNX does not know it.
std::string onnx_type_name(std::int64_t type);
/// Returns the bytes of `elements` elements: 0 for texts and for types that ONNX does not know;
/// nullopt if 63 bits do not suffice. Elements of less than a byte are packed; the size is
/// rounded up to bytes.
std::optional<std::int64_t> onnx_bytes(std::int64_t type, std::int64_t elements);
/// Element type of `what` (e.g. "tensor 'w'"). Errors: kUnsupported with both names, kInvalidModel
/// for a number that ONNX does not know. Accepts the types of fixed size that Parallax computes
/// with, and strings.
Result<DType> onnx_dtype(std::int64_t type, const std::string& what);

/// The constant that `tensor` holds. `owner` keeps the file's bytes. Errors: kInvalidModel where
/// declared and stored sizes or types disagree or an element does not fit its type; kUnsupported
/// for element types, segments; as read_external(). The bytes are not aligned if they stay in the
/// file. Bools must be bytes of 0 or 1. Varints must fit the element type; int32_data may have
/// negative numbers of 32 or 64 bits. Elements of 4 bits have a number for each byte. Messages name
/// the tensor.
Result<Constant> read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const void>& owner,
                             ExternalFiles& external);

}  // namespace parallax
