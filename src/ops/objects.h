// Helpers for the definitions of operators on objects: sequences, optionals, maps and tensors of
// strings. Pure functions; only ops/ includes this. Errors: kInvalidModel unless another code is
// named.
#pragma once

#include "ops/common.h"

namespace parallax {

/// Returns the container of an input, or one for a single tensor: no types around it, filled, with
/// the dimensions that are numbers and -1 for others.
Container container_of(const InferInput& input);
/// Returns a value of that type: a tensor if it has no types around it, with a fresh symbol for
/// each dimension that is not known. Errors: kUnsupported for tensors whose rank is not known, and
/// for containers that never have a tensor.
Result<InferOutput> value_of(const InferContext& context, DType dtype, const Container& container);
/// Refuses input `i` unless it is left out or its outermost type is `type`.
Status expect_type(const InferContext& context, std::size_t i, ObjectType type);
/// Refuses input `i` if it is a container. Tensors of strings pass.
Status expect_tensor(const InferContext& context, std::size_t i);
/// Refuses input `i` unless it is left out or a tensor of strings.
Status expect_strings(const InferContext& context, std::size_t i);

/// Infers Cast and CastLike from or to strings: the shape stays. Errors: kUnsupported for a type
/// that is neither in kAllTypes nor string.
InferResult infer_string_cast(const InferContext& context);

/// Returns a definition of an operator on objects, which has kernels of kernels/objects alone and
/// counts no operations; the caller adds attributes and counts of inputs.
OpDef on_objects(OpKind kind, InferResult (*infer)(const InferContext&), int since_opset);

}  // namespace parallax
