// How a planar convolution is cut into tiles, and what they copy. Depends only on shape
// and machine. Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/planar_weights.h"
#include "kernels/cpu/convolution/planar_window.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// Tiles of the node: rectangles of the outputs of one plane and image, times runs of groups, or
/// runs of the panels of one group.
struct PlanarCut {
  /// Numbers of cuts along each of these; their product, times planes and images, is the number of
  /// tiles.
  std::int64_t row_tiles = 1, column_tiles = 1, group_tiles = 1, panel_tiles = 1;
  std::int64_t rows = 0, columns = 0;  ///< size of the largest rectangle
};

/// Cuts the node into tiles of some kPlanarTileMacs whose windows fit a second-level cache. Some of
/// them have fewer outputs at the edges.
PlanarCut cut_planar(const ConvolutionShape& shape, const PlanarWeights& weights,
                     const PlanarWindow& window, const Machine& machine);
/// Fewest outputs of a row that is multiplied by itself; shorter rows are multiplied together,
/// including the elements between them.
inline constexpr std::int64_t kFewestPlanarColumns = 12;
/// Returns true if filters of one tap can read the image in place. False if planes would begin in
/// the same sets of the first-level cache (Machine::set_distance()).
bool pixels_stay(const ConvolutionShape& shape, const Machine& machine);
/// Returns true if a window is copied once for each kernel column, so that its rows are adjacent.
/// Costs more copies, but vectors then hold results alone.
bool wants_exact(const ConvolutionShape& shape, const PlanarWeights& weights);

}  // namespace parallax
