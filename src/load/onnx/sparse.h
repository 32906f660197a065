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
/// the standard does not know; kUnsupported if the account has too little for all elements and
/// for elements of less than a byte; as read_tensor. Indices are i64 and ascend strictly: [values],
/// places in the flat tensor, or [values, rank]. `quota` is charged with the bytes of the dense
/// tensor before they are allocated. The constant owns its bytes; the file's are not kept.
Result<Constant> read_sparse_tensor(const OnnxSparseTensor& tensor,
                                    const std::shared_ptr<const void>& owner,
                                    ExternalFiles& external, LoadQuota& quota);

}  // namespace parallax
