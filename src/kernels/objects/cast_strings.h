// Conversion between tensors of strings and of numbers. Thread-safe: a function of its arguments.
#pragma once

#include "kernels/objects/object_kernel.h"

namespace parallax {

/// Converts a tensor of strings to `to`, or of numbers to strings; returns `input` if it has type
/// `to`. Floats are written as the shortest text that reads back to the same value. Errors:
/// kInvalidInput for a string that is not a number of type `to`, kUnsupported for types that are no
/// bool, integer of 8 bits or more, f32 or f64.
Result<Object> cast_object(const ObjectCall& call, const Object& input, DType to);

}  // namespace parallax
