// Describes the contents of a file, with operators and types that cannot be loaded.
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <span>

#include "load/model_file.h"

namespace parallax {

/// As describe_model(), of an ONNX file.
Result<DescribedModel> describe_onnx(std::span<const std::byte> bytes);

}  // namespace parallax
