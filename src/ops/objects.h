// Helpers for the definitions of operators on objects. Pure functions; only ops/ includes this.
#pragma once

#include "ops/common.h"

namespace parallax {

/// Returns the container of an input, or one for a single tensor.
Container container_of(const InferInput& input);
/// One value of that type: a tensor where it has no types around it. Errors: kUnsupported for
/// tensors of which not even the rank is known.
Result<InferOutput> value_of(const InferContext& context, DType dtype, const Container& container);
/// Refuses input `i` unless its outermost type is `type`.
Status expect_type(const InferContext& context, std::size_t i, ObjectType type);
/// Refuses input `i` unless it is a tensor.
Status expect_tensor(const InferContext& context, std::size_t i);
Status expect_strings(const InferContext& context, std::size_t i);

/// Cast from or to strings.
InferResult infer_string_cast(const InferContext& context);

/// A definition of an operator on objects.
OpDef on_objects(OpKind kind, InferResult (*infer)(const InferContext&), int since_opset);

}  // namespace parallax
