// The subgraph of a TFLite file that a model runs, and the names of its inputs and outputs.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "load/tflite/tflite_file.h"
#include "parallax/result.h"

namespace parallax {

/// Names are by position in SubGraph::inputs and outputs. `subgraph` is an index of
/// TfliteFile::subgraphs.
struct TfliteEntry {
  std::size_t subgraph = 0;
  bool named = false;  ///< whether a signature gives the names
  /// Names by position: those of the signature, else of the tensors, else "input0" or "output0".
  /// Different tensors may have one name. Empty where a tensor is listed again.
  std::vector<std::string> inputs, outputs;
};

/// Returns the subgraph of a signature; `signature` empty: the first subgraph. Errors:
/// kInvalidInput, which lists the signatures, if none has that name. The list in the message has at
/// most 2,000 bytes. Names are copied.
Result<TfliteEntry> find_entry(const TfliteFile& file, std::string_view signature);

}  // namespace parallax
