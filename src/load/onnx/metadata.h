// Statements of a file about itself, as texts that are safe to keep. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "load/onnx/proto/proto.h"
#include "parallax/model.h"

namespace parallax {

/// Returns the metadata of a file whose main graph is called `graph_name`. Bytes that are no UTF-8
/// become U+FFFD. Texts beyond the limits are cut, which sets `truncated`. Never fails: metadata
/// decides nothing. Properties come before doc_string, so that a long description cuts no keys. At
/// most ModelMetadata::kMaxProperties pairs are read. The result owns its texts.
ModelMetadata onnx_metadata(const OnnxModel& model, std::string_view graph_name);

/// Reads the metadata of a file that was loaded, without its graph. Errors: those of
/// parse_onnx_file().
Result<ModelMetadata> read_onnx_metadata(std::span<const std::byte> bytes,
                                         std::string_view graph_name);

}  // namespace parallax
