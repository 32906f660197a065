// What must hold between the names of a file's graph before anything is built from it.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "load/onnx/proto.h"

namespace parallax {

/// Version of the ai.onnx operator set that the model imports. Errors: kInvalidModel where it
/// imports none or two that differ; kUnsupported outside 7 to 23.
Result<std::int64_t> onnx_opset(const OnnxModel& model);

/// Checks the names of `graph` and of all subgraphs in its nodes: every name that is read is
/// visible, none is defined twice. Gives the indices of the nodes in topological order, stable:
/// nodes stay where they are unless one reads what a later one makes. Errors: kInvalidModel
/// (missing producer, duplicate, cycle, subgraphs nested more than 64 deep); kUnsupported, one line
/// with every operator, also those inside subgraphs, that no loader rule covers, with domain,
/// opset and count.
Result<std::vector<std::size_t>> check_structure(const OnnxModel& model, const OnnxGraph& graph);

}  // namespace parallax
