// The element types that a model needs and Parallax lacks. Thread-safety: pure function.
#pragma once

#include "load/onnx/structure.h"

namespace parallax {

/// Refuses a graph whose inputs, outputs or initializers that are read have several element types
/// that are not supported, all in one line. One alone is left to its reader, and so are those in
/// bodies, which need not be read. Errors: kUnsupported. The message has each type with the first
/// that uses it and how many more do. Runs after check_structure(), before any tensor is read.
Status check_element_types(const CheckedGraph& checked);

}  // namespace parallax
