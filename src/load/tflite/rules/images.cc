// Rules of operators on images, which are NHWC: convolutions, pools, sizes.
#include <fmt/core.h>

#include <array>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

std::string padding_of(schema::Padding padding) {
  return padding == schema::Padding::SAME ? "SAME_UPPER" : "VALID";
}

/// Attributes of windows over the spatial axes of an image with channels last.
Attributes windows(schema::Padding padding, Ints strides) {
  return attributes_of({{"layout", std::string("NHWC")},
                        {"auto_pad", padding_of(padding)},
                        {"strides", std::move(strides)}});
}

/// A node that needs a bias only if it is there.
ValueId filtered(TfliteOperator& o, OpKind kind, ValueId x, ValueId filters, std::size_t bias,
                 Attributes attributes) {
  return o.op(kind, {x, filters, o.in(bias)}, std::move(attributes));
}

/// Filters are [out, H, W, in of a group].
void conv_2d(TfliteOperator& o) {
  const auto& options = o.options<schema::Conv2DOptions>();
  const ValueId x = o.need(0), filters = o.need(1);
  const std::int64_t channels = o.dimension(x, 3), per_group = o.dimension(filters, 3);
  if (o.failed()) return;
  if (per_group < 1 || channels < 0 || channels % per_group != 0)
    return o.invalid(fmt::format("filters of {} channels on an image of {}", per_group, channels));
  Attributes attributes = windows(options.padding(), {options.stride_h(), options.stride_w()});
  attributes.set("dilations", Ints{options.dilation_h_factor(), options.dilation_w_factor()});
  attributes.set("group", channels / per_group);
  o.activated(filtered(o, OpKind::kConv, x, o.transpose(filters, {0, 3, 1, 2}), 2, attributes),
              options.fused_activation_function());
}

/// Filters are [1, H, W, in times multiplier].
void depthwise_conv_2d(TfliteOperator& o) {
  const auto& options = o.options<schema::DepthwiseConv2DOptions>();
  const ValueId x = o.need(0), filters = o.need(1);
  const std::int64_t channels = o.dimension(x, 3);
  if (o.failed()) return;
  if (channels < 1 || o.dimension(filters, 0) != 1 || o.dimension(filters, 3) % channels != 0)
    return o.invalid("the filters do not fit the channels of the image");
  Attributes attributes = windows(options.padding(), {options.stride_h(), options.stride_w()});
  attributes.set("dilations", Ints{options.dilation_h_factor(), options.dilation_w_factor()});
  attributes.set("group", channels);
  o.activated(filtered(o, OpKind::kConv, x, o.transpose(filters, {3, 0, 1, 2}), 2, attributes),
              options.fused_activation_function());
}

/// Filters are [D, H, W, in of a group, out], images [batch, D, H, W, channels].
void conv_3d(TfliteOperator& o) {
  const auto& options = o.options<schema::Conv3DOptions>();
  const ValueId x = o.need(0), filters = o.need(1);
  const std::int64_t channels = o.dimension(x, 4), per_group = o.dimension(filters, 3);
  if (o.failed()) return;
  if (per_group < 1 || channels < 0 || channels % per_group != 0)
    return o.invalid(fmt::format("filters of {} channels on an image of {}", per_group, channels));
  const Attributes attributes =
      attributes_of({{"auto_pad", padding_of(options.padding())},
                     {"strides", Ints{options.stride_d(), options.stride_h(), options.stride_w()}},
                     {"dilations", Ints{options.dilation_d_factor(), options.dilation_h_factor(),
                                        options.dilation_w_factor()}},
                     {"group", channels / per_group}});
  const ValueId y = filtered(o, OpKind::kConv, o.transpose(x, {0, 4, 1, 2, 3}),
                             o.transpose(filters, {4, 3, 0, 1, 2}), 2, attributes);
  o.activated(o.transpose(y, {0, 2, 3, 4, 1}), options.fused_activation_function());
}

/// Sizes along the spatial axes of a transposed convolution.
struct TransposedSizes {
  Ints in, kernel, stride, out;

  bool valid() const {
    const auto fits = [](std::int64_t n) { return n > 0 && n <= INT32_MAX; };
    return std::ranges::all_of(in, fits) && std::ranges::all_of(kernel, fits) &&
           std::ranges::all_of(stride, fits) && std::ranges::all_of(out, fits);
  }
  /// The result's size without padding.
  std::int64_t full(std::size_t axis) const { return (in[axis] - 1) * stride[axis] + kernel[axis]; }
};

/// Pads as the convolution from the result's size to the image's does.
Attributes transposed_attributes(const TransposedSizes& sizes, schema::Padding padding) {
  const std::size_t axes = sizes.in.size();
  Ints pads(2 * axes), rest(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t cut = std::max<std::int64_t>(sizes.full(axis) - sizes.out[axis], 0);
    pads[axis] = padding == schema::Padding::SAME ? cut / 2 : 0;
    pads[axis + axes] = cut - pads[axis];
    rest[axis] = std::max<std::int64_t>(sizes.out[axis] - sizes.full(axis), 0);
  }
  return attributes_of(
      {{"pads", std::move(pads)}, {"output_padding", std::move(rest)}, {"strides", sizes.stride}});
}

/// Reads the sizes: input 0 is the result's shape, input 2 the image; the filters' spatial axes
/// begin at `axis`. Nullopt if they cannot be used.
std::optional<TransposedSizes> transposed_sizes(TfliteOperator& o, int axis, Ints stride) {
  const Ints shape = o.need_ints(0, "the sizes of the result");
  const ValueId filters = o.need(1), x = o.need(2);
  TransposedSizes sizes{.in = {}, .kernel = {}, .stride = std::move(stride), .out = {}};
  const std::size_t axes = sizes.stride.size();
  for (std::size_t i = 0; i < axes; ++i) {
    sizes.in.push_back(o.dimension(x, static_cast<int>(i) + 1));
    sizes.kernel.push_back(o.dimension(filters, axis + static_cast<int>(i)));
  }
  if (o.failed()) return std::nullopt;
  if (shape.size() == axes + 2) sizes.out.assign(shape.begin() + 1, shape.end() - 1);
  if (!sizes.out.empty() && sizes.valid()) return sizes;
  o.refuse("sizes must be known and positive");
  return std::nullopt;
}

/// Inputs are the shape of the result, filters [out, H, W, in], the image, a bias.
void transpose_conv(TfliteOperator& o) {
  const auto& options = o.options<schema::TransposeConvOptions>();
  const auto sizes = transposed_sizes(o, 1, {options.stride_h(), options.stride_w()});
  if (!sizes) return;
  Attributes attributes = transposed_attributes(*sizes, options.padding());
  attributes.set("layout", std::string("NHWC"));
  o.activated(filtered(o, OpKind::kConvTranspose, o.in(2), o.transpose(o.in(1), {3, 0, 1, 2}), 3,
                       std::move(attributes)),
              options.fused_activation_function());
}

/// Filters are [D, H, W, out, in], images [batch, D, H, W, channels].
void conv_3d_transpose(TfliteOperator& o) {
  const auto& options = o.options<schema::Conv3DOptions>();
  if (options.dilation_d_factor() != 1 || options.dilation_h_factor() != 1 ||
      options.dilation_w_factor() != 1)
    return o.refuse("dilations are not supported");
  const auto sizes =
      transposed_sizes(o, 0, {options.stride_d(), options.stride_h(), options.stride_w()});
  if (!sizes) return;
  const ValueId y = filtered(o, OpKind::kConvTranspose, o.transpose(o.in(2), {0, 4, 1, 2, 3}),
                             o.transpose(o.in(1), {4, 3, 0, 1, 2}), 3,
                             transposed_attributes(*sizes, options.padding()));
  o.activated(o.transpose(y, {0, 2, 3, 4, 1}), options.fused_activation_function());
}

Attributes pool_attributes(const schema::Pool2DOptions& options) {
  Attributes attributes = windows(options.padding(), {options.stride_h(), options.stride_w()});
  attributes.set("kernel_shape", Ints{options.filter_height(), options.filter_width()});
  return attributes;
}

template <OpKind kKind>
void pool(TfliteOperator& o) {
  const auto& options = o.options<schema::Pool2DOptions>();
  o.activated(o.op(kKind, {o.need(0)}, pool_attributes(options)),
              options.fused_activation_function());
}

/// The root of the mean of squares.
void l2_pool(TfliteOperator& o) {
  const auto& options = o.options<schema::Pool2DOptions>();
  const ValueId squares = o.mul(o.need(0), o.need(0));
  const ValueId means = o.op(OpKind::kAveragePool, {squares}, pool_attributes(options));
  o.activated(o.op(OpKind::kSqrt, {means}), options.fused_activation_function());
}

/// Resize names the axes of NCHW also for NHWC.
ValueId resized(TfliteOperator& o, std::string_view mode, std::string_view coordinates,
                std::string_view nearest) {
  const Ints size = o.need_ints(1, "the sizes of the result");
  if (o.failed()) return {};
  if (size.size() != 2) {
    o.invalid("two sizes are needed");
    return {};
  }
  Attributes attributes =
      attributes_of({{"layout", std::string("NHWC")},
                     {"axes", Ints{2, 3}},
                     {"mode", std::string(mode)},
                     {"coordinate_transformation_mode", std::string(coordinates)}});
  if (!nearest.empty()) attributes.set("nearest_mode", std::string(nearest));
  return o.op(OpKind::kResize, {o.need(0), {}, {}, o.ints(size)}, std::move(attributes));
}

void resize_bilinear(TfliteOperator& o) {
  const auto& options = o.options<schema::ResizeBilinearOptions>();
  o.result(resized(o, "linear",
                   options.align_corners()        ? "align_corners"
                   : options.half_pixel_centers() ? "half_pixel"
                                                  : "asymmetric",
                   ""));
}

/// Whether each axis of the image becomes a whole number of times as large.
bool grows_evenly(TfliteOperator& o) {
  const auto size = o.known_ints(1);
  if (!size || size->size() != 2) return false;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t from = o.dimension(o.need(0), 1 + axis);
    if (from < 1 || (*size)[static_cast<std::size_t>(axis)] % from != 0) return false;
  }
  return true;
}

/// With half_pixel_centers, element i is read at floor((i + 0.5) / s), which rounds the place
/// (i + 0.5) / s - 0.5 to the nearest, upwards. For a whole s that is floor(i / s).
void resize_nearest(TfliteOperator& o) {
  const auto& options = o.options<schema::ResizeNearestNeighborOptions>();
  if (options.align_corners())
    return o.result(resized(o, "nearest", "align_corners", "round_prefer_ceil"));
  if (options.half_pixel_centers() && !grows_evenly(o))
    return o.result(resized(o, "nearest", "half_pixel", "round_prefer_ceil"));
  o.result(resized(o, "nearest", "asymmetric", "floor"));
}

/// x / (bias + alpha * sum of squares of 2 radius + 1 channels) ^ beta; LRN divides alpha by that
/// number.
void local_response_normalization(TfliteOperator& o) {
  const auto& options = o.options<schema::LocalResponseNormalizationOptions>();
  const std::int64_t size = 2 * std::int64_t{options.radius()} + 1;
  const ValueId y = o.op(OpKind::kLRN, {o.transpose(o.need(0), {0, 3, 1, 2})},
                         attributes_of({{"size", size},
                                        {"alpha", options.alpha() * static_cast<float>(size)},
                                        {"beta", options.beta()},
                                        {"bias", options.bias()}}));
  o.result(o.transpose(y, {0, 2, 3, 1}));
}

/// [n, h, w, c] with blocks of b x b channels next to each other as pixels, and back.
void depth_to_space(TfliteOperator& o) {
  const std::int64_t b = o.options<schema::DepthToSpaceOptions>().block_size();
  const ValueId x = o.need(0);
  const std::int64_t h = o.dimension(x, 1), w = o.dimension(x, 2), c = o.dimension(x, 3);
  if (o.failed()) return;
  if (b < 1 || h < 0 || w < 0 || c < 0 || c / b % b != 0 || c % b != 0)
    return o.invalid("the channels are no whole blocks");
  const ValueId parts = o.reshape(x, {-1, h, w, b, b, c / b / b});
  o.result(o.reshape(o.transpose(parts, {0, 1, 3, 2, 4, 5}), {-1, h * b, w * b, c / b / b}));
}

void space_to_depth(TfliteOperator& o) {
  const std::int64_t b = o.options<schema::SpaceToDepthOptions>().block_size();
  const ValueId x = o.need(0);
  const std::int64_t h = o.dimension(x, 1), w = o.dimension(x, 2), c = o.dimension(x, 3);
  if (o.failed()) return;
  if (b < 1 || h < 0 || w < 0 || c < 0 || h % b != 0 || w % b != 0)
    return o.invalid("the image has no whole blocks");
  const ValueId parts = o.reshape(x, {-1, h / b, b, w / b, b, c});
  o.result(o.reshape(o.transpose(parts, {0, 1, 3, 2, 4, 5}), {-1, h / b, w / b, b * b * c}));
}

constexpr std::array kImageRules = {
    TfliteRule{Code::AVERAGE_POOL_2D, pool<OpKind::kAveragePool>},
    TfliteRule{Code::CONV_2D, conv_2d},
    TfliteRule{Code::CONV_3D, conv_3d},
    TfliteRule{Code::CONV_3D_TRANSPOSE, conv_3d_transpose},
    TfliteRule{Code::DEPTHWISE_CONV_2D, depthwise_conv_2d},
    TfliteRule{Code::DEPTH_TO_SPACE, depth_to_space},
    TfliteRule{Code::L2_POOL_2D, l2_pool},
    TfliteRule{Code::LOCAL_RESPONSE_NORMALIZATION, local_response_normalization},
    TfliteRule{Code::MAX_POOL_2D, pool<OpKind::kMaxPool>},
    TfliteRule{Code::RESIZE_BILINEAR, resize_bilinear},
    TfliteRule{Code::RESIZE_NEAREST_NEIGHBOR, resize_nearest},
    TfliteRule{Code::SPACE_TO_DEPTH, space_to_depth},
    TfliteRule{Code::TRANSPOSE_CONV, transpose_conv},
};

}  // namespace

std::span<const TfliteRule> tflite_image_rules() { return kImageRules; }

}  // namespace parallax
