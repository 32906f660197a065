// Describes the contents of a file, with operators and types that cannot be loaded.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <span>

#include "load/model_file.h"

namespace parallax {

/// As describe_model(), of an ONNX file. Errors: kInvalidModel for what is no ONNX model;
/// kUnsupported for bodies nested more than kMaxNesting deep. IR version and operator sets are
/// reported as they stand. Weights are counted by declared type and size; no external file is
/// opened.
Result<DescribedModel> describe_onnx(std::span<const std::byte> bytes);

}  // namespace parallax
