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
/// Strings that are data (delimiter, pattern, default_string, value_string, lists of strings) may
/// have any UTF-8 text; other strings must pass check_name(). A TypeProto becomes a list of
/// integers: the element type, then the containers around it, outermost first. Tensors stay in the
/// file, which `owner` keeps alive.
Result<Attributes> read_attributes(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                                   ExternalFiles& external);

/// Returns the value of a Constant node. Errors: as read_attributes; kInvalidModel if it has
/// inputs, other than one output, or not exactly one value. Reads value, sparse_value, value_int,
/// value_float, value_string and their lists; kUnsupported for other names. Numbers become i64 or
/// f32; a single number is a scalar, a list has rank 1. `quota` is charged for the zeros of a
/// sparse value.
Result<Constant> constant_of(const OnnxNode& node, const std::shared_ptr<const void>& owner,
                             ExternalFiles& external, LoadQuota& quota);

}  // namespace parallax
