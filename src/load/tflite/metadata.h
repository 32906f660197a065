// A TFLite file's statements about itself. Thread-safety: pure function.
#pragma once

#include <string_view>

#include "load/tflite/tflite_file.h"
#include "parallax/model.h"

namespace parallax {

/// Returns the metadata of a file whose main graph is called `graph_name`. Texts beyond the limits
/// are cut, and what is damaged is left out: metadata decides nothing. Reads the model's
/// description and, each at most once, the entries TFLITE_METADATA (name, description, version,
/// author, license; at most 16 MiB) and min_runtime_version. The result owns its texts.
ModelMetadata tflite_metadata(const TfliteFile& file, std::string_view graph_name);

}  // namespace parallax
