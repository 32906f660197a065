// What the attention kernels know of a request. Plain values.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/simd/batches.h"

namespace parallax {

/// Softmax(scale * Q K + mask) V of FusedAttention's inputs, as they lie.
struct AttentionShape {
  Dims dims;  ///< of the result, before it is transposed
  int batch_rank = 0;
  std::int64_t batches = 1;
  std::int64_t queries = 0, keys = 0, depth = 0, width = 0;
  MatrixOperand q, k, v, y;
  float scale = 1;
  bool masked = false;
  BatchStrides mask{};
  std::int64_t mask_stride = 0;  ///< from one query's mask to the next

  /// Where matrix `batch` of an operand begins, in elements.
  std::int64_t at(const MatrixOperand& operand, std::int64_t batch) const {
    return batch_offset(dims, batch_rank, operand.batches, batch);
  }
  /// The mask of `query` and the queries after it: a row of `keys` each, `mask_stride` apart.
  const float* mask_at(const float* whole, std::int64_t batch, std::int64_t query) const {
    return whole + batch_offset(dims, batch_rank, mask, batch) + query * mask_stride;
  }
};

AttentionShape attention_shape(const KernelRequest& request);

}  // namespace parallax
