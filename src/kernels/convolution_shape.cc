#include "kernels/convolution_shape.h"

#include <algorithm>

#include "ops/params/window.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr double kMaxElements = 2147483647.0;

bool takes(const KernelRequest& request, int most_rank) {
  if (request.inputs.size() < 2 || request.outputs.size() != 1) return false;
  const TensorDesc& x = request.inputs[0];
  const TensorDesc& w = request.inputs[1];
  const bool integers = request.node.op == OpKind::kConvInteger;
  const DTypeSet types = integers ? kByteIntegers : dtype_bit(DType::kF32);
  if (!contains(types, x.dtype) || !contains(types, w.dtype) || w.data == nullptr) return false;
  if (!integers && request.has(2) &&
      (request.inputs[2].dtype != DType::kF32 || !request.inputs[2].data)) {
    return false;
  }
  const int rank = x.dims.rank();
  if (rank < 3 || rank > most_rank) return false;
  if (w.dims.rank() != rank || request.outputs[0].dims.rank() != rank) return false;
  return x.elements() > 0 && w.elements() > 0 && request.outputs[0].elements() > 0;
}

/// Returns whether offsets cannot overflow, and no window lies in the padding wholly: kernels rely
/// on both without checks.
bool within_limits(const ConvolutionShape& shape) {
  if (shape.groups < 1 || shape.in_channels % shape.groups != 0) return false;
  if (shape.in_channels > kMaxSize || shape.out_channels > kMaxSize) return false;
  double x = static_cast<double>(shape.in_channels);
  double y = static_cast<double>(shape.out_channels);
  for (const int axis : {0, 1}) {
    const auto a = static_cast<std::size_t>(axis);
    for (const auto& sizes : {shape.in, shape.out, shape.kernel, shape.stride, shape.dilation}) {
      if (sizes[a] < 1 || sizes[a] > kMaxSize) return false;
    }
    const std::int64_t extent = shape.extent(axis);
    if (shape.pad_begin[a] < 0 || shape.pad_begin[a] >= extent) return false;
    if (shape.pad_end(axis, shape.out[a]) >= extent) return false;
    x *= static_cast<double>(shape.in[a]);
    y *= static_cast<double>(shape.out[a]);
  }
  const ConvolutionAxis& planes = shape.planes;
  for (const std::int64_t size :
       {planes.in, planes.out, planes.kernel, planes.stride, planes.dilation}) {
    if (size < 1 || size > kMaxSize) return false;
  }
  if (planes.pad_begin < 0 || planes.pad_begin > kMaxSize) return false;
  x *= static_cast<double>(planes.in);
  y *= static_cast<double>(planes.out);
  return x < kMaxElements && y < kMaxElements;
}

}  // namespace

std::int64_t ConvolutionShape::extent(int axis) const {
  const auto a = static_cast<std::size_t>(axis);
  return (kernel[a] - 1) * dilation[a] + 1;
}

std::int64_t ConvolutionShape::pad_end(int axis, std::int64_t out_end) const {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t in_end = (out_end - 1) * stride[a] - pad_begin[a] + extent(axis);
  return std::max<std::int64_t>(0, in_end - in[a]);
}

TileRange ConvolutionShape::taps_inside(int axis, std::int64_t at) const {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t first = at * stride[a] - pad_begin[a];
  const std::int64_t begin = first >= 0 ? 0 : std::min(tile_count(-first, dilation[a]), kernel[a]);
  const std::int64_t left = std::max<std::int64_t>(in[a] - first, 0);
  return {begin, std::clamp(tile_count(left, dilation[a]), begin, kernel[a])};
}

TileRange ConvolutionShape::rows_read(TileRange rows) const {
  const std::int64_t first = rows.begin * stride[0] - pad_begin[0];
  const std::int64_t end = (rows.end - 1) * stride[0] - pad_begin[0] + extent(0);
  const std::int64_t begin = std::clamp<std::int64_t>(first, 0, in[0]);
  return {begin, std::clamp(end, begin, in[0])};
}

namespace {

/// Returns the sizes of spatial axis `i`.
ConvolutionAxis axis_of(const KernelRequest& request, const ConvParams& params, int i) {
  const bool nhwc = params.layout == ImageLayout::kNhwc;
  const auto at_axis = static_cast<std::size_t>(i);
  ConvolutionAxis axis;
  axis.in = request.inputs[0].dims[i + (nhwc ? 1 : 2)];
  axis.out = request.outputs[0].dims[i + (nhwc ? 1 : 2)];
  axis.kernel = request.inputs[1].dims[i + 2];
  axis.stride = params.stride(at_axis);
  axis.dilation = params.dilation(at_axis);
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  const std::int64_t missing = (axis.out - 1) * axis.stride + extent - axis.in;
  const auto axes = static_cast<std::size_t>(request.inputs[0].dims.rank()) - 2;
  axis.pad_begin = params.padding(at_axis, axes, missing).begin;
  return axis;
}

std::optional<ConvolutionShape> shape_of(const KernelRequest& request, int most_rank) {
  if (!takes(request, most_rank)) return std::nullopt;
  const auto params = params_of<ConvParams>(request.node);
  const Dims& x = request.inputs[0].dims;
  const Dims& y = request.outputs[0].dims;
  ConvolutionShape shape;
  shape.nhwc = params.layout == ImageLayout::kNhwc;
  shape.groups = params.group;
  const int spatial = x.rank() - 2;
  shape.batch = x[0];
  shape.in_channels = x[shape.nhwc ? spatial + 1 : 1];
  shape.out_channels = y[shape.nhwc ? spatial + 1 : 1];
  shape.in = shape.out = shape.kernel = shape.stride = shape.dilation = {1, 1};
  for (int i = 0; i < spatial; ++i) {
    const ConvolutionAxis axis = axis_of(request, params, i);
    if (spatial - i > 2) {
      shape.planes = axis;
      continue;
    }
    const auto a = static_cast<std::size_t>(i + 2 - spatial);
    shape.in[a] = axis.in;
    shape.out[a] = axis.out;
    shape.kernel[a] = axis.kernel;
    shape.stride[a] = axis.stride;
    shape.dilation[a] = axis.dilation;
    shape.pad_begin[a] = axis.pad_begin;
  }
  if (!within_limits(shape)) return std::nullopt;
  return shape;
}

}  // namespace

std::optional<ConvolutionShape> convolution_shape(const KernelRequest& request) {
  return shape_of(request, 4);
}

std::optional<ConvolutionShape> volume_convolution_shape(const KernelRequest& request) {
  return shape_of(request, 5);
}

}  // namespace parallax
