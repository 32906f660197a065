// Attributes of a file's node as the graph has them.
// Thread-safety: pure functions, apart from the ExternalFiles and the account they are given.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"
#include "ir/load_quota.h"
#include "load/external_files.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// All attributes of `node` but the bodies of If, Loop and Scan. Errors, without the node's name:
/// kInvalidModel for one that occurs twice or refers to an attribute of a function; kUnsupported
/// for types other than numbers, strings, lists of numbers and dense tensors; as read_tensor.
Result<Attributes> read_attributes(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                                   ExternalFiles& external);

/// Returns the value of a Constant node. Errors: as read_attributes; kInvalidModel if it has
/// inputs, other than one output, or not exactly one value.
Result<Constant> constant_of(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                             ExternalFiles& external, LoadQuota& quota);

}  // namespace parallax
