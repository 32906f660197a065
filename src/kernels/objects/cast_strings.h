// Tensors of strings and of numbers, one made of the other.
#pragma once

#include "kernels/objects/object_kernel.h"

namespace parallax {

/// Strings of numbers or numbers of strings. Errors: kInvalidInput for what is no number,
/// kUnsupported.
Result<Object> cast_object(const ObjectCall& call, const Object& input, DType to);

}  // namespace parallax
