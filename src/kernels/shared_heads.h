// Grouped-query attention, in which `group` query heads share one head of keys and values
// (FusedAttentionParams::group). The axis of heads, the third from the end, is split in two: shared
// heads, and the query heads that share one. Keys and values have size 1 along the second, so that
// they broadcast. Nothing is copied: results are strided views. Pure. Kernels of FusedAttention and
// the OpenCL delegate call these when a kernel is made.
#pragma once

#include "kernels/permuted.h"

namespace parallax {

/// Splits the axis of heads into [heads / inner, inner]; other axes and strides stay. The rank
/// grows by one and must not exceed Dims::kMaxRank. Element [.., h / inner, h % inner, ..] of the
/// result is element [.., h, ..] of x. REQUIRES: rank 3 or more, `inner` divides the number of
/// heads.
inline Permuted with_heads_split(const Permuted& x, std::int64_t inner) {
  Permuted result;
  for (int axis = 0; axis < x.dims.rank(); ++axis) {
    const auto to = static_cast<std::size_t>(result.dims.rank());
    const std::int64_t stride = x.strides[static_cast<std::size_t>(axis)];
    const bool heads = axis == x.dims.rank() - 3;
    result.dims.push_back(heads ? x.dims[axis] / inner : x.dims[axis]);
    result.strides[to] = heads ? stride * inner : stride;
    // The new inner axis has the heads' stride; the outer one skips `inner` heads.
    if (!heads) continue;
    result.dims.push_back(inner);
    result.strides[to + 1] = stride;
  }
  return result;
}

/// Splits the heads of queries or of the result, [.., heads, length, size], into [.., heads /
/// group, group, length, size]. A group of 1 leaves x unchanged. REQUIRES: rank 3 or more, a
/// multiple of `group` heads.
inline Permuted split_heads(const Permuted& x, std::int64_t group) {
  return group == 1 ? x : with_heads_split(x, group);
}

/// Views keys or values, [.., heads, length, size], as [.., heads, 1, length, size], which
/// broadcasts to the `group` query heads that share them.
inline Permuted shared_heads(const Permuted& x, std::int64_t group) {
  return group == 1 ? x : with_heads_split(x, 1);
}

/// Returns the dimensions, with the axis of heads split, of a mask that broadcasts to the scores
/// [.., heads, queries, keys]. An axis of size 1 serves all heads and becomes [1, 1]. Masks of rank
/// below 3 have no axis of heads and stay as they are.
inline Dims split_heads(const Dims& dims, std::int64_t group) {
  if (group == 1 || dims.rank() < 3) return dims;
  // A mask with one head serves all query heads; others have one per query head.
  const bool same_for_all = dims[dims.rank() - 3] == 1;
  const Permuted dense = permuted(dims, {});
  return (same_for_all ? shared_heads(dense, group) : split_heads(dense, group)).dims;
}

}  // namespace parallax
