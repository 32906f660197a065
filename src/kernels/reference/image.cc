#include "kernels/reference/image.h"

#include "ops/params/window.h"

namespace parallax {
namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}
std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return -floor_quotient(-a, b); }

}  // namespace

ImageStrides image_strides(const Dims& dims, const Node& node) {
  const bool nhwc = channels_last(node);
  const int axes = dims.rank() - 2;
  const auto channel = static_cast<std::size_t>(nhwc ? dims.rank() - 1 : 1);
  const Strides dense = row_major_strides(dims);
  ImageStrides image;
  image.batch = dims[0];
  image.channels = dims[static_cast<int>(channel)];
  image.batch_stride = dense[0];
  image.channel_stride = dense[channel];
  for (int i = 0; i < axes; ++i) {
    const int axis = i + (nhwc ? 1 : 2);
    image.spatial.push_back(dims[axis]);
    image.spatial_strides[static_cast<std::size_t>(i)] = dense[static_cast<std::size_t>(axis)];
  }
  return image;
}

TileRange WindowAxis::taps(std::int64_t o, std::int64_t low, std::int64_t high) const {
  const std::int64_t first = o * stride - pad_begin;  // input position of tap 0
  const std::int64_t begin = std::max<std::int64_t>(ceil_quotient(low - first, dilation), 0);
  const std::int64_t end = std::min(floor_quotient(high - 1 - first, dilation) + 1, kernel);
  return {begin, std::max(begin, end)};
}

TileRange WindowAxis::positions(std::int64_t k) const {
  const std::int64_t first = k * dilation - pad_begin;  // input position of tap k for output 0
  const std::int64_t begin = std::max<std::int64_t>(ceil_quotient(-first, stride), 0);
  const std::int64_t end = std::min(floor_quotient(in - 1 - first, stride) + 1, out);
  return {begin, std::max(begin, end)};
}

WindowAxes window_axes(const Node& node, const Dims& in, const Dims& out,
                       std::span<const std::int64_t> kernel) {
  const auto params = params_of<WindowParams>(node);
  const auto count = static_cast<std::size_t>(in.rank());
  WindowAxes axes;
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    axis.in = in[static_cast<int>(i)];
    axis.out = out[static_cast<int>(i)];
    axis.kernel = kernel[i];
    axis.stride = params.stride(i);
    axis.dilation = params.dilation(i);
    const std::int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    const Padding padding = params.padding(i, count, reach - axis.in);
    axis.pad_begin = padding.begin;
    axis.pad_end = padding.end;
  }
  return axes;
}

WindowAxes transposed_window_axes(const Node& node, const Dims& x, const Dims& y,
                                  std::span<const std::int64_t> kernel) {
  WindowAxes axes = window_axes(node, y, x, kernel);
  const auto params = params_of<ConvTransposeParams>(node);
  const auto& extra = params.output_padding;
  if (params.output_shape.empty() && !params.same()) return axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.rank()); ++i) {
    WindowAxis& axis = axes[i];
    const std::int64_t reach = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
    const std::int64_t total =
        std::max<std::int64_t>(reach + (i < extra.size() ? extra[i] : 0) - axis.in, 0);
    axis.pad_begin = params.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    axis.pad_end = total - axis.pad_begin;
  }
  return axes;
}

Dims outer_index(const Dims& dims, std::int64_t position) {
  Dims index = dims;
  for (int axis = dims.rank() - 2; axis >= 0; --axis) {
    index[axis] = position % dims[axis];
    position /= dims[axis];
  }
  return index;
}

}  // namespace parallax
