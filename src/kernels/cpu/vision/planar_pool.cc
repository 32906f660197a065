// MaxPool and AveragePool of f32 NCHW images with one to three spatial axes. The lines that a line
// of the result sees are folded into one first, then its columns, which are separated by their
// remainder modulo the stride so that the windows' columns lie side by side.
#include <algorithm>
#include <limits>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/pool_loops.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Columns of a line with its padding, as multiples of the image's: more are left to the reference.
constexpr std::int64_t kMaxPadding = 4;

struct PlanarPool {
  WindowAxis planes, rows, columns;
  std::int64_t images = 0;  ///< planes or volumes: batch times channels
  bool largest = false, count_pads = false;
  std::int64_t length = 0;  ///< columns with one remainder, padding included

  std::int64_t volume_in() const { return planes.in * rows.in * columns.in; }
  std::int64_t lines() const { return images * planes.out * rows.out; }
  std::int64_t phases() const { return columns.stride; }
  float start() const { return largest ? -std::numeric_limits<float>::infinity() : 0.0F; }
};

TileRange counted(const WindowAxis& axis, std::int64_t o, bool pads) {
  return pads ? axis.taps(o, -axis.pad_begin, axis.in + axis.pad_end) : axis.taps(o, 0, axis.in);
}
std::int64_t length_of(TileRange range) { return range.end - range.begin; }

std::optional<PlanarPool> planar_pool(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  const auto kernel = params_of<WindowParams>(request.node).kernel_shape;
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  if (request.inputs[0].dtype != DType::kF32 || x.rank() < 3 || x.rank() > 5 ||
      kernel.size() != axes || channels_last(request.node))
    return std::nullopt;
  if (request.outputs.size() > 1 && request.outputs[1].present) return std::nullopt;
  if (request.outputs[0].elements() == 0 || request.inputs[0].elements() == 0) return std::nullopt;
  const ImageStrides in = image_strides(x, request.node);
  const ImageStrides out = image_strides(request.outputs[0].dims, request.node);
  const WindowAxes windows = window_axes(request.node, in.spatial, out.spatial, kernel);
  PlanarPool pool;
  pool.planes = pool.rows = {.in = 1, .out = 1};
  pool.columns = windows[axes - 1];
  if (axes > 1) pool.rows = windows[axes - 2];
  if (axes > 2) pool.planes = windows[axes - 3];
  pool.images = in.batch * in.channels;
  pool.largest = request.node.op == OpKind::kMaxPool;
  pool.count_pads = params_of<AveragePoolParams>(request.node).count_include_pad;
  const WindowAxis& c = pool.columns;
  const std::int64_t all = (c.out - 1) * c.stride + (c.kernel - 1) * c.dilation + 1;
  if (std::max(all, c.pad_begin + c.in) > kMaxPadding * (c.in + kTileGranule)) return std::nullopt;
  if (c.stride > c.in) return std::nullopt;
  pool.length = tile_count(std::max(all, c.pad_begin + c.in), c.stride);
  return pool;
}

/// Folds the lines of the window at (plane, row) into `line`; returns how many count.
std::int64_t fold_lines_of(const PlanarPool& pool, const float* image, std::int64_t plane,
                           std::int64_t row, float* line) {
  const std::int64_t width = pool.columns.in;
  const TileRange z = counted(pool.planes, plane, false), y = counted(pool.rows, row, false);
  std::fill_n(line, width, pool.start());
  for (std::int64_t i = z.begin; i < z.end; ++i) {
    const std::int64_t at =
        plane * pool.planes.stride - pool.planes.pad_begin + i * pool.planes.dilation;
    for (std::int64_t j = y.begin; j < y.end; ++j) {
      const std::int64_t from =
          row * pool.rows.stride - pool.rows.pad_begin + j * pool.rows.dilation;
      const float* const x = image + (at * pool.rows.in + from) * width;
      (pool.largest ? take_larger : take_sum)(x, line, to_size(width));
    }
  }
  return length_of(counted(pool.planes, plane, pool.count_pads)) *
         length_of(counted(pool.rows, row, pool.count_pads));
}

/// Separates the columns of a line by their remainder, with padding before and after them.
void take_apart(const PlanarPool& pool, const float* line, float* parts) {
  const WindowAxis& c = pool.columns;
  std::fill_n(parts, pool.phases() * pool.length, pool.start());
  if (c.stride == 1) {
    std::copy_n(line, c.in, parts + c.pad_begin);
    return;
  }
  for (std::int64_t p = 0; p < c.stride; ++p) {
    const std::int64_t first = ((p - c.pad_begin) % c.stride + c.stride) % c.stride;
    float* to = parts + p * pool.length + (first + c.pad_begin) / c.stride;
    for (std::int64_t x = first; x < c.in; x += c.stride) *to++ = line[x];
  }
}

/// Computes one line of the result.
void pool_line(const PlanarPool& pool, const float* image, std::int64_t plane, std::int64_t row,
               float* scratch, float* y) {
  const WindowAxis& c = pool.columns;
  float* const parts = scratch + rounded_up(c.in, kLineFloats);
  const std::int64_t lines = fold_lines_of(pool, image, plane, row, scratch);
  take_apart(pool, scratch, parts);
  std::fill_n(y, c.out, pool.start());
  for (std::int64_t k = 0; k < c.kernel; ++k) {
    const std::int64_t at = k * c.dilation;
    const float* const x = parts + at % c.stride * pool.length + at / c.stride;
    (pool.largest ? take_larger : take_sum)(x, y, to_size(c.out));
  }
  if (pool.largest) return;
  for (std::int64_t o = 0; o < c.out; ++o) {
    const std::int64_t count = lines * length_of(counted(c, o, pool.count_pads));
    y[o] /= static_cast<float>(std::max<std::int64_t>(count, 1));
  }
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_planar_pool(const KernelRequest& request) {
  const auto pool = planar_pool(request);
  if (!pool) return not_covered();
  const std::int64_t work = pool->columns.in * std::min(pool->planes.kernel, pool->planes.in) *
                                std::min(pool->rows.kernel, pool->rows.in) +
                            pool->columns.out * pool->columns.kernel;
  LambdaKernelOptions options;
  options.tiles = count_tiles(pool->lines(), work, kTileElements * 2);
  options.scratch_bytes =
      (rounded_up(pool->columns.in, kLineFloats) + pool->phases() * pool->length) * kFloatBytes;
  return tiled_kernel(
      options,
      [pool = *pool, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(pool.lines(), tiles, tile);
        for (std::int64_t line = begin; line < end; ++line) {
          const std::int64_t row = line % pool.rows.out,
                             plane = line / pool.rows.out % pool.planes.out;
          const std::int64_t image = line / pool.rows.out / pool.planes.out;
          pool_line(pool, args.in<float>(0) + image * pool.volume_in(), plane, row,
                    reinterpret_cast<float*>(args.scratch.data()),
                    args.out<float>() + line * pool.columns.out);
        }
        return {};
      });
}

}  // namespace parallax
