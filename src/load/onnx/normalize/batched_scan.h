// Scan of operator set 8, whose inputs and outputs are batches: a Scan of the newest sets over the
// samples, whose body is the Scan over one sample. Thread-safety: pure functions.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// Whether `node`, of operator set `opset`, is one. That is Scan of ai.onnx in operator set 8 only;
/// set 9 dropped the batch.
bool is_batched_scan(const OnnxNode& node, std::int64_t opset);

/// Makes `node` the Scan over the samples. Values of its body get names for which `taken` is false;
/// `names` keeps them and must outlive the node. Errors: kUnsupported where samples have lengths of
/// their own. The first input, sequence_lens, is removed; the attribute `directions` of the inner
/// Scan gets its newer name. Both Scans are of operator set 9 afterwards.
Status split_batched_scan(OnnxNode& node, const std::function<bool(std::string_view)>& taken,
                          std::deque<std::string>& names);

}  // namespace parallax
