// Rules of MediaPipe's custom operators, and of LiteRT's unpooling: pools that keep where a maximum
// was, their inverse, and a transposed convolution with a bias. Options are C structs.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// A struct of C begins with `Count` numbers of 32 bits, in the order of its fields.
template <std::size_t Count>
std::optional<std::array<std::int32_t, Count>> fields_of(std::span<const std::byte> bytes) {
  std::array<std::int32_t, Count> fields = {};
  if (bytes.size() < sizeof fields) return std::nullopt;
  std::memcpy(fields.data(), bytes.data(), sizeof fields);
  return fields;
}

/// Windows over an image. Sizes have 31 bits, so that sums of products of two have 63.
struct WindowOptions {
  bool same = false;                            ///< padded, so that windows cover the image
  std::array<std::int64_t, 2> stride = {1, 1};  ///< rows, columns
  std::array<std::int64_t, 2> window = {1, 1};
  std::int32_t activation = 0;

  schema::Padding padding() const { return same ? schema::Padding::SAME : schema::Padding::VALID; }
};

/// TfLitePoolParams: padding (1 same, 2 valid), strides and sizes with the columns first.
std::optional<WindowOptions> window_options(TfliteOperator& o) {
  const auto fields = fields_of<6>(o.custom_options());
  const bool valid = fields && ((*fields)[0] == 1 || (*fields)[0] == 2) &&
                     std::all_of(fields->begin() + 1, fields->begin() + 5,
                                 [](std::int32_t size) { return size > 0; });
  if (!valid) {
    o.invalid("its options are wrong");
    return std::nullopt;
  }
  const auto& f = *fields;
  return WindowOptions{f[0] == 1, {f[2], f[1]}, {f[4], f[3]}, f[5]};
}

/// Rows and columns of an image; nullopt unless both are known, positive and of 31 bits.
std::optional<std::array<std::int64_t, 2>> image_size(TfliteOperator& o, ValueId image) {
  const std::array<std::int64_t, 2> size = {o.dimension(image, 1), o.dimension(image, 2)};
  if (o.failed()) return std::nullopt;
  const auto fits = [](std::int64_t n) { return n > 0 && n <= INT32_MAX; };
  if (o.rank(image) == 4 && std::ranges::all_of(size, fits)) return size;
  o.refuse("the sizes of the image must be known");
  return std::nullopt;
}

/// Elements added before the first window of an axis so that `count` windows cover `size`.
std::int64_t padding_before(std::int64_t size, std::int64_t count, std::int64_t window,
                            std::int64_t stride) {
  return std::max<std::int64_t>((count - 1) * stride + window - size, 0) / 2;
}

/// The first row (axis 0) or column of each of `count` windows, as [count, 1, 1] or [count, 1].
ValueId window_starts(TfliteOperator& o, std::size_t axis, std::int64_t count, std::int64_t stride,
                      std::int64_t padding) {
  const ValueId number =
      o.op(OpKind::kRange, {o.int_number(0), o.int_number(count), o.int_number(1)});
  const ValueId start = o.sub(o.mul(number, static_cast<double>(stride)), o.int_number(padding));
  return o.reshape(start, axis == 0 ? Ints{count, 1, 1} : Ints{count, 1});
}

ValueId remainder(TfliteOperator& o, ValueId x, std::int64_t divisor) {
  return o.op(OpKind::kMod, {x, o.int_number(divisor)});
}
ValueId quotient(TfliteOperator& o, ValueId x, std::int64_t divisor) {
  return o.div(x, o.int_number(divisor));
}

/// Output 1 has the place of each maximum in its window, row by row, plus a tenth, as a float.
void max_pool_argmax(TfliteOperator& o) {
  const auto options = window_options(o);
  if (!options) return;
  const auto& [same, stride, window, activation] = *options;
  const auto size = image_size(o, o.need(0));
  if (!size) return;
  const auto pooled = o.ops(OpKind::kMaxPool, {o.need(0)},
                            attributes_of({{"layout", std::string("NHWC")},
                                           {"auto_pad", std::string(same ? "SAME_UPPER" : "VALID")},
                                           {"strides", Ints{stride[0], stride[1]}},
                                           {"kernel_shape", Ints{window[0], window[1]}}}),
                            2);
  const auto count = image_size(o, pooled[0]);
  if (!count) return;
  // MaxPool counts in [batch, channels, rows, columns].
  const std::array<ValueId, 2> at = {remainder(o, quotient(o, pooled[1], (*size)[1]), (*size)[0]),
                                     remainder(o, pooled[1], (*size)[1])};
  std::array<ValueId, 2> inside;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t pad =
        same ? padding_before((*size)[axis], (*count)[axis], window[axis], stride[axis]) : 0;
    inside[axis] = o.sub(at[axis], window_starts(o, axis, (*count)[axis], stride[axis], pad));
  }
  const ValueId place = o.add(o.mul(inside[0], static_cast<double>(window[1])), inside[1]);
  o.activated(pooled[0], static_cast<schema::ActivationFunctionType>(activation));
  o.result(1, o.add(o.cast(place, DType::kF32), 0.1));
}

/// Zeros of `shape` [batch, places, ...], with the elements of `x` where `places` says.
ValueId put_at(TfliteOperator& o, ValueId x, ValueId places, const Ints& shape) {
  const ValueId zeros = o.op(OpKind::kExpand, {o.number(0, x), o.ints(shape)});
  return o.op(OpKind::kScatterElements, {zeros, places, x}, with_axis(1));
}

/// Inputs are maxima and their places, as MaxPoolingWithArgmax2D has them.
void max_unpooling(TfliteOperator& o) {
  const auto options = window_options(o);
  if (!options) return;
  const auto& [same, stride, window, activation] = *options;
  const ValueId x = o.need(0), places = o.cast_to(o.need(1), DType::kI64);
  const auto size = image_size(o, x);
  const std::int64_t batch = o.dimension(x, 0), channels = o.dimension(x, 3);
  if (!size) return;
  const std::int64_t rows = (*size)[0] * window[0], width = (*size)[1] * window[1];
  const auto all = checked_mul(rows, width);
  if (batch < 0 || channels < 0 || !all) return o.refuse("sizes must be known");
  const std::array<ValueId, 2> inside = {quotient(o, places, window[1]),
                                         remainder(o, places, window[1])};
  const std::array<std::int64_t, 2> whole = {rows, width};
  std::array<ValueId, 2> at;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t pad = padding_before(whole[axis], (*size)[axis], window[axis], stride[axis]);
    at[axis] = o.add(inside[axis], window_starts(o, axis, (*size)[axis], stride[axis], pad));
  }
  const ValueId place = o.add(o.mul(at[0], static_cast<double>(width)), at[1]);
  const Ints flat = {batch, (*size)[0] * (*size)[1], channels};
  const ValueId y = put_at(o, o.reshape(x, flat), o.reshape(place, flat), {batch, *all, channels});
  o.result(o.reshape(y, {batch, rows, width, channels}));
}

/// Inputs are maxima and their places in the whole image of the result, as integers.
void litert_max_unpooling(TfliteOperator& o) {
  const auto options = window_options(o);
  if (!options) return;
  const ValueId x = o.need(0), places = o.cast_to(o.need(1), DType::kI64);
  const auto size = image_size(o, x);
  const std::int64_t batch = o.dimension(x, 0), channels = o.dimension(x, 3);
  if (!size) return;
  std::array<std::int64_t, 2> whole = {};
  for (std::size_t axis = 0; axis < 2; ++axis)
    whole[axis] = options->same
                      ? (*size)[axis] * options->stride[axis]
                      : ((*size)[axis] - 1) * options->stride[axis] + options->window[axis];
  const auto pixels = checked_mul(whole[0], whole[1]);
  const auto all = pixels ? checked_mul(*pixels, channels) : std::nullopt;
  if (batch < 0 || channels < 0 || !all) return o.refuse("sizes must be known");
  const ValueId y =
      put_at(o, o.reshape(x, {batch, -1}), o.reshape(places, {batch, -1}), {batch, *all});
  o.result(o.reshape(y, {batch, whole[0], whole[1], channels}));
}

/// TfLiteTransposeConvParams: padding (1 same, 2 valid), strides with the columns first. Filters
/// are [out, H, W, in].
void transpose_conv_bias(TfliteOperator& o) {
  const auto fields = fields_of<3>(o.custom_options());
  if (!fields || (*fields)[0] < 1 || (*fields)[0] > 2 || (*fields)[1] < 1 || (*fields)[2] < 1)
    return o.invalid("its options are wrong");
  const ValueId x = o.need(0), filters = o.need(1);
  const auto in = image_size(o, x), window = image_size(o, filters);
  if (!in || !window) return;
  Ints pads(4);
  const Ints stride = {(*fields)[2], (*fields)[1]};
  for (std::size_t axis = 0; axis < 2 && (*fields)[0] == 1; ++axis) {
    const std::int64_t cut =
        std::max<std::int64_t>((*window)[axis] - ((*in)[axis] - 1) % stride[axis] - 1, 0);
    pads[axis] = cut / 2;
    pads[axis + 2] = cut - cut / 2;
  }
  o.result(
      o.op(OpKind::kConvTranspose, {x, o.transpose(filters, {3, 0, 1, 2}), o.need(2)},
           attributes_of(
               {{"layout", std::string("NHWC")}, {"pads", std::move(pads)}, {"strides", stride}})));
}

constexpr std::array kUnpoolingRules = {
    TfliteRule{Code::CUSTOM, transpose_conv_bias, "Convolution2DTransposeBias"},
    TfliteRule{Code::CUSTOM, litert_max_unpooling, "LiteRtMaxUnpooling2D"},
    TfliteRule{Code::CUSTOM, max_pool_argmax, "MaxPoolingWithArgmax2D"},
    TfliteRule{Code::CUSTOM, max_unpooling, "MaxUnpooling2D"},
};

}  // namespace

std::span<const TfliteRule> tflite_unpooling_rules() { return kUnpoolingRules; }

}  // namespace parallax
