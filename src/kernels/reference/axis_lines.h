// Lines of a dense row-major tensor along one axis, for kernels that work on each line on its own
// (cumulative sums and products, LogSoftmax, Hardmax). Plain values. Tiles are whole lines, as
// elements of a line depend on each other.
#pragma once

#include <algorithm>

#include "kernels/reference/common.h"

namespace parallax {

/// The lines along one axis. Element k of line i is at offset start(i) + k * step.
struct AxisLines {
  /// Elements of a line, elements from one of them to the next, and lines (0 if the tensor is
  /// empty). `step` is the product of the dimensions behind the axis.
  std::int64_t length = 1, step = 1, count = 0;

  /// REQUIRES: 0 <= axis < dims.rank(). Dimensions may be 0: then there are no lines.
  AxisLines(const Dims& dims, int axis)
      : length(dims[axis]), step(count_of(dims, axis + 1, dims.rank())) {
    const std::int64_t elements = dims.elements();
    count = elements == 0 ? 0 : elements / length;
  }

  /// Returns the offset of the first element of line `i`, i in [0, count). Lines are numbered in
  /// row-major order of the other axes. Tiles of a kernel are ranges of these numbers.
  std::int64_t start(std::int64_t i) const { return i / step * length * step + i % step; }
  /// Number of tiles if each covers whole lines, about `elements` elements in all. A line that is
  /// longer is a tile of its own; 0 if there are no lines.
  std::int64_t tiles(std::int64_t elements) const {
    return tile_count(count,
                      std::max<std::int64_t>(elements / std::max<std::int64_t>(length, 1), 1));
  }
};

}  // namespace parallax
