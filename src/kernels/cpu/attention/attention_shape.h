// What the attention kernels know of a request. Plain values.
#pragma once

#include <cstdint>

#include "kernels/cpu/batches.h"
#include "kernels/kernel.h"
#include "ops/attention.h"

namespace parallax {

/// How an input with a row for each query's keys lies; rows may repeat.
struct AttentionMask {
  bool given = false;
  BatchStrides batches{};
  std::int64_t stride = 0;  ///< from one query's row to the next; 0: they share one
};

/// Softmax(scale * Q K + mask) V of FusedAttention's inputs, as they lie.
struct AttentionShape {
  Dims dims;  ///< of the result, before it is transposed
  int batch_rank = 0;
  std::int64_t batches = 1;
  std::int64_t queries = 0, keys = 0, depth = 0, width = 0;
  MatrixOperand q, k, v, y;
  float scale = 1;
  AttentionMask mask, choice;
  AttentionFill fill;        ///< of the choice
  bool nan_is_zero = false;  ///< of weights

  /// Where matrix `batch` of an operand begins, in elements.
  std::int64_t at(const MatrixOperand& operand, std::int64_t batch) const {
    return batch_offset(dims, batch_rank, operand.batches, batch);
  }
  /// True where scores are more than products by a number.
  bool masked() const { return mask.given || choice.given; }
  /// Where the row of `query` begins, in elements.
  std::int64_t at(const AttentionMask& rows, std::int64_t batch, std::int64_t query) const {
    return batch_offset(dims, batch_rank, rows.batches, batch) + query * rows.stride;
  }
};

AttentionShape attention_shape(const KernelRequest& request);

/// Where weights that are NaN count as 0: writes the results of such queries anew. The weights of a
/// query are NaN all together, where its sum, the first of which is in `sums`, is none or 0.
void replace_nan_weights(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                         const float* sums, const KernelArgs& args);

}  // namespace parallax
