#include "kernels/cpu/convolution/planar_cut.h"

#include <algorithm>

#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr std::int64_t kFewestPlanarPixels = 64;
/// Cost of copying an element, in multiplications.
constexpr std::int64_t kCopyCost = 48;

}  // namespace

PlanarCut cut_planar(const ConvolutionShape& s, const PlanarWeights& w, const PlanarWindow& window,
                     const Machine& machine) {
  const std::int64_t channels = tile_count(w.channels, w.blocks);
  const auto fits = [&](std::int64_t rows, std::int64_t columns) {
    return window.elements(channels, rows, columns) <= static_cast<double>(machine.window()) &&
           w.filters * rows * columns <= machine.results();
  };
  PlanarCut cut;
  std::int64_t columns = s.out[1];
  while (columns > kFewestPlanarPixels && !fits(1, columns))
    columns = std::max(kFewestPlanarPixels, (columns + 1) / 2);
  const std::int64_t pixel_macs = w.channels * w.taps * w.filters;
  const std::int64_t pixels = s.batch * s.planes.out * s.out[0] * s.out[1];
  const std::int64_t fewest = s.planes.kernel > 1 ? kVolumeTileMacs : kPlanarTileMacs;
  const std::int64_t tiles = count_tiles(pixels, pixel_macs * s.groups, fewest);
  const std::int64_t wanted = std::max(kFewestPlanarPixels, tile_count(pixels, tiles));
  columns = std::min(columns, wanted);
  cut.column_tiles = tile_count(s.out[1], columns);
  columns = tile_count(s.out[1], cut.column_tiles);
  // With several groups, groups are cut first: that copies no pixel twice.
  const std::int64_t image = columns * s.out[0];
  std::int64_t rows = tile_count(s.groups > 1 ? image : wanted, columns);
  rows = std::clamp<std::int64_t>(rows, 1, s.out[0]);
  while (rows > 1 && !fits(rows, columns)) rows = (rows + 1) / 2;
  cut.row_tiles = tile_count(s.out[0], rows);
  rows = tile_count(s.out[0], cut.row_tiles);
  const std::int64_t rectangles = s.batch * s.planes.out * cut.row_tiles * cut.column_tiles;
  cut.group_tiles = std::clamp<std::int64_t>(tile_count(tiles, rectangles), 1, s.groups);
  const std::int64_t results = w.filters * rows * columns;
  if (results > machine.results()) cut.group_tiles = s.groups;
  if (cut.group_tiles == s.groups)
    cut.panel_tiles =
        std::clamp<std::int64_t>(std::max(rows * columns * pixel_macs / kMaxPlanarTileMacs,
                                          tile_count(results, machine.results())),
                                 1, w.panels);
  cut.rows = rows;
  cut.columns = columns;
  return cut;
}

/// Channels that begin in the same set of the first-level cache would evict each other.
bool pixels_stay(const ConvolutionShape& s, const Machine& machine) {
  const ConvolutionAxis& z = s.planes;
  const bool one = z.kernel * s.kernel[0] * s.kernel[1] == 1 &&
                   z.stride * s.stride[0] * s.stride[1] == 1 && z.in == z.out && s.in == s.out;
  return one && z.pad_begin + s.pad_begin[0] + s.pad_begin[1] == 0 &&
         z.in * s.in[0] * s.in[1] % machine.set_distance() != 0;
}

bool wants_exact(const ConvolutionShape& s, const PlanarWeights& w) {
  const std::int64_t steps = (s.kernel[1] - 1) * s.dilation[1] / s.stride[1];
  const std::int64_t between = std::max<std::int64_t>(steps - s.pad_begin[1] / s.stride[1], 0);
  const std::int64_t parts = std::min(s.kernel[1], s.stride[1]);
  if (w.unit > 1 && s.out[1] >= kFewestPlanarColumns)
    return false;  // rows are multiplied one by one
  return 8 * between >= s.out[1] &&
         w.taps * w.filters * between > kCopyCost * (s.kernel[1] - parts) * s.out[1];
}

}  // namespace parallax
