// Which elements of an axis, with which weights, one position of a resized tensor is made of: for
// all modes of Resize. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "kernels/reference/resize_source.h"

namespace parallax {

struct ResizeTap {
  std::int64_t index = 0;
  double weight = 0;
};

/// The parameters of Resize that are inputs; null where they are not given. Of any alignment.
struct ResizeInputs {
  const std::byte* region = nullptr;
  DType region_type = DType::kF32;
  const std::byte* scales = nullptr;  ///< f32
  const std::byte* sizes = nullptr;   ///< i64
};

/// Scale and crop region of one axis.
struct ResizeSpan {
  ResizeScale scale;
  double start = 0, end = 1;  ///< crop region (tf_crop_and_resize), 0 and 1 being the image's ends
};
/// Errors: kInvalidInput where the scale is no positive number.
Result<ResizeSpan> resize_span(const ResizeShape& shape, int axis, const ResizeInputs& inputs);

/// Taps of each position of an axis, whatever the scale: as many as a table needs room for.
std::int64_t resize_tap_count(const ResizeShape& shape, int axis);
/// Writes the taps of position `i`, resize_tap_count() of them; those of weight 0 are not to be
/// read. False where the position lies outside the region's image. Errors: kInvalidInput where the
/// scale needs more.
Result<bool> resize_taps(const ResizeShape& shape, int axis, std::int64_t i, const ResizeSpan& span,
                         std::span<ResizeTap> taps);

}  // namespace parallax
