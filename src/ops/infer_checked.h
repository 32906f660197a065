// Runs the inference of one operator and checks what it says. Internal to ops/.
#pragma once

#include "ops/op.h"

namespace parallax {

/// Errors: what the inference says; results that are too large, or of a type that there cannot be.
InferResult infer_checked(const InferContext& context);

}  // namespace parallax
