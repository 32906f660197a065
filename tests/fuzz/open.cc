#include "open.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "disturb.h"
#include "kernels/reference/resize_source.h"

namespace parallax::fuzz {
namespace {

/// Calls visit(element) for each element of f32, i32 and i64 tensors.
template <class Visit>
void for_each_number(const Constant& tensor, Visit visit) {
  const auto all = [&]<class T>(T) {
    for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(T)) {
      T element{};
      std::memcpy(&element, tensor.bytes.data() + i, sizeof(T));
      visit(element);
    }
  };
  if (tensor.dtype == DType::kF32) all(float{});
  if (tensor.dtype == DType::kI32) all(std::int32_t{});
  if (tensor.dtype == DType::kI64) all(std::int64_t{});
}

template <class Test>
bool any_float(std::span<const Constant* const> inputs, Test test) {
  bool found = false;
  for (const Constant* input : inputs) {
    if (input == nullptr) continue;
    for_each_number(*input, [&](auto x) {
      if constexpr (std::is_same_v<decltype(x), float>) found = found || test(x);
    });
  }
  return found;
}

bool has_nan(std::span<const Constant* const> inputs) {
  return any_float(inputs, [](float x) { return std::isnan(x); });
}
bool has_wild(std::span<const Constant* const> inputs) {
  return any_float(inputs, [](float x) { return !std::isfinite(x); });
}
bool has_empty(std::span<const Constant* const> inputs) {
  return std::ranges::any_of(
      inputs, [](const Constant* input) { return input != nullptr && input->bytes.empty(); });
}

/// Whether a float is beyond what integers of this type hold.
bool leaves_range(std::span<const Constant* const> inputs, DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBool) return false;
  const bool is_signed = dtype != DType::kU8;
  const double values = std::exp2(8.0 * static_cast<double>(size_of(dtype)));
  const double least = is_signed ? -values / 2 : 0;
  return any_float(
      inputs, [&](float x) { return !(std::trunc(x) >= least && std::trunc(x) < least + values); });
}

/// Paddings that ONNX Runtime sees differently, and images that are smaller than the window, where
/// it rounds a negative quotient up.
bool is_open_window(const CaseNode& node, std::span<const Constant* const> inputs,
                    const Constant& output) {
  const auto strides = node.attributes.get_ints("strides");
  const auto dilations = node.attributes.get_ints("dilations");
  auto window = node.attributes.get_ints("kernel_shape");
  if (window.empty()) window.assign(inputs[1]->dims.begin() + 2, inputs[1]->dims.end());
  const auto more_than_1 = [](std::int64_t n) { return n > 1; };
  bool crops = std::ranges::any_of(dilations, more_than_1);
  for (std::size_t i = 0; i < strides.size(); ++i) crops = crops || strides[i] > window[i];
  const bool same = node.attributes.get_string("auto_pad", "NOTSET").starts_with("SAME");
  const bool empty =
      std::ranges::find(output.dims.begin() + 2, output.dims.end(), 0) != output.dims.end();
  return (same && crops) || (empty && std::ranges::any_of(strides, more_than_1));
}

/// Whether a scale that is rounded otherwise moves a position of nearest mode to another element:
/// ONNX Runtime rounds the quotient of sizes before it is used. half_pixel_symmetric rounds more
/// than once, given scales too. `scales`: null where sizes rule.
bool takes_other_element(const ResizeShape& shape, const Constant* scales) {
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const ResizeScale exact = resize_scale(
        shape, axis, scales == nullptr ? nullptr : scales->bytes.data(), scales != nullptr);
    if (exact.below == 0) continue;
    const float scale = exact.above / exact.below;
    const bool more = shape.coordinates == ResizeCoordinates::kHalfPixelSymmetric;
    for (const float rounded :
         {scale, more ? scale * 1.000001F : scale, more ? scale * 0.999999F : scale})
      for (std::int64_t i = 0; i < shape.out[axis]; ++i)
        if (resize_source(shape, axis, i, exact).low !=
            resize_source(shape, axis, i, {rounded, 1}).low)
          return true;
  }
  return false;
}

bool is_open_resize(const CaseNode& node, std::span<const Constant* const> inputs,
                    const Constant& output) {
  const ResizeShape shape = resize_shape(node.attributes, inputs[0]->dims, output.dims);
  const Constant* scales =
      inputs.size() > 2 && inputs[2] != nullptr && !inputs[2]->bytes.empty() ? inputs[2] : nullptr;
  if (scales != nullptr && shape.in == shape.out) return true;
  return shape.linear() ? output.dtype != DType::kF32 : takes_other_element(shape, scales);
}

/// Whether a power of integers is the least or the largest number of its type, or one of these
/// bases to one of these exponents is no integer that the type and a double hold: ONNX Runtime
/// computes in double.
bool is_open_power(std::span<const Constant* const> inputs, const Constant& output) {
  if (output.dtype == DType::kF32) return false;
  double base = 0, exponent = 0;
  for_each_number(*inputs[0], [&](auto x) { base = std::max(base, std::abs(double(x))); });
  for_each_number(*inputs[1], [&](auto x) { exponent = std::max(exponent, double(x)); });
  const double held = output.dtype == DType::kI32 ? std::exp2(31) : std::exp2(53);
  bool open = !(std::pow(base, exponent) < held);
  for_each_number(output, [&](auto x) {
    using Limits = std::numeric_limits<decltype(x)>;
    open = open || x == Limits::min() || x == Limits::max();
  });
  return open;
}

/// Whether a sum of integers may leave their type, or one of their squares what a double holds:
/// ONNX Runtime does not wrap, and squares in double.
bool is_open_sum(const Constant& input, bool squares) {
  if (input.dtype == DType::kF32) return false;
  double sum = 0;
  for_each_number(input,
                  [&](auto x) { sum += squares ? double(x) * double(x) : std::abs(double(x)); });
  return sum >= std::exp2(input.dtype == DType::kI32 ? 31 : squares ? 53 : 63);
}

/// Whether every result is so small that exp(x) - 1 has few digits in f32: so does ONNX Runtime
/// compute it.
bool is_open_exponential(const Constant& output) { return largest_magnitude(output) < 1e-2F; }

/// Whether a result is so small that an error of 1e-7 counts, which ONNX Runtime's Sigmoid has.
bool is_open_sigmoid(const Constant& output) {
  const Constant* all[] = {&output};
  return any_float(all, [](float x) { return x < 1e-3F; });
}

/// Whether a product of integers may leave their type.
bool is_open_product(const Constant& input) {
  if (input.dtype == DType::kF32) return false;
  double bits = 0;
  for_each_number(input, [&](auto x) { bits += std::log2(std::max(std::abs(double(x)), 1.0)); });
  return bits >= (input.dtype == DType::kI32 ? 31 : 63);
}

/// Whether there is nothing to sum, or integers may leave their type.
bool is_open_reduction(OpKind op, std::span<const Constant* const> inputs) {
  if (has_empty(inputs.first(1))) return true;
  if (op == OpKind::kReduceProd) return is_open_product(*inputs[0]);
  const bool squares = op == OpKind::kReduceSumSquare;
  return (squares || op == OpKind::kReduceSum) && is_open_sum(*inputs[0], squares);
}

bool keeps_extremes(const CaseNode& scatter) {
  const std::string reduction = scatter.attributes.get_string("reduction", "none");
  return reduction == "max" || reduction == "min";
}

/// Whether a window sees padding or -inf only.
bool has_empty_window(const Constant& largest) {
  const Constant* all[] = {&largest};
  return any_float(all, [](float x) { return std::isinf(x); });
}

/// Whether the square of an element is not finite.
bool has_wild_square(std::span<const Constant* const> inputs) {
  return any_float(inputs, [](float x) { return !std::isfinite(x * x); });
}

/// Whether an operator on images was given what leaves its result open.
bool is_open_image(const CaseNode& node, std::span<const Constant* const> inputs,
                   const Constant& output) {
  switch (node.op) {
    case OpKind::kGridSample:
      return has_nan(inputs.subspan(1, 1));
    case OpKind::kGlobalMaxPool:
      return has_wild(inputs);
    case OpKind::kLRN:
      return has_wild_square(inputs);
    case OpKind::kMaxPool:
      return has_wild(inputs) || has_empty_window(output) || is_open_window(node, inputs, output);
    case OpKind::kResize:
      return has_wild(inputs.first(1)) || is_open_resize(node, inputs, output);
    default:
      return has_wild(inputs) || is_open_window(node, inputs, output);
  }
}

/// The standard says nothing of their numbers.
bool is_random(OpKind op) {
  switch (op) {
    case OpKind::kBernoulli:
    case OpKind::kDropout:
    case OpKind::kMultinomial:
    case OpKind::kRandomNormal:
    case OpKind::kRandomNormalLike:
    case OpKind::kRandomUniform:
    case OpKind::kRandomUniformLike:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_open(const CaseNode& node, std::span<const Constant* const> inputs,
             std::span<const Constant> outputs) {
  switch (node.op) {
    case OpKind::kNonZero:
      return inputs[0]->dims.rank() == 0;
    case OpKind::kGemm:
    case OpKind::kMatMul:
    case OpKind::kMatMulInteger:
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceLogSum:
    case OpKind::kReduceLogSumExp:
    case OpKind::kReduceMean:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
      return is_open_reduction(node.op, inputs);
    case OpKind::kArgMax:
    case OpKind::kArgMin:
    case OpKind::kHardmax:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
      return has_empty(inputs.first(1)) || has_nan(inputs);
    case OpKind::kAveragePool:
    case OpKind::kConv:
    case OpKind::kGlobalMaxPool:
    case OpKind::kGridSample:
    case OpKind::kLRN:
    case OpKind::kMaxPool:
    case OpKind::kResize:
      return is_open_image(node, inputs, outputs[0]);
    case OpKind::kClip:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kNonMaxSuppression:
    case OpKind::kRelu:
    case OpKind::kTopK:
      return has_nan(inputs);
    case OpKind::kCelu:
    case OpKind::kElu:
    case OpKind::kSelu:
      return is_open_exponential(outputs[0]);
    case OpKind::kSigmoid:
      return is_open_sigmoid(outputs[0]);
    case OpKind::kShrink:
      return outputs[0].dtype != DType::kF32;
    case OpKind::kScatterElements:
    case OpKind::kScatterND:
      return keeps_extremes(node) && has_nan(inputs);
    case OpKind::kCast:
      return leaves_range(inputs, outputs[0].dtype);
    case OpKind::kPow:
      return is_open_power(inputs, outputs[0]);
    default:
      return is_random(node.op);
  }
}

}  // namespace parallax::fuzz
