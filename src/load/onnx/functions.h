// The functions of a model: each call gives way to the nodes of the function's body.
// Thread-safety: pure functions, apart from the account and the names they are given.
//
// Runs on the parsed graph before names are checked (structure.h), so that later stages meet no
// function. A model without functions that does not import ai.onnx.preview is returned unchanged.
// FlexAttention of that domain is expanded here too, because its score_mod and prob_mod are graphs.
#pragma once

#include <deque>
#include <string>

#include "ir/load_quota.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// `graph` with every call of a function of `model` replaced by nodes, in bodies and in functions
/// too. A function goes before an operator of its name. Values of a function get names that no
/// other value has; `names` keeps them and must outlive the result. Errors: kInvalidModel for a
/// function that is defined twice or calls itself, directly or through others, for a call with more
/// inputs or outputs than the function has, and for attributes that it lacks; kUnsupported where
/// functions are nested more than kMaxNesting deep or expand to more than the account has left for
/// nodes. Functions are found by domain, name and overload. Limits: the expansion may need
/// LoadQuota::needed_bytes_left() bytes (about 900 for a node, 600 for an output, and what made
/// names need); renaming is charged as work. A function that no node calls is parsed but not
/// checked further. Views in the result point into the file, into `names`, or into graphs that
/// OnnxAttribute::inlined shares.
Result<OnnxGraph> inline_functions(const OnnxModel& model, OnnxGraph graph, LoadQuota& quota,
                                   std::deque<std::string>& names);

}  // namespace parallax
