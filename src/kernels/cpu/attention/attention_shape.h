// Sizes, layouts and options of an attention request, as its kernels need them. Thread-safety:
// plain values. Made by attention_shape() when a kernel is made, and copied into it.
#pragma once

#include <cstdint>

#include "kernels/cpu/batches.h"
#include "kernels/kernel.h"
#include "ops/params/fused_attention.h"

namespace parallax {

/// Layout of an input that has, for each query, a row with an element for each key; rows may
/// repeat.
struct AttentionMask {
  bool given = false;  ///< false: the input is left out
  /// Elements from one matrix of the input to the next along the leading axes of the result.
  BatchStrides batches{};
  std::int64_t stride = 0;  ///< elements from one query's row to the next; 0: all share one row
};

/// Sizes and layouts of Softmax(scale * Q K + mask) V, as FusedAttention's inputs lie in memory.
/// Per batch Q is [queries, depth], K [depth, keys], V [keys, width] and Y [queries, width].
struct AttentionShape {
  /// Shape of the result before it is transposed. Its leading axes count batches and heads, and the
  /// axis that split_heads() adds.
  Dims dims;
  /// Number of these leading axes, and the product of their sizes.
  int batch_rank = 0;
  std::int64_t batches = 1;
  /// Sizes of one matrix: rows of Q and Y, columns of K, elements that products are summed over,
  /// columns of V and Y.
  std::int64_t queries = 0, keys = 0, depth = 0, width = 0;
  /// Operands as their tensors lie in memory: transposes that the node includes are strides.
  MatrixOperand q, k, v, y;
  /// Factor of the scores, an attribute of the node.
  float scale = 1;
  /// f32 that is added to the scaled scores; bytes that `fill` tests.
  AttentionMask mask, choice;
  AttentionFill fill;        ///< how `choice` replaces scores
  bool nan_is_zero = false;  ///< weights that are NaN count as 0

  /// Returns the offset of matrix `batch` of an operand, in elements.
  std::int64_t at(const MatrixOperand& operand, std::int64_t batch) const {
    return batch_offset(dims, batch_rank, operand.batches, batch);
  }
  /// Returns true if scores are changed by a mask or a fill after the product is scaled.
  bool masked() const { return mask.given || choice.given; }
  /// Returns the offset of the row of `query`, in elements.
  std::int64_t at(const AttentionMask& rows, std::int64_t batch, std::int64_t query) const {
    return batch_offset(dims, batch_rank, rows.batches, batch) + query * rows.stride;
  }
};

/// Reads the shape from a FusedAttention request. REQUIRES: shapes were inferred and are valid.
AttentionShape attention_shape(const KernelRequest& request);

/// Recomputes the results of queries whose weights are NaN, for nodes that count such weights as 0.
/// All weights of a query are NaN if its sum is NaN or 0. `sums` holds the sums of `queries`. The
/// block of queries must have been written to output 0 before; the function returns immediately if
/// the node does not count NaN as 0.
void replace_nan_weights(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                         const float* sums, const KernelArgs& args);

}  // namespace parallax
