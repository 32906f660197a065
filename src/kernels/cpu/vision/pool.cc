// MaxPool and AveragePool of f32 NHWC images: all channels of a pixel together.
#include <algorithm>
#include <limits>

#include "base/checked.h"
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
  /// Returns how indices of the same pixels count, of an image without channels.
  PoolIndices indices(std::int64_t row, std::int64_t column, bool column_major) const {
    const std::int64_t y_step = column_major ? 1 : columns.in;
    const std::int64_t x_step = column_major ? rows.in : 1;
    const TileRange r = rows.taps(row, 0, rows.in), c = columns.taps(column, 0, columns.in);
    const std::int64_t y = row * rows.stride - rows.pad_begin + r.begin * rows.dilation;
    const std::int64_t x = column * columns.stride - columns.pad_begin + c.begin * columns.dilation;
    return {.first = static_cast<std::uint32_t>(y * y_step + x * x_step),
            .next = static_cast<std::uint32_t>(columns.stride * x_step),
            .row_step = static_cast<std::uint32_t>(rows.dilation * y_step),
            .column_step = static_cast<std::uint32_t>(columns.dilation * x_step),
            .channel_step = rows.in * columns.in};
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
  const WindowAxes axes = window_axes(request.node, {x[1], x[2]}, {y[1], y[2]}, kernel);
  return PoolGeometry{axes[0], axes[1], x[0], x[3]};
}

/// Pixels of one row of an image of the output.
struct PooledPixels {
  const float* image = nullptr;  ///< the image that is pooled
  std::int64_t batch = 0, row = 0;
  TileRange columns;
  std::int64_t at = 0;  ///< offset of the first element in the output
};

/// Calls pool(geometry, pixels, args) for all output pixels of a tile of rows: with all inner
/// columns of a row together, and with each of the others.
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
          PooledPixels pixels;
          pixels.batch = row / geometry.rows.out;
          pixels.row = row % geometry.rows.out;
          pixels.image = args.in<float>(0) + pixels.batch * image_elements;
          for (std::int64_t column = 0; column < geometry.columns.out;) {
            const bool together = column == inner.begin && inner.end > inner.begin;
            pixels.columns = {column, together ? inner.end : column + 1};
            pixels.at = row * row_elements + column * geometry.channels;
            pool(geometry, pixels, args);
            column = pixels.columns.end;
          }
        }
        return {};
      });
}

bool has_indices(const KernelRequest& request) {
  return request.outputs.size() > 1 && request.outputs[1].present;
}

/// Writes the maxima of pixels, and where they are.
Result<std::unique_ptr<Kernel>> indexed_pool(const KernelRequest& request,
                                             const PoolGeometry& geometry) {
  const auto plane = checked_mul(geometry.rows.in, geometry.columns.in);
  if (!plane || *plane > std::numeric_limits<std::uint32_t>::max()) return not_covered();
  const bool column_major = params_of<MaxPoolParams>(request.node).storage_order;
  return pool_kernel(geometry, [column_major](const PoolGeometry& g, const PooledPixels& pixels,
                                              const KernelArgs& args) {
    PoolIndices indices = g.indices(pixels.row, pixels.columns.begin, column_major);
    indices.start = pixels.batch * g.channels * indices.channel_step;
    pool_max_indexed(g.windows(pixels.image, pixels.row, pixels.columns), indices,
                     args.out<float>() + pixels.at, args.out<std::int64_t>(1) + pixels.at);
  });
}

}  // namespace

/// Creates the kernel of MaxPool of NHWC images, with or without indices.
Result<std::unique_ptr<Kernel>> cpu_max_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  if (has_indices(request)) return indexed_pool(request, *geometry);
  return pool_kernel(*geometry, [](const PoolGeometry& g, const PooledPixels& pixels,
                                   const KernelArgs& args) {
    pool_max(g.windows(pixels.image, pixels.row, pixels.columns), args.out<float>() + pixels.at);
  });
}

/// Creates the kernel of AveragePool of NHWC images.
Result<std::unique_ptr<Kernel>> cpu_average_pool(const KernelRequest& request) {
  const auto geometry = pool_geometry(request);
  if (!geometry) return not_covered();
  const bool padded = params_of<AveragePoolParams>(request.node).count_include_pad;
  return pool_kernel(*geometry, [padded](const PoolGeometry& g, const PooledPixels& pixels,
                                         const KernelArgs& args) {
    const PoolWindows windows = g.windows(pixels.image, pixels.row, pixels.columns);
    const std::int64_t taps = padded ? g.padded_taps(pixels.row, pixels.columns.begin)
                                     : static_cast<std::int64_t>(windows.rows * windows.columns);
    pool_average(windows, args.out<float>() + pixels.at,
                 static_cast<float>(std::max<std::int64_t>(taps, 1)));
  });
}

}  // namespace parallax
