// Runs the inference of one operator and checks what it says. Internal to ops/: infer.cc calls it
// for every node, while loading and while running. Pure function.
#pragma once

#include "ops/op.h"

namespace parallax {

/// Returns an output for each of the operator's, at least as many as the node has. Tensors of
/// strings go through the operators that move elements as u8 would; objects are refused by
/// operators for tensors. Content that cannot be the elements is dropped. Errors: those of the
/// inference; kInvalidModel for negative dimensions, for dimensions and tensors that are too large
/// and for outputs that the operator lacks; kUnsupported for ranks above Dims::kMaxRank and for
/// results of strings or of no size from operators that do not have them.
InferResult infer_checked(const InferContext& context);

}  // namespace parallax
