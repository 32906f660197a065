// Resize, linear, of f32 along two neighbouring axes (the rows and columns of images in either
// layout): two rows are blended into one, then its pixels.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cpu/tiles.h"
#include "kernels/reference/resize_source.h"
#include "kernels/table_bytes.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Positions that are kept at plan time; images have some thousands of rows.
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 20;

/// The tensor as [outer, rows, columns, channels].
struct Images {
  std::int64_t outer = 1, rows_in = 1, columns_in = 1, rows = 1, columns = 1, channels = 1;
};

/// Returns the tensor as images; nullopt if axes other than rows and columns change as well.
std::optional<Images> images_of(const ResizeShape& shape, int row_axis) {
  Images images;
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const bool spatial = axis == row_axis || axis == row_axis + 1;
    if (!spatial && shape.in[axis] != shape.out[axis]) return std::nullopt;
    if (axis < row_axis) images.outer *= shape.in[axis];
    if (axis > row_axis + 1) images.channels *= shape.in[axis];
  }
  images.rows_in = shape.in[row_axis];
  images.rows = shape.out[row_axis];
  images.columns_in = shape.in[row_axis + 1];
  images.columns = shape.out[row_axis + 1];
  return images;
}

std::vector<ResizeSource> sources(const ResizeShape& shape, int axis, ResizeScale scale) {
  std::vector<ResizeSource> result;
  result.reserve(to_size(shape.out[axis]));
  for (std::int64_t i = 0; i < shape.out[axis]; ++i)
    result.push_back(resize_source(shape, axis, i, scale));
  return result;
}

// Plain loops: the compiler vectorizes them, and most of the cost is moving bytes.
inline void blend(const float* a, const float* b, float fraction, float* __restrict y,
                  std::size_t n) {
  const float rest = 1.0F - fraction;
  for (std::size_t i = 0; i < n; ++i) y[i] = a[i] * rest + b[i] * fraction;
}

/// Pixels of kChannels channels: the loop over them is unrolled.
template <std::size_t kChannels>
void stretch_pixels(const float* row, const std::vector<ResizeSource>& columns, float* y) {
  for (const ResizeSource& source : columns) {
    const float* a = row + to_size(source.low) * kChannels;
    if (source.fraction == 0.0F) {
      std::copy_n(a, kChannels, y);
    } else {
      blend(a, a + kChannels, source.fraction, y, kChannels);
    }
    y += kChannels;
  }
}

void stretch(const float* row, const std::vector<ResizeSource>& columns, std::size_t channels,
             float* y) {
  switch (channels) {
    case 1:
      return stretch_pixels<1>(row, columns, y);
    case 3:
      return stretch_pixels<3>(row, columns, y);
    case 4:
      return stretch_pixels<4>(row, columns, y);
    case 8:
      return stretch_pixels<8>(row, columns, y);
    case 16:
      return stretch_pixels<16>(row, columns, y);
    default:
      break;
  }
  for (const ResizeSource& source : columns) {
    const float* a = row + to_size(source.low) * channels;
    if (source.fraction == 0.0F) {
      std::copy_n(a, channels, y);
    } else {
      blend(a, a + channels, source.fraction, y, channels);
    }
    y += channels;
  }
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_resize_linear(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (!shape.linear() || !shape.is_plain() || request.inputs[0].dtype != DType::kF32 ||
      shape.in.rank() < 2)
    return not_covered();
  const bool nhwc = channels_last(request.node);
  const int row_axis = shape.in.rank() - (nhwc ? 3 : 2);
  if (row_axis < 0) return not_covered();
  const bool by_scales = resized_by_scales(request);
  const std::byte* const scales = by_scales ? request.inputs[2].data : nullptr;
  if (by_scales && scales == nullptr) return not_covered();
  const auto images = images_of(shape, row_axis);
  if (!images) return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  if (images->rows > kMaxPositions || images->columns > kMaxPositions) return not_covered();
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const ResizeScale scale = resize_scale(shape, axis, scales, by_scales);
    // A scale other than 1 moves the elements of an axis even if its size stays.
    const bool spatial = axis == row_axis || axis == row_axis + 1;
    if (!(scale.above > 0.0F) || (!spatial && scale.above != scale.below)) return not_covered();
  }
  const auto rows = sources(shape, row_axis, resize_scale(shape, row_axis, scales, by_scales));
  const auto columns =
      sources(shape, row_axis + 1, resize_scale(shape, row_axis + 1, scales, by_scales));
  const std::int64_t row_in = images->columns_in * images->channels;
  const std::int64_t row_out = images->columns * images->channels;
  const std::int64_t all_rows = images->outer * images->rows;
  LambdaKernelOptions options;
  options.tiles = count_tiles(all_rows, row_out, kTileElements);
  options.scratch_bytes = row_in * static_cast<std::int64_t>(sizeof(float));
  options.unused_inputs = 0b1110;
  options.table_bytes = bytes_of_table(rows) + bytes_of_table(columns);
  return tiled_kernel(
      options,
      [=, images = *images, tiles = options.tiles](std::int64_t tile,
                                                   const KernelArgs& args) -> Status {
        auto* blended = reinterpret_cast<float*>(args.scratch.data());
        const auto [begin, end] = tile_range(all_rows, tiles, tile);
        for (std::int64_t i = begin; i < end; ++i) {
          const ResizeSource& source = rows[to_size(i % images.rows)];
          const float* row =
              args.in<float>(0) + (i / images.rows * images.rows_in + source.low) * row_in;
          if (source.fraction != 0.0F) {
            blend(row, row + row_in, source.fraction, blended, to_size(row_in));
            row = blended;
          }
          stretch(row, columns, to_size(images.channels), args.out<float>() + i * row_out);
        }
        return {};
      });
}

}  // namespace parallax
