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
/// Bytes of `elements` elements of that type: 0 for texts and for types that ONNX does not know,
/// nothing where 63 bits do not suffice.
std::optional<std::int64_t> onnx_bytes(std::int64_t type, std::int64_t elements);
/// Element type of `what` (e.g. "tensor 'w'"). Errors: kUnsupported with both names, kInvalidModel
/// for a number that ONNX does not know.
Result<DType> onnx_dtype(std::int64_t type, const std::string& what);

/// The constant that `tensor` holds. `owner` keeps the file's bytes. Errors: kInvalidModel where
/// declared and stored sizes or types disagree or an element does not fit its type; kUnsupported
/// for element types, segments; as read_external().
Result<Constant> read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const void>& owner,
                             ExternalFiles& external);

}  // namespace parallax
