// Builds the graph from a file's graph whose names and operators were checked (structure.h).
// Thread-safety: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/graph.h"
#include "load/onnx/onnx.h"
#include "load/onnx/proto.h"

namespace parallax {

/// Constants, inputs with their symbols, the nodes in `order` (indices of file.nodes) in the newest
/// form, outputs; shapes inferred. An initializer is a constant also where it is listed as an input
/// (as a default that a caller could replace: nobody can here). Errors: as load_onnx.
Result<Graph> assemble_graph(const OnnxGraph& file, std::span<const std::size_t> order,
                             std::int64_t opset, const ModelBytes& model);

}  // namespace parallax
