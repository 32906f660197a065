// Writes what the caller knows of a model's inputs into the file's graph, before anything is built
// from it. Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <span>

#include "load/onnx/proto/proto.h"
#include "parallax/options.h"

namespace parallax {

/// Gives inputs of `graph` the sizes that are known. One that has a default, an initializer of its
/// name, loses it. Errors: kInvalidInput for names that no input has or that are given twice, for
/// other ranks or sizes than the file's, sizes below -1, and an initializer of a file before IR
/// version 4, if it is a constant. A size of -1 leaves a dimension open. REQUIRES: `ir_version`
/// is the file's. `graph` keeps some of the changes after an error. Called before functions are
/// inlined and names are checked.
Status apply_known_inputs(std::span<const KnownInput> known, std::int64_t ir_version,
                          OnnxGraph& graph);

}  // namespace parallax
