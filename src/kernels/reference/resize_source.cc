#include "kernels/reference/resize_source.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/common.h"

namespace parallax {
float resize_coordinate(ResizeCoordinates mode, std::int64_t i, std::int64_t in, std::int64_t out,
                        ResizeScale scale) {
  const auto x = static_cast<float>(i);
  const auto from = static_cast<float>(in), to = static_cast<float>(out);
  switch (mode) {
    case ResizeCoordinates::kHalfPixel:
      return (x + 0.5F) * scale.below / scale.above - 0.5F;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      // Centres the sampled span if `out` is not exactly scale times `in`.
      const float offset = from / 2.0F * (1.0F - to * scale.below / (scale.above * from));
      return offset + (x + 0.5F) * scale.below / scale.above - 0.5F;
    }
    case ResizeCoordinates::kPytorchHalfPixel:
      return out > 1 ? (x + 0.5F) * scale.below / scale.above - 0.5F : 0.0F;
    case ResizeCoordinates::kAlignCorners:
      return out > 1 ? x * (from - 1.0F) / (to - 1.0F) : 0.0F;
    case ResizeCoordinates::kAsymmetric:
    case ResizeCoordinates::kCrop:
      break;
  }
  return x * scale.below / scale.above;
}

float resize_rounded(ResizeRounding mode, float x) {
  const float below = std::floor(x), fraction = x - below;
  if (fraction == 0.0F) return below;
  bool up = fraction > 0.5F;
  if (mode == ResizeRounding::kFloor) up = false;
  if (mode == ResizeRounding::kCeil) up = true;
  if (mode == ResizeRounding::kPreferCeil) up = fraction >= 0.5F;
  return up ? below + 1.0F : below;
}

ResizeSource resize_source(const ResizeShape& shape, int axis, std::int64_t i, ResizeScale scale) {
  const std::int64_t in = shape.in[axis];
  if (scale.above == scale.below && in == shape.out[axis]) return {i, 0};
  float x = resize_coordinate(shape.coordinates, i, in, shape.out[axis], scale);
  if (!shape.linear()) x = resize_rounded(shape.rounding, x);
  const float last = static_cast<float>(in - 1);
  if (!(x > 0.0F)) return {0, 0};
  if (x >= last) return {in - 1, 0};
  const auto low = std::min(static_cast<std::int64_t>(x), in - 1);
  return {low, low == in - 1 ? 0.0F : x - static_cast<float>(low)};
}

bool resized_by_scales(const KernelRequest& request) {
  return request.has(2) && request.inputs[2].elements() > 0;
}

ResizeScale resize_scale(const ResizeShape& shape, int axis, const std::byte* scales,
                         bool by_scales) {
  const int entry = shape.entry[static_cast<std::size_t>(axis)];
  if (entry >= 0 && by_scales) return {load_element<float>(scales, entry), 1};
  return {static_cast<float>(shape.out[axis]), static_cast<float>(shape.in[axis])};
}

ResizeShape resize_shape(const KernelRequest& request) {
  return resize_shape(request.node.attributes, request.inputs[0].dims, request.outputs[0].dims);
}

ResizeShape resize_shape(const Attributes& attributes, const Dims& in, const Dims& out) {
  ResizeShape shape;
  shape.in = in;
  shape.out = out;
  shape.strides = row_major_strides(shape.in);
  const auto params = params_of<ResizeParams>(attributes);
  shape.mode = params.mode;
  shape.policy = params.policy;
  shape.antialias = shape.mode != ResizeMode::kNearest && params.antialias;
  shape.exclude_outside = params.exclude_outside;
  shape.cubic = params.cubic_coefficient;
  shape.extrapolation = params.extrapolation_value;
  shape.coordinates = params.coordinates;
  shape.rounding = params.rounding;
  const int rank = shape.in.rank();
  const bool nhwc = params.layout == ImageLayout::kNhwc;
  auto axes = params.axes;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  shape.entry.fill(-1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    int axis = positive_axis(axes[i], rank);  // numbered as in NCHW, whatever the layout
    if (nhwc && axis > 0) axis = axis == 1 ? rank - 1 : axis - 1;
    shape.entry[static_cast<std::size_t>(axis)] = static_cast<int>(i);
  }
  return shape;
}

}  // namespace parallax
