#include "kernels/onednn/convolution_tiles.h"

#include <algorithm>
#include <cmath>

namespace parallax {
namespace {

// About 50 microseconds of one AVX-512 core. Cutting costs nothing measurable down to a tenth of
// this.
constexpr double kMacsPerTile = 6e6;
constexpr double kMaxRowTiles = 32;

}  // namespace

bool ConvolutionRows::same_work(const ConvolutionRows& other) const {
  return out_rows == other.out_rows && in_rows == other.in_rows && pad_begin == other.pad_begin &&
         pad_end == other.pad_end;
}

std::int64_t rows_per_tile(const ConvolutionShape& shape) {
  const auto rows = shape.out[static_cast<std::size_t>(shape.tile_axis)];
  const double wanted = std::clamp(shape.macs() / kMacsPerTile, 1.0, kMaxRowTiles);
  const auto tiles = std::min<std::int64_t>(std::lround(wanted), rows);
  return (rows + tiles - 1) / tiles;
}

ConvolutionRows tile_rows(const ConvolutionShape& shape, std::int64_t rows, std::int64_t index) {
  const auto a = static_cast<std::size_t>(shape.tile_axis);
  ConvolutionRows tile;
  tile.out_begin = index * rows;
  const std::int64_t out_end = std::min(tile.out_begin + rows, shape.out[a]);
  tile.out_rows = out_end - tile.out_begin;
  const std::int64_t first = tile.out_begin * shape.stride[a] - shape.pad_begin[a];
  tile.pad_begin = std::max<std::int64_t>(0, -first);
  tile.in_begin = std::max<std::int64_t>(0, first);
  tile.pad_end = shape.pad_end(shape.tile_axis, out_end);
  const std::int64_t last =
      (out_end - 1) * shape.stride[a] - shape.pad_begin[a] + shape.extent(shape.tile_axis);
  tile.in_rows = std::min(last, shape.in[a]) - tile.in_begin;
  return tile;
}

}  // namespace parallax
