#include "quantiser.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/elements.h"

namespace parallax::fuzz {
namespace {

struct ByteRange {
  std::int64_t low, high;
};
ByteRange byte_range(DType dtype) {
  return dtype == DType::kU8 ? ByteRange{0, 255} : ByteRange{-128, 127};
}

Attributes axis_of(std::int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return attributes;
}

template <class Number>
Constant packed_constant(DType dtype, const Dims& dims, const std::vector<Number>& elements) {
  const std::int64_t count = std::ssize(elements);
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(dtype, count).value_or(0)));
  write_elements(dtype, std::span<const Number>(elements), bytes.data(), 0);
  return make_constant(dtype, dims, bytes);
}

}  // namespace

Quantiser::Quantiser(Generator& g)
    : g_(g),
      exact_(g.random().chance(75)),
      small_(g.random().chance(60)),
      activations_(g.random().chance(60) ? DType::kU8 : DType::kI8) {}

float Quantiser::any_scale() {
  Random& random = g_.random();
  if (!exact_) return static_cast<float>(0.005 + 0.05 * random.unit());
  return random.pick(std::array{3.0F, 5.0F, 7.0F}) / random.pick(std::array{64.0F, 256.0F});
}

float Quantiser::weight_scale() {
  Random& random = g_.random();
  if (!exact_) return static_cast<float>(0.001 + 0.02 * random.unit());
  return random.pick(std::array{1.0F / 32, 1.0F / 64, 1.0F / 128});
}

float Quantiser::scale_of_sums(const Quantised& x, const RealWeights& w, std::int64_t depth) {
  if (!exact_ || w.scales.empty()) return any_scale() * 3;
  const float least = *std::ranges::min_element(w.scales);
  const double most =
      (small_ ? 2 : 50) * std::sqrt(static_cast<double>(std::max<std::int64_t>(depth, 1)));
  const std::int64_t odd = 2 * g_.random().between(0, static_cast<std::int64_t>(most)) + 1;
  return static_cast<float>(odd) * x.scale * least;
}

std::int64_t Quantiser::any_zero(DType dtype) {
  const ByteRange range = byte_range(dtype);
  if (g_.random().chance(50)) return dtype == DType::kU8 ? 128 : 0;
  return g_.random().chance(30) ? range.low : g_.random().between(range.low, range.high);
}

std::string Quantiser::scalar(float value) { return g_.floats({value}, Dims{}); }

std::string Quantiser::integers(DType dtype, const Dims& dims, std::int64_t low,
                                std::int64_t high) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(dims.elements()));
  for (std::int64_t& number : numbers) number = g_.random().between(low, high);
  return g_.constant(packed_constant(dtype, dims, numbers));
}

std::string Quantiser::weight_bytes(DType dtype, const Dims& dims) {
  const ByteRange range = byte_range(dtype);
  const std::int64_t middle = dtype == DType::kU8 ? 128 : 0;
  if (small_) return integers(dtype, dims, middle - 8, middle + 7);
  return integers(dtype, dims, range.low, range.high);
}

std::string Quantiser::zero_point(DType dtype, std::int64_t zero) {
  return integers(dtype, Dims{}, zero, zero);
}

Quantised Quantiser::quantised(const std::string& x, float scale) {
  if (x.empty()) return {};
  const bool none = activations_ == DType::kU8 && g_.random().chance(8);
  const std::int64_t zero = none ? 0 : any_zero(activations_);
  std::vector<std::string> inputs = {x, scalar(scale)};
  if (!none) inputs.push_back(zero_point(activations_, zero));
  return {g_.add(OpKind::kQuantizeLinear, std::move(inputs)), scale, zero};
}

std::string Quantiser::real(const Quantised& x) {
  if (x.name.empty()) return {};
  return g_.add(OpKind::kDequantizeLinear,
                {x.name, scalar(x.scale), zero_point(g_.dtype(x.name), x.zero)});
}

std::string Quantiser::rounded(const std::string& x, float scale) {
  return real(quantised(x, scale));
}

RealWeights Quantiser::scaled_bytes(const Dims& dims, int axis, bool is_signed, bool each) {
  Random& random = g_.random();
  const DType dtype = is_signed ? DType::kI8 : DType::kU8;
  const std::int64_t count = each ? dims[axis] : 1, middle = is_signed ? 0 : 128;
  RealWeights weights;
  for (std::int64_t i = 0; i < count; ++i) weights.scales.push_back(weight_scale());
  const Dims of_scale = each ? Dims{count} : (random.chance(80) ? Dims{} : Dims{1});
  std::vector<std::string> inputs = {weight_bytes(dtype, dims),
                                     g_.floats(weights.scales, of_scale)};
  const bool shifted = random.chance(15);
  if (!is_signed || shifted || random.chance(70))
    inputs.push_back(
        integers(dtype, of_scale, middle - (shifted ? 9 : 0), middle + (shifted ? 9 : 0)));
  const std::int64_t stated = random.chance(20) ? axis - dims.rank() : axis;
  weights.name =
      g_.add(OpKind::kDequantizeLinear, std::move(inputs), each ? axis_of(stated) : Attributes());
  return weights;
}

/// Floats that the file quantises: a FakeQuantize of NNCF or torch.ao.
RealWeights Quantiser::rounded_weights(const Dims& dims) {
  const float scale = weight_scale();
  const std::string s = scalar(scale), zero = zero_point(DType::kI8, 0);
  const std::string bytes = g_.add(OpKind::kQuantizeLinear, {g_.weights(dims), s, zero});
  if (bytes.empty()) return {};
  return {g_.add(OpKind::kDequantizeLinear, {bytes, s, zero}), {scale}};
}

std::string Quantiser::halves(const std::vector<float>& elements, const Dims& dims) {
  return g_.constant(packed_constant(DType::kF16, dims, elements));
}

std::string Quantiser::widened(const std::string& half) {
  Attributes to;
  to.set("to", std::int64_t{info_of(DType::kF32).onnx});
  return half.empty() ? half : g_.add(OpKind::kCast, {half}, std::move(to));
}

/// Floats of 16 bits, or bytes whose scale is one.
RealWeights Quantiser::half_weights(const Dims& dims, bool bytes) {
  if (bytes) {
    const float scale = 1.0F / 64;
    const std::string half = g_.add(OpKind::kDequantizeLinear,
                                    {weight_bytes(DType::kI8, dims), halves({scale}, Dims{})});
    return {widened(half), {scale}};
  }
  std::vector<float> elements(static_cast<std::size_t>(dims.elements()));
  for (float& element : elements) element = static_cast<float>(g_.random().between(-16, 16)) / 8;
  return {widened(halves(elements, dims)), {}};
}

/// A scale for each block along `axis`, as torchao and NNCF compress weights.
RealWeights Quantiser::blocked_weights(const Dims& dims, int axis) {
  std::vector<std::int64_t> sizes(dims.begin(), dims.end());
  const std::int64_t block = g_.random().pick(std::array{2, 4, 16});
  auto& along = sizes[static_cast<std::size_t>(axis)];
  along = (along + block - 1) / block;
  const Dims of_scale(sizes);
  RealWeights weights;
  std::vector<float> scales(static_cast<std::size_t>(of_scale.elements()));
  for (float& scale : scales) scale = weight_scale();
  Attributes attributes = axis_of(axis);
  attributes.set("block_size", block);
  const DType dtype = g_.random().pick(std::array{DType::kI8, DType::kU8, DType::kI4, DType::kU4});
  const bool nibbles = info_of(dtype).bits == 4,
             is_signed = info_of(dtype).kind == DTypeClass::kSigned;
  const std::int64_t middle = is_signed ? 0 : (nibbles ? 8 : 128);
  const std::string bytes =
      nibbles ? integers(dtype, dims, middle - 8, middle + 7) : weight_bytes(dtype, dims);
  std::vector<std::string> inputs = {bytes, g_.floats(scales, of_scale)};
  if (!is_signed) inputs.push_back(integers(dtype, of_scale, middle, middle));
  return {g_.add(OpKind::kDequantizeLinear, std::move(inputs), std::move(attributes)), {}};
}

RealWeights Quantiser::weights(const Dims& dims, int axis) {
  Random& random = g_.random();
  switch (random.between(0, 13)) {
    case 0:
      return rounded_weights(dims);
    case 1:
      return half_weights(dims, false);
    case 2:
      return half_weights(dims, true);
    case 3:
      return blocked_weights(dims, random.chance(70) ? 1 : 0);
    case 4:
    case 5:
      return scaled_bytes(dims, axis, false, false);
    case 6:
      return scaled_bytes(dims, axis, false, true);
    case 7:
    case 8:
    case 9:
      return scaled_bytes(dims, axis, true, false);
    default:
      return scaled_bytes(dims, axis, true, true);
  }
}

std::string Quantiser::bias(const Quantised& x, const RealWeights& w, std::int64_t count) {
  Random& random = g_.random();
  if (random.chance(25)) return {};
  if (w.scales.empty() || random.chance(25)) return g_.weights(Dims{count});
  std::vector<float> scales;
  for (const float scale : w.scales) scales.push_back(x.scale * scale);
  const bool each = std::ssize(scales) == count && count > 1;
  if (!each) scales.resize(1);
  std::vector<std::string> inputs = {integers(DType::kI32, Dims{count}, -200, 200),
                                     g_.floats(scales, each ? Dims{count} : Dims{})};
  if (random.chance(40)) inputs.push_back(integers(DType::kI32, each ? Dims{count} : Dims{}, 0, 0));
  return g_.add(OpKind::kDequantizeLinear, std::move(inputs), each ? axis_of(0) : Attributes());
}

}  // namespace parallax::fuzz
