// The functions of a model: each call gives way to the nodes of the function's body.
// Thread-safety: pure functions, apart from the account and the names they are given.
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
/// nodes.
Result<OnnxGraph> inline_functions(const OnnxModel& model, OnnxGraph graph, LoadQuota& quota,
                                   std::deque<std::string>& names);

}  // namespace parallax
