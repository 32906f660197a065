// Reads an ONNX model (opsets 1 to 28) into a Graph. The file is an attacker's: every count, size,
// offset, index, name and path is checked, nothing is copied that need not be, nothing is printed.
//
// Order of the stages: parse the outermost message, check versions, parse the graph, apply known
// inputs, inline functions, check names and operators, check element types, assemble, verify. IR
// versions 3 to 14 are accepted. Pure functions, apart from the quota: calls that share none may
// run concurrently.
#pragma once

#include <span>
#include <vector>

#include "base/files/mapped_file.h"
#include "ir/graph.h"
#include "ir/load_quota.h"
#include "load/onnx/proto/proto.h"
#include "parallax/model.h"
#include "parallax/options.h"

namespace parallax {

/// The outermost message of a file, which has a graph. Errors: kInvalidModel for what is no ONNX
/// model or larger than 2 GiB. The limit is 2^31 - 1 bytes, protobuf's own. Files of other kinds
/// that are known (foreign_file.h) are named in the message. The result points into `bytes`.
Result<OnnxModel> parse_onnx_file(std::span<const std::byte> bytes);

/// The graph of the model, normalised to the newest operator semantics, shapes inferred. Weights
/// point into `model.bytes` or into mapped external files. Errors: stage kLoad; kInvalidModel,
/// kUnsupported (all unsupported operators listed with domain, opset and count) or kIo.
/// `options`: max_nesting, at most kMaxNesting, and inputs.
/// `external`, unless null: gets the files besides the model's that were opened (open_external of
/// external_files.h opens them again).
/// `quota`, unless null, is what inference draws from; it gets the allowance of the model's
/// weights and nodes, and passes may go on with it. Also kInvalidInput for a signature, which ONNX
/// lacks, and for known inputs that do not fit; kOutOfMemory.
Result<Graph> load_onnx(const ModelBytes& model,
                        const LoadOptions& options = {.max_nesting = kMaxNesting},
                        std::vector<NamedFile>* external = nullptr, LoadQuota* quota = nullptr);

/// Loads the graph, drops it and returns the nodes that cannot run, also those behind the first.
/// Errors: as load_onnx(), for what is no single node's.
Result<std::vector<UnsupportedNode>> check_onnx(const ModelBytes& model,
                                                const LoadOptions& options = {
                                                    .max_nesting = kMaxNesting});

}  // namespace parallax
