// The inner loops of attention with queries in lanes: every row of a block belongs to a key (or to
// a column of V) and has an element for each query. Rows are `stride` elements apart, a multiple of
// MatMulWidths::vector, and whole rows are computed. For the instruction set of this machine.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Running sums of the softmax, one number for each query (Milakov and Gimelshein, Online
/// normalizer calculation for softmax). Arrays of LaneRows::stride floats, which the caller
/// provides and which last from the first block of keys to the last.
struct LaneSums {
  float* largest = nullptr;  ///< largest masked score so far
  float* sum = nullptr;      ///< sum of the weights, relative to `largest`
  float* shrink = nullptr;   ///< factor that the last block applied to earlier weights
};

/// Masks, scores and results of a block of keys: the same for operands in f32 and in bf16.
struct LaneRows {
  /// Keys of this block, at least 1; columns of V, at least 1.
  std::size_t keys = 0, width = 0;
  std::size_t stride = 0;                ///< elements of a row of the arrays below
  const float* key_mask = nullptr;       ///< [keys], for all queries; or null
  const float* query_mask = nullptr;     ///< [keys, stride]; or null
  const std::uint8_t* filled = nullptr;  ///< [keys, stride], not 0 where scores are `fill`; or null
  /// Score that filled ones get.
  float fill = 0;
  bool fill_last = false;  ///< fills after the mask is added, not before
  float* x = nullptr;      ///< [keys, stride]: scores, then weights
  float* y = nullptr;      ///< [width, stride]: Y^T
  LaneSums sums;           ///< [stride] each
  bool first = true;       ///< this is the first block: sums and y are unset

  bool masked() const { return key_mask != nullptr || query_mask != nullptr; }
  /// Returns true if scores are more than products.
  bool adjusted() const { return masked() || filled != nullptr; }
};

/// Operands of a block of keys. An element is a step of depth in K and Q, and of keys in V.
template <class Element>
struct LaneBlockOf : LaneRows {
  const Element* k = nullptr;  ///< [keys, depth], rows `k_stride` elements apart
  const Element* v = nullptr;  ///< [steps of keys, width], rows `v_stride` elements apart
  const Element* q = nullptr;  ///< [depth, stride]: Q^T
  /// Elements from one row of K and of V to the next; steps of depth.
  std::size_t k_stride = 0, v_stride = 0, depth = 0;
};
using LaneBlock = LaneBlockOf<float>;
/// Brings sums and y up to date, y = shrink * y + V^T weights. The weights are e^(score + mask -
/// largest) with a mask or a fill, 2^(score - largest) without. The arrays of `block` are aligned
/// to a vector, K and V to an element. Scores are replaced by weights. REQUIRES: Q was multiplied
/// by log2(e) if there is neither mask nor fill.
void lane_block(const LaneBlock& block);

/// Multiplies x[0, n) by `factor`, in place. n is a multiple of the vector. x is aligned to a
/// vector.
void lane_scale(float* x, std::size_t n, float factor);

/// Divides each row of y [width, stride] by `sum` [stride]. Multiplies by the reciprocal; lanes
/// without a query may hold anything.
void lane_divide(float* y, std::size_t width, std::size_t stride, const float* sum);

}  // namespace parallax
