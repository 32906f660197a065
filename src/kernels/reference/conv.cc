// Conv with any number of spatial axes, groups, dilations and both layouts. A unit of work is one
// row of one filter's output, along the last spatial axis: it is summed in scratch over channels
// and taps in a fixed order.
#include <fmt/core.h>

#include "kernels/reference/activation.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

struct ConvShape {
  ImageStrides x, y;
  WindowAxes axes;
  Dims kernel;
  std::int64_t group_channels = 0, group_filters = 0;

  int last() const { return x.spatial.rank() - 1; }
  /// Output positions of all spatial axes but the last.
  std::int64_t outer_positions() const { return count_of(y.spatial, 0, last()); }
  std::int64_t outer_taps() const { return count_of(kernel, 0, last()); }
  std::int64_t row() const { return y.spatial[last()]; }
};

/// Returns the offset in x of the image row that outer tap `tap` reads for outer position `o`; -1
/// if it lies in the padding.
std::int64_t row_offset(const ConvShape& shape, const Dims& o, std::int64_t tap) {
  const Dims k = outer_index(shape.kernel, tap);
  std::int64_t offset = 0;
  for (int i = 0; i < shape.last(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const WindowAxis& axis = shape.axes[at];
    const std::int64_t in = o[i] * axis.stride + k[i] * axis.dilation - axis.pad_begin;
    if (in < 0 || in >= axis.in) return -1;
    offset += in * shape.x.spatial_strides[at];
  }
  return offset;
}

/// sums[o] += w * x[o * step] for `count` neighbours.
template <class T>
void add_products(T w, const T* x, std::int64_t step, std::int64_t count, T* __restrict sums) {
  if (step == 1) {
    for (std::int64_t o = 0; o < count; ++o) sums[o] += w * x[o];
  } else {
    for (std::int64_t o = 0; o < count; ++o) sums[o] += w * x[o * step];
  }
}

/// Adds one channel's part: `x` is its plane, `w` its taps.
template <class T>
void add_channel(const ConvShape& shape, const Dims& o, const T* x, const T* w, T* sums) {
  const auto last = static_cast<std::size_t>(shape.last());
  const WindowAxis& axis = shape.axes[last];
  const std::int64_t x_step = shape.x.spatial_strides[last];
  for (std::int64_t tap = 0; tap < shape.outer_taps(); ++tap, w += axis.kernel) {
    const std::int64_t offset = row_offset(shape, o, tap);
    if (offset < 0) continue;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const TileRange range = axis.positions(k);
      if (range.begin == range.end) continue;
      const std::int64_t first = range.begin * axis.stride + k * axis.dilation - axis.pad_begin;
      add_products(w[k], x + offset + first * x_step, axis.stride * x_step, range.end - range.begin,
                   sums + range.begin);
    }
  }
}

/// Changes of complete sums, in this order.
struct ConvEpilogue {
  bool bias, residual;
  Activation activation;
};

/// Row `position` of filter `m` of image `n`.
template <class T>
void compute_row(const ConvShape& shape, std::int64_t n, std::int64_t position, std::int64_t m,
                 const KernelArgs& args, const ConvEpilogue& epilogue) {
  T* sums = reinterpret_cast<T*>(args.scratch.data());
  const std::int64_t row = shape.row();
  std::fill_n(sums, row, T{0});
  const Dims o = outer_index(shape.y.spatial, position);
  const std::int64_t first_channel = m / shape.group_filters * shape.group_channels;
  const std::int64_t taps = shape.outer_taps() * shape.kernel[shape.last()];
  for (std::int64_t c = 0; c < shape.group_channels; ++c) {
    const T* x =
        args.in<T>(0) + n * shape.x.batch_stride + (first_channel + c) * shape.x.channel_stride;
    add_channel(shape, o, x, args.in<T>(1) + (m * shape.group_channels + c) * taps, sums);
  }
  const T bias = epilogue.bias ? args.in<T>(2)[m] : T{0};
  std::int64_t at = n * shape.y.batch_stride + m * shape.y.channel_stride;
  for (int i = 0; i < shape.last(); ++i)
    at += o[i] * shape.y.spatial_strides[static_cast<std::size_t>(i)];
  const std::int64_t step = shape.y.spatial_strides[static_cast<std::size_t>(shape.last())];
  const T* residual = epilogue.residual ? args.in<T>(kConvResidual) + at : nullptr;
  T* y = args.out<T>() + at;
  for (std::int64_t i = 0; i < row; ++i) {
    T sum = sums[i] + bias;
    if (residual != nullptr) sum += residual[i * step];
    y[i * step] = activate_as(epilogue.activation, sum);
  }
}

}  // namespace

KernelResult reference_conv(const KernelRequest& request) {
  const Node& node = request.node;
  const Dims& w = request.inputs[1].dims;
  ConvShape shape;
  shape.x = image_strides(request.inputs[0].dims, node);
  shape.y = image_strides(request.outputs[0].dims, node);
  shape.kernel = Dims(w.span().subspan(2));
  shape.axes = window_axes(node, shape.x.spatial, shape.y.spatial, shape.kernel.span());
  const std::int64_t group = groups_of(node);
  shape.group_channels = w[1];
  shape.group_filters = std::max<std::int64_t>(w[0] / group, 1);
  if (shape.x.channels != w[1] * group || shape.y.channels != w[0] || w[0] % group != 0) {
    return make_error(ErrorCode::kInvalidInput,
                      fmt::format("weight {} and group {} do not fit {} channels", w.to_string(),
                                  group, shape.x.channels));
  }
  const ConvEpilogue epilogue{request.has(2), request.has(kConvResidual), node.epilogue.activation};
  const std::int64_t positions = shape.outer_positions(), filters = shape.y.channels;
  const std::int64_t units =
      request.outputs[0].elements() == 0 ? 0 : shape.y.batch * positions * filters;
  const std::int64_t unit_macs = shape.row() * count_of(w, 1, w.rank());
  const std::int64_t tiles = tile_count(
      units, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(unit_macs, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const LambdaKernelOptions options{
        .tiles = tiles, .scratch_bytes = shape.row() * static_cast<std::int64_t>(sizeof(T))};
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      const TileRange range = tile_range(units, tiles, tile);
      for (std::int64_t u = range.begin; u < range.end; ++u) {
        const std::int64_t n = u / filters / positions;
        compute_row<T>(shape, n, u / filters % positions, u % filters, args, epilogue);
      }
      return {};
    });
  });
}

}  // namespace parallax
