// Lines of a dense tensor along one axis: elements that lie `step` apart.
#pragma once

#include <algorithm>

#include "kernels/reference/common.h"

namespace parallax {

/// The lines along `axis` of a tensor of `dims`.
struct AxisLines {
  std::int64_t length = 1, step = 1, count = 0;

  AxisLines(const Dims& dims, int axis)
      : length(dims[axis]), step(count_of(dims, axis + 1, dims.rank())) {
    const std::int64_t elements = dims.elements();
    count = elements == 0 ? 0 : elements / length;
  }

  /// Offset of the first element of line `i`.
  std::int64_t start(std::int64_t i) const { return i / step * length * step + i % step; }
  /// Number of tiles if each covers whole lines, about `elements` elements in all.
  std::int64_t tiles(std::int64_t elements) const {
    return tile_count(count,
                      std::max<std::int64_t>(elements / std::max<std::int64_t>(length, 1), 1));
  }
};

}  // namespace parallax
