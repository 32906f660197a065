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

  /// Returns the taps of output pixel (row, column) that lie on the image.
  PoolWindow window(const float* image, std::int64_t row, std::int64_t column) const {
    const TileRange r = rows.taps(row, 0, rows.in), c = columns.taps(column, 0, columns.in);
    const std::int64_t y = row * rows.stride - rows.pad_begin + r.begin * rows.dilation;
    const std::int64_t x = column * columns.stride - columns.pad_begin + c.begin * columns.dilation;
    return {image + (y * columns.in + x) * channels, rows.dilation * columns.in * channels,
            columns.dilation * channels, to_size(r.end - r.begin), to_size(c.end - c.begin)};
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

/// Calls pixel(geometry, image, row, column, y) for each output pixel of a tile of rows.
template <class Pixel>
Result<std::unique_ptr<Kernel>> pool_kernel(const PoolGeometry& geometry, Pixel pixel) {
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
        for (std::int64_t row = begin; row < end; ++row) {
          const float* image = args.in<float>(0) + row / geometry.rows.out * image_elements;
          float* y = args.out<float>() + row * row_elements;
          for (std::int64_t column = 0; column < geometry.columns.out; ++column)
            pixel(geometry, image, row % geometry.rows.out, column, y + column * geometry.channels);
        }
        return {};
      });
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_max_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  return pool_kernel(*geometry, [](const PoolGeometry& g, const float* image, std::int64_t row,
                                   std::int64_t column, float* y) {
    pool_max(g.window(image, row, column), y, to_size(g.channels));
  });
}

Result<std::unique_ptr<Kernel>> cpu_average_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  const bool padded = params_of<AveragePoolParams>(request.node).count_include_pad;
  return pool_kernel(*geometry, [padded](const PoolGeometry& g, const float* image,
                                         std::int64_t row, std::int64_t column, float* y) {
    const PoolWindow window = g.window(image, row, column);
    const std::int64_t count = padded ? g.padded_taps(row, column)
                                      : static_cast<std::int64_t>(window.rows * window.columns);
    pool_average(window, y, to_size(g.channels),
                 static_cast<float>(std::max<std::int64_t>(count, 1)));
  });
}

}  // namespace parallax
