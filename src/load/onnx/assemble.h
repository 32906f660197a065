// Builds the graph from a file's graph whose names and operators were checked (structure.h).
// Thread-safety: pure function.
#pragma once

#include "ir/graph.h"
#include "load/external_files.h"
#include "load/onnx/onnx.h"
#include "load/onnx/structure.h"

namespace parallax {

/// Constants, inputs with their symbols, the nodes in the newest form, outputs; shapes inferred. Of
/// an If whose condition is known, both bodies are the branch that is taken: what the other one
/// holds may not even have shapes. An initializer is a constant also if it is listed as an input
/// (known_inputs.h takes it away where the caller gives that input). `noted`, unless null: gets the
/// further nodes that cannot run; if there are any, the result is an error. Errors: as load_onnx.
Result<Graph> assemble_graph(CheckedGraph file, const ModelBytes& model, ExternalFiles& external,
                             LoadQuota& quota, std::vector<UnsupportedNode>* noted = nullptr);

}  // namespace parallax
