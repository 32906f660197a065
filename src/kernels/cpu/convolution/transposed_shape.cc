#include "kernels/cpu/convolution/transposed_shape.h"

#include <algorithm>

#include "kernels/cpu/tiles.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr double kMaxElements = 2147483647.0;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool is_f32(const TensorDesc& tensor) { return tensor.dtype == DType::kF32; }

/// Largest size: kernels compute offsets without overflow checks.
bool within_limits(const TransposedShape& shape) {
  double x = static_cast<double>(shape.channels), y = static_cast<double>(shape.filters);
  double w = x * y;
  for (const TransposedAxis& axis : shape.axes) {
    for (const std::int64_t size :
         {axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin + 1})
      if (size < 1 || size > kMaxSize) return false;
    x *= static_cast<double>(axis.in);
    y *= static_cast<double>(axis.out);
    w *= static_cast<double>(axis.kernel);
  }
  const auto groups = static_cast<double>(shape.groups);
  return std::max({x * groups, y * groups, w * groups}) < kMaxElements;
}

}  // namespace

TileRange TransposedAxis::reached_by(TileRange outputs) const {
  const std::int64_t first = outputs.begin + pad_begin - (kernel - 1) * dilation;
  const std::int64_t begin = std::clamp<std::int64_t>(-floor_of(-first, stride), 0, in);
  const std::int64_t end = floor_of(outputs.end - 1 + pad_begin, stride) + 1;
  return {begin, std::clamp(end, begin, in)};
}

std::optional<TransposedShape> transposed_shape(const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0];
  const TensorDesc& w = request.inputs[1];
  const int rank = x.dims.rank();
  if (!is_f32(x) || !is_f32(w) || w.data == nullptr || rank < 3 || rank > 5) return std::nullopt;
  if (x.elements() == 0 || w.elements() == 0 || request.outputs[0].elements() == 0)
    return std::nullopt;
  const ImageStrides from = image_strides(x.dims, request.node);
  const ImageStrides to = image_strides(request.outputs[0].dims, request.node);
  const Dims kernel(w.dims.span().subspan(2));
  const WindowAxes windows =
      transposed_window_axes(request.node, from.spatial, to.spatial, kernel.span());
  TransposedShape shape;
  shape.batch = from.batch;
  shape.groups = groups_of(request.node);
  if (from.channels != w.dims[0] || w.dims[0] % shape.groups != 0 ||
      to.channels != w.dims[1] * shape.groups)
    return std::nullopt;
  shape.channels = from.channels / shape.groups;
  shape.filters = w.dims[1];
  shape.nhwc = channels_last(request.node);
  const int axes = rank - 2;
  for (int i = 0; i < axes; ++i) {
    const WindowAxis& window = windows[static_cast<std::size_t>(i)];
    shape.axes[static_cast<std::size_t>(i + 3 - axes)] = {
        window.out, window.in, window.kernel, window.stride, window.dilation, window.pad_begin};
  }
  return within_limits(shape) ? std::optional(shape) : std::nullopt;
}

TransposedCut cut_transposed(const TransposedShape& shape, std::int64_t width, std::int64_t macs,
                             const Machine& machine) {
  const TransposedAxis &rows = shape.rows(), &columns = shape.columns();
  const double all = static_cast<double>(rows.in * columns.in) * static_cast<double>(macs);
  const auto tiles = static_cast<double>(kSmallNodeTiles);
  const auto most = static_cast<std::int64_t>(std::clamp(
      all / tiles, static_cast<double>(kBlockTileMacs) / tiles, static_cast<double>(kMaxTileMacs)));
  const std::int64_t pixels =
      std::max<std::int64_t>(std::min(machine.results() / width, most / macs), 1);
  TransposedCut cut;
  const std::int64_t lines = std::clamp<std::int64_t>(pixels / columns.in, 1, rows.in);
  cut.rows = std::min(lines * rows.stride, rows.out);
  cut.columns = columns.out;
  // Shorter segments of a line would repeat too many of the products at their ends.
  const std::int64_t least = std::max<std::int64_t>(kTileGranule, 4 * columns.kernel);
  if (lines == 1 && pixels < columns.in)
    cut.columns = std::min(std::max(pixels, least) * columns.stride, columns.out);
  cut.row_blocks = tile_count(rows.out, cut.rows);
  if (shape.batch == 1 && cut.columns == columns.out) {
    cut.row_blocks = even_tiles(cut.row_blocks, tile_count(rows.out, rows.stride));
    cut.rows = std::min(rounded_up(tile_count(rows.out, cut.row_blocks), rows.stride), rows.out);
    cut.row_blocks = tile_count(rows.out, cut.rows);
  }
  cut.column_blocks = tile_count(columns.out, cut.columns);
  const auto reach = [](const TransposedAxis& axis, std::int64_t outputs) {
    const std::int64_t most_of = (outputs - 1 + (axis.kernel - 1) * axis.dilation) / axis.stride;
    return std::min(axis.in, most_of + 1);
  };
  cut.pixels = reach(rows, cut.rows) * reach(columns, cut.columns);
  return cut;
}

}  // namespace parallax
