// Describes the contents of a file, with operators and types that cannot be loaded.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <span>

#include "parallax/model.h"

namespace parallax {

/// All of a FileReport but FileOperator::kernels. Errors: kInvalidModel for what is no ONNX model
/// or damaged; kUnsupported for bodies nested more than kMaxNesting deep.
Result<FileReport> describe_onnx(std::span<const std::byte> bytes);

}  // namespace parallax
