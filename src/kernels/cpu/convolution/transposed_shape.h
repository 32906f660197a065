// Sizes of a ConvTranspose node, and how its result is cut into blocks. Spatial arrays are {planes,
// rows, columns}; axes that a node does not have are 1. Thread-safety: plain values. Output o of an
// axis gets a contribution of tap k and input i if o = i * stride + k * dilation - pad_begin.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/cpu/machine.h"
#include "kernels/kernel.h"

namespace parallax {

/// One spatial axis, in elements. `pad_begin` is the axis' element of the first half of ONNX's
/// `pads`.
struct TransposedAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0;

  /// Returns the range of the image's elements that contribute to some of `outputs`.
  TileRange reached_by(TileRange outputs) const;
  /// Returns the output position that tap `k` of the image's element 0 contributes to; it may lie
  /// outside the output.
  std::int64_t offset(std::int64_t k) const { return k * dilation - pad_begin; }
};

/// W is [groups * channels, filters, kernel]; X and Y are NCHW, or NHWC if `nhwc`.
struct TransposedShape {
  std::int64_t batch = 0, groups = 1;
  std::int64_t channels = 0, filters = 0;  ///< per group
  /// Axes of one- and two-dimensional nodes are the last ones.
  std::array<TransposedAxis, 3> axes;
  bool nhwc = false;

  const TransposedAxis& planes() const { return axes[0]; }
  const TransposedAxis& rows() const { return axes[1]; }
  const TransposedAxis& columns() const { return axes[2]; }
  /// Returns the taps of one plane of a filter.
  std::int64_t taps() const { return rows().kernel * columns().kernel; }
};
/// Returns the shape of a ConvTranspose of f32 with one to three spatial axes and constant weights;
/// nullopt for others, for results without elements, and for sizes beyond 2^31 elements.
std::optional<TransposedShape> transposed_shape(const KernelRequest& request);

/// How planes of the result are cut into blocks of rows times columns.
struct TransposedCut {
  std::int64_t rows = 1, columns = 1;  ///< largest block
  std::int64_t row_blocks = 1, column_blocks = 1;
  std::int64_t pixels = 1;  ///< most pixels of the image that a block reads
};
/// Cuts the result so that the products of a block, `width` for each pixel of the image, fit a
/// cache. A pixel costs `macs` multiply-accumulates, which size tiles. `width` counts floats.
TransposedCut cut_transposed(const TransposedShape& shape, std::int64_t width, std::int64_t macs,
                             const Machine& machine);

}  // namespace parallax
