// ConvTranspose with any number of spatial axes, groups, dilations and both layouts. A unit of work
// is one row of one filter's output, along the last spatial axis: what channels and taps add to it
// is summed in scratch, in double precision.
#include <fmt/core.h>

#include <optional>

#include "kernels/reference/activation.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

struct ConvTransposeShape {
  ImageStrides x, y;
  WindowAxes axes;  ///< windows of the convolution from y to x, which this one transposes
  Dims kernel;
  std::int64_t group_channels = 0, group_filters = 0;
  bool has_bias = false;
  Activation activation;

  int last() const { return x.spatial.rank() - 1; }
  std::int64_t outer_positions() const { return count_of(y.spatial, 0, last()); }
  std::int64_t outer_taps() const { return count_of(kernel, 0, last()); }
  std::int64_t row() const { return y.spatial[last()]; }
};

/// Returns the offset in x of the image row that outer tap `tap` adds to outer position `o` of the
/// result; nullopt if there is no such row.
std::optional<std::int64_t> spread_row(const ConvTransposeShape& shape, const Dims& o,
                                       std::int64_t tap) {
  const Dims k = outer_index(shape.kernel, tap);
  std::int64_t offset = 0;
  for (int i = 0; i < shape.last(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const WindowAxis& axis = shape.axes[at];
    const std::int64_t from = o[i] + axis.pad_begin - k[i] * axis.dilation;
    if (from < 0 || from % axis.stride != 0 || from / axis.stride >= axis.out) return std::nullopt;
    offset += from / axis.stride * shape.x.spatial_strides[at];
  }
  return offset;
}

/// Adds the contribution of one channel: `x` is its plane, `w` the taps of its filter.
template <class T>
void spread_channel(const ConvTransposeShape& shape, const Dims& o, const T* x, const T* w,
                    double* sums) {
  const auto last = static_cast<std::size_t>(shape.last());
  const WindowAxis& axis = shape.axes[last];
  const std::int64_t step = shape.x.spatial_strides[last];
  for (std::int64_t tap = 0; tap < shape.outer_taps(); ++tap, w += axis.kernel) {
    const auto offset = spread_row(shape, o, tap);
    if (!offset) continue;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const TileRange range = axis.positions(k);
      const auto weight = static_cast<double>(w[k]);
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        sums[i * axis.stride + k * axis.dilation - axis.pad_begin] +=
            weight * static_cast<double>(x[*offset + i * step]);
      }
    }
  }
}

/// Row `position` of filter `m` of image `n`.
template <class T>
void spread_into_row(const ConvTransposeShape& shape, std::int64_t n, std::int64_t position,
                     std::int64_t m, const KernelArgs& args) {
  auto* sums = reinterpret_cast<double*>(args.scratch.data());
  const std::int64_t row = shape.row();
  std::fill_n(sums, row, shape.has_bias ? static_cast<double>(args.in<T>(2)[m]) : 0.0);
  const Dims o = outer_index(shape.y.spatial, position);
  const std::int64_t first = m / shape.group_filters * shape.group_channels;
  const std::int64_t taps = shape.outer_taps() * shape.kernel[shape.last()];
  for (std::int64_t c = first; c < first + shape.group_channels; ++c) {
    const T* x = args.in<T>(0) + n * shape.x.batch_stride + c * shape.x.channel_stride;
    const T* w = args.in<T>(1) + (c * shape.group_filters + m % shape.group_filters) * taps;
    spread_channel(shape, o, x, w, sums);
  }
  T* y = args.out<T>() + n * shape.y.batch_stride + m * shape.y.channel_stride;
  for (int i = 0; i < shape.last(); ++i)
    y += o[i] * shape.y.spatial_strides[static_cast<std::size_t>(i)];
  const std::int64_t step = shape.y.spatial_strides[static_cast<std::size_t>(shape.last())];
  for (std::int64_t i = 0; i < row; ++i)
    y[i * step] = activate_as(shape.activation, static_cast<T>(sums[i]));
}

}  // namespace

KernelResult reference_conv_transpose(const KernelRequest& request) {
  const Node& node = request.node;
  const Dims& w = request.inputs[1].dims;
  ConvTransposeShape shape;
  shape.x = image_strides(request.inputs[0].dims, node);
  shape.y = image_strides(request.outputs[0].dims, node);
  shape.kernel = Dims(w.span().subspan(2));
  shape.axes = transposed_window_axes(node, shape.x.spatial, shape.y.spatial, shape.kernel.span());
  const std::int64_t group = groups_of(node);
  shape.group_channels = w[0] / group;
  shape.group_filters = w[1];
  shape.has_bias = request.has(2);
  shape.activation = node.epilogue.activation;
  if (shape.x.channels != w[0] || shape.y.channels != w[1] * group || w[0] % group != 0) {
    return make_error(ErrorCode::kInvalidInput,
                      fmt::format("weight {} and group {} do not fit {} channels", w.to_string(),
                                  group, shape.x.channels));
  }
  const std::int64_t positions = shape.outer_positions(), filters = shape.y.channels;
  const std::int64_t units =
      request.outputs[0].elements() == 0 ? 0 : shape.y.batch * positions * filters;
  const std::int64_t unit_macs = shape.row() * shape.group_channels * shape.kernel.elements();
  const std::int64_t tiles = tile_count(
      units, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(unit_macs, 1), 1));
  const LambdaKernelOptions options{
      .tiles = tiles,
      .scratch_bytes = units == 0 ? 0 : shape.row() * static_cast<std::int64_t>(sizeof(double))};
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      const TileRange range = tile_range(units, tiles, tile);
      for (std::int64_t u = range.begin; u < range.end; ++u) {
        spread_into_row<T>(shape, u / filters / positions, u / filters % positions, u % filters,
                           args);
      }
      return {};
    });
  });
}

}  // namespace parallax
