// Sparse tensors of a file as constants that hold every element.
// Thread-safety: pure function, apart from the ExternalFiles and the account it is given.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "ir/load_quota.h"
#include "load/external_files.h"
#include "load/onnx/proto/proto.h"

namespace parallax {

/// The dense form of `tensor`. Errors: kInvalidModel for indices outside the tensor or whose shape
/// the standard does not know; kUnsupported where the account has too little for all elements and
/// for elements of less than a byte; as read_tensor.
Result<Constant> read_sparse_tensor(const OnnxSparseTensor& tensor,
                                    const std::shared_ptr<const void>& owner,
                                    ExternalFiles& external, LoadQuota& quota);

}  // namespace parallax
