// Resize of f32 along two neighbouring axes (the rows and columns of images in either layout) with
// any filter: rows are blended into one, then its pixels.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/resize_inputs.h"
#include "kernels/table_bytes.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Taps that are kept at plan time; images have some thousands of rows.
constexpr std::int64_t kMaxKeptTaps = std::int64_t{1} << 22;

struct FilterTap {
  std::int64_t index = 0;
  float weight = 0;
};

/// The taps of each position of an axis, `count` each.
struct AxisFilter {
  std::int64_t count = 0;
  std::vector<FilterTap> taps;

  const FilterTap* at(std::int64_t i) const { return taps.data() + i * count; }
};

/// Computes the taps of an axis. Returns nullopt if there are too many, or a position lies outside.
std::optional<AxisFilter> axis_filter(const ResizeShape& shape, int axis,
                                      const ResizeInputs& inputs) {
  const auto span = resize_span(shape, axis, inputs);
  AxisFilter filter;
  filter.count = resize_tap_count(shape, axis);
  if (!span || shape.out[axis] > kMaxKeptTaps / filter.count) return std::nullopt;
  std::vector<ResizeTap> taps(to_size(filter.count));
  filter.taps.reserve(to_size(shape.out[axis] * filter.count));
  for (std::int64_t i = 0; i < shape.out[axis]; ++i) {
    const auto inside = resize_taps(shape, axis, i, *span, taps);
    if (!inside || !*inside) return std::nullopt;
    for (const ResizeTap& tap : taps)
      filter.taps.push_back({tap.index, static_cast<float>(tap.weight)});
  }
  return filter;
}

/// Returns true if each position of the axis is the same position of the input.
bool stays(const ResizeShape& shape, int axis, const ResizeInputs& inputs) {
  const auto span = resize_span(shape, axis, inputs);
  return span && shape.in[axis] == shape.out[axis] && span->scale.above == span->scale.below &&
         span->start == 0 && span->end == 1;
}

/// The tensor as [outer, rows, columns, channels], and the taps of its rows and columns.
struct FilteredImages {
  std::int64_t outer = 1, rows_in = 1, columns_in = 1, rows = 1, columns = 1, channels = 1;
  AxisFilter row, column;
};

// Plain loops: the compiler vectorizes them.
void add_weighted(const float* x, float weight, float* __restrict y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += x[i] * weight;
}

/// Computes the weighted sum of `count` pieces of `n` elements, `stride` apart.
void blend_taps(const float* x, std::int64_t stride, const FilterTap* taps, std::int64_t count,
                float* y, std::size_t n) {
  std::fill_n(y, n, 0.0F);
  for (std::int64_t k = 0; k < count; ++k)
    if (taps[k].weight != 0.0F) add_weighted(x + taps[k].index * stride, taps[k].weight, y, n);
}

void blend_columns(const FilteredImages& images, const float* row, float* y) {
  const AxisFilter& filter = images.column;
  if (images.channels > 1) {
    for (std::int64_t i = 0; i < images.columns; ++i, y += images.channels)
      blend_taps(row, images.channels, filter.at(i), filter.count, y, to_size(images.channels));
    return;
  }
  for (std::int64_t i = 0; i < images.columns; ++i) {
    const FilterTap* taps = filter.at(i);
    float sum = 0;
    for (std::int64_t k = 0; k < filter.count; ++k)
      if (taps[k].weight != 0.0F) sum += row[taps[k].index] * taps[k].weight;
    y[i] = sum;
  }
}

/// Returns the tensor as images; nullopt if axes other than rows and columns change, or if inputs
/// are not known at plan time.
std::optional<FilteredImages> filtered_images(const KernelRequest& request,
                                              const ResizeShape& shape) {
  const auto known = known_resize_inputs(request, shape);
  if (!known) return std::nullopt;
  const ResizeInputs& inputs = *known;
  const bool nhwc = channels_last(request.node);
  const int row_axis = shape.in.rank() - (nhwc ? 3 : 2);
  if (row_axis < 0) return std::nullopt;
  FilteredImages images;
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const bool spatial = axis == row_axis || axis == row_axis + 1;
    if (!spatial && !stays(shape, axis, inputs)) return std::nullopt;
    if (axis < row_axis) images.outer *= shape.in[axis];
    if (axis > row_axis + 1) images.channels *= shape.in[axis];
  }
  images.rows_in = shape.in[row_axis];
  images.rows = shape.out[row_axis];
  images.columns_in = shape.in[row_axis + 1];
  images.columns = shape.out[row_axis + 1];
  auto row = axis_filter(shape, row_axis, inputs);
  auto column = axis_filter(shape, row_axis + 1, inputs);
  if (!row || !column) return std::nullopt;
  images.row = *std::move(row);
  images.column = *std::move(column);
  return images;
}

}  // namespace

std::optional<ResizeInputs> known_resize_inputs(const KernelRequest& request,
                                                const ResizeShape& shape) {
  const auto bytes = [&](std::size_t i) {
    return request.has(i) && request.inputs[i].elements() > 0 ? request.inputs[i].data : nullptr;
  };
  const bool by_scales = resized_by_scales(request);
  const bool crops = shape.coordinates == ResizeCoordinates::kCrop;
  const ResizeInputs inputs{crops ? bytes(1) : nullptr,
                            crops ? request.inputs[1].dtype : DType::kF32,
                            by_scales ? bytes(2) : nullptr, by_scales ? nullptr : bytes(3)};
  if (crops && inputs.region == nullptr) return std::nullopt;
  if (by_scales ? inputs.scales == nullptr
                : shape.policy != ResizePolicy::kStretch && inputs.sizes == nullptr)
    return std::nullopt;
  return inputs;
}

Result<std::unique_ptr<Kernel>> cpu_resize_filter(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (shape.mode == ResizeMode::kNearest || request.inputs[0].dtype != DType::kF32 ||
      shape.in.rank() < 2)
    return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  auto images = filtered_images(request, shape);
  if (!images) return not_covered();
  const std::int64_t row_in = images->columns_in * images->channels;
  const std::int64_t row_out = images->columns * images->channels;
  const std::int64_t all_rows = images->outer * images->rows;
  LambdaKernelOptions options;
  options.tiles = count_tiles(all_rows, row_out * images->column.count + row_in * images->row.count,
                              kTileElements);
  options.scratch_bytes = row_in * kFloatBytes;
  options.unused_inputs = 0b1110;
  options.table_bytes = bytes_of_table(images->row.taps) + bytes_of_table(images->column.taps);
  return tiled_kernel(options,
                      [=, images = *std::move(images), tiles = options.tiles](
                          std::int64_t tile, const KernelArgs& args) -> Status {
                        auto* const blended = reinterpret_cast<float*>(args.scratch.data());
                        const auto [begin, end] = tile_range(all_rows, tiles, tile);
                        for (std::int64_t i = begin; i < end; ++i) {
                          const float* image =
                              args.in<float>(0) + i / images.rows * images.rows_in * row_in;
                          blend_taps(image, row_in, images.row.at(i % images.rows),
                                     images.row.count, blended, to_size(row_in));
                          blend_columns(images, blended, args.out<float>() + i * row_out);
                        }
                        return {};
                      });
}

}  // namespace parallax
