// MaxPool and AveragePool of f32 NHWC images: all channels of a pixel together.
#include <algorithm>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/pool_loops.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

struct PoolGeometry {
  WindowAxis rows, columns;
  std::int64_t batches = 0, channels = 0;

  /// Returns the columns of the output whose windows lie between the left and the right edge of the
  /// image.
  TileRange inner_columns() const {
    const std::int64_t begin = columns.positions(0).begin;
    return {begin, std::max(begin, columns.positions(columns.kernel - 1).end)};
  }
  /// Returns the taps that lie on the image, of the output pixels of a row in a range of columns:
  /// one column, or inner ones.
  PoolWindows windows(const float* image, std::int64_t row, const TileRange& outputs) const {
    const std::int64_t column = outputs.begin;
    const TileRange r = rows.taps(row, 0, rows.in), c = columns.taps(column, 0, columns.in);
    const std::int64_t y = row * rows.stride - rows.pad_begin + r.begin * rows.dilation;
    const std::int64_t x = column * columns.stride - columns.pad_begin + c.begin * columns.dilation;
    return {.x = image + (y * columns.in + x) * channels,
            .row_step = rows.dilation * columns.in * channels,
            .column_step = columns.dilation * channels,
            .next = columns.stride * channels,
            .rows = to_size(r.end - r.begin),
            .columns = to_size(c.end - c.begin),
            .count = to_size(outputs.end - outputs.begin),
            .channels = to_size(channels)};
  }
  /// Returns the number of taps of a window that lie on the image or its padding.
  std::int64_t padded_taps(std::int64_t row, std::int64_t column) const {
    const TileRange r = rows.taps(row, -rows.pad_begin, rows.in + rows.pad_end);
    const TileRange c = columns.taps(column, -columns.pad_begin, columns.in + columns.pad_end);
    return (r.end - r.begin) * (c.end - c.begin);
  }
};

std::optional<PoolGeometry> pool_geometry(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  const Dims& y = request.outputs[0].dims;
  const auto kernel = params_of<WindowParams>(request.node).kernel_shape;
  if (request.inputs[0].dtype != DType::kF32 || x.rank() != 4 || kernel.size() != 2 ||
      !channels_last(request.node))
    return std::nullopt;
  if (request.outputs.size() > 1 && request.outputs[1].present) return std::nullopt;
  const WindowAxes axes = window_axes(request.node, {x[1], x[2]}, {y[1], y[2]}, kernel);
  return PoolGeometry{axes[0], axes[1], x[0], x[3]};
}

/// Calls pool(geometry, image, row, columns, y) for all output pixels of a tile of rows: with all
/// inner columns of a row together, and with each of the others.
template <class Pool>
Result<std::unique_ptr<Kernel>> pool_kernel(const PoolGeometry& geometry, Pool pool) {
  const std::int64_t rows = geometry.batches * geometry.rows.out;
  const std::int64_t row_elements = geometry.columns.out * geometry.channels;
  const std::int64_t taps =
      std::max<std::int64_t>(std::min(geometry.rows.kernel, geometry.rows.in) *
                                 std::min(geometry.columns.kernel, geometry.columns.in),
                             1);
  if (rows * row_elements == 0) return empty_kernel();
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, taps * row_elements, kTileElements * 4);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(rows, tiles, tile);
        const std::int64_t image_elements =
            geometry.rows.in * geometry.columns.in * geometry.channels;
        const TileRange inner = geometry.inner_columns();
        for (std::int64_t row = begin; row < end; ++row) {
          const float* image = args.in<float>(0) + row / geometry.rows.out * image_elements;
          float* y = args.out<float>() + row * row_elements;
          for (std::int64_t column = 0; column < geometry.columns.out;) {
            const bool together = column == inner.begin && inner.end > inner.begin;
            const TileRange outputs{column, together ? inner.end : column + 1};
            pool(geometry, image, row % geometry.rows.out, outputs, y + column * geometry.channels);
            column = outputs.end;
          }
        }
        return {};
      });
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_max_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  return pool_kernel(*geometry, [](const PoolGeometry& g, const float* image, std::int64_t row,
                                   const TileRange& outputs,
                                   float* y) { pool_max(g.windows(image, row, outputs), y); });
}

Result<std::unique_ptr<Kernel>> cpu_average_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  const bool padded = params_of<AveragePoolParams>(request.node).count_include_pad;
  return pool_kernel(*geometry, [padded](const PoolGeometry& g, const float* image,
                                         std::int64_t row, const TileRange& outputs, float* y) {
    const PoolWindows windows = g.windows(image, row, outputs);
    const std::int64_t taps = padded ? g.padded_taps(row, outputs.begin)
                                     : static_cast<std::int64_t>(windows.rows * windows.columns);
    pool_average(windows, y, static_cast<float>(std::max<std::int64_t>(taps, 1)));
  });
}

}  // namespace parallax
