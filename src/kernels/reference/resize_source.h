// Where the elements of a resized tensor come from, for every kernel of Resize: computed in single
// precision as the standard's reference does.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/index_space.h"

namespace parallax {

enum class ResizeCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric
};
enum class ResizeRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

/// How much an axis grows, as a fraction: the quotient of two sizes, rounded, would move a position
/// off the middle between two elements, where it decides which one is nearest.
struct ResizeScale {
  float above = 1;
  float below = 1;
};

/// Where one position of one axis takes its value from: (1 - fraction) of `low`, fraction of the
/// next element.
struct ResizeSource {
  std::int64_t low = 0;
  float fraction = 0;
};

struct ResizeShape {
  Dims in, out;
  Strides strides{};
  bool linear = false;
  ResizeCoordinates coordinates{};
  ResizeRounding rounding{};
  std::array<int, Dims::kMaxRank> entry{};  ///< which element of scales or sizes an axis has, or -1

  /// Positions of all axes together.
  std::int64_t table_size() const {
    std::int64_t size = 0;
    for (std::int64_t dim : out) size += dim;
    return size;
  }
};

ResizeShape resize_shape(const KernelRequest& request);
ResizeShape resize_shape(const Attributes& attributes, const Dims& in, const Dims& out);

/// Whether input 2 (scales) rules; otherwise the sizes do.
bool resized_by_scales(const KernelRequest& request);

/// Scale of an axis; `scales`: the bytes of input 2, at any alignment, read where `by_scales`.
ResizeScale resize_scale(const ResizeShape& shape, int axis, const std::byte* scales,
                         bool by_scales);

ResizeSource resize_source(const ResizeShape& shape, int axis, std::int64_t i, ResizeScale scale);

}  // namespace parallax
