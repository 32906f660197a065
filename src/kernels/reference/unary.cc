// Functions of one element: Abs, Exp, Relu, ..., Not, IsNaN, and Clip.
#include "kernels/reference/activation.h"
#include "kernels/reference/map_elements.h"
#include "ops/params/activation.h"

namespace parallax {
namespace {

/// double for double, float for all other types.
template <class T>
auto float_of(T x) {
  return static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x);
}

template <class T>
T negate_of(T x) {
  if constexpr (std::is_integral_v<T>) {
    return wrap_sub(T{0}, x);
  } else {
    return -x;
  }
}

template <class T>
T abs_of(T x) {
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> && x < T{0} ? wrap_sub(T{0}, x) : x;
  } else {
    return std::fabs(x);
  }
}

/// f is generic over float and double.
template <class F>
KernelResult float_function(const KernelRequest& request, F f) {
  return map_typed_elements<kFloatTypes>(request, f);
}

/// Runs an activation operator with the function that kernels fuse (reference/activation.h).
KernelResult activation_function(const KernelRequest& request) {
  const Activation activation{.op = request.node.op, .alpha = alpha_of(request.node)};
  return float_function(request, [activation](auto x) { return activate(activation, x); });
}

}  // namespace

KernelResult reference_unary(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kAbs:
      return map_typed_elements<kNumericTypes>(request, [](auto x) { return abs_of(x); });
    case OpKind::kNeg:
      return map_typed_elements<kSignedTypes>(request, [](auto x) { return negate_of(x); });
    case OpKind::kRelu:
      return map_typed_elements<kSignedTypes>(request,
                                              [](auto x) { return x < 0 ? decltype(x){0} : x; });
    case OpKind::kErf:
      return map_typed_elements<kNumericTypes>(
          request, [](auto x) { return convert<decltype(x)>(std::erf(float_of(x))); });
    case OpKind::kNot:
      return map_elements<BoolByte, BoolByte>(request, [](BoolByte x) { return BoolByte(!x); });
    case OpKind::kIsNaN:
      return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        return map_elements<T, BoolByte>(request, [](T x) { return BoolByte(std::isnan(x)); });
      });
    case OpKind::kExp:
      return float_function(request, [](auto x) { return std::exp(x); });
    case OpKind::kLog:
      return float_function(request, [](auto x) { return std::log(x); });
    case OpKind::kSqrt:
      return float_function(request, [](auto x) { return std::sqrt(x); });
    case OpKind::kReciprocal:
      return float_function(request, [](auto x) { return decltype(x){1} / x; });
    case OpKind::kSigmoid:  // half the time of activate() in tables of weights that are folded
      return float_function(request, [](auto x) { return sigmoid_of(x); });
    case OpKind::kTanh:
    case OpKind::kHardSwish:
    case OpKind::kSilu:
      return activation_function(request);
    case OpKind::kGelu: {
      if (params_of<GeluParams>(request.node).form == GeluForm::kTanh)
        return float_function(request, [](auto x) { return gelu_tanh_of(x); });
      return float_function(request, [](auto x) { return gelu_of(x); });
    }
    default:
      return nullptr;
  }
}

/// min(max(x, low), high): the upper bound wins where the bounds cross; NaN stays. A bound that is
/// left out is the type's lowest or greatest number (Clip-13: "They default to
/// numeric_limits::lowest() and numeric_limits::max()"), which infinities become.
KernelResult reference_clip(const KernelRequest& request) {
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    const std::int64_t count = request.outputs[0].elements();
    const std::int64_t tiles = tile_count(count, kElementsPerTile);
    const bool has_low = request.has(1), has_high = request.has(2);
    return make_lambda_kernel(
        {.tiles = tiles, .byte_inputs = 0b110},
        [=](std::int64_t tile, const KernelArgs& args) -> Status {
          const TileRange range = tile_range(count, tiles, tile);
          using Limits = std::numeric_limits<T>;
          const T low = has_low ? load_element<T>(args.inputs[1], 0) : Limits::lowest();
          const T high = has_high ? load_element<T>(args.inputs[2], 0) : Limits::max();
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            args.out<T>()[i] = clip_of(args.in<T>(0)[i], low, high);
          }
          return {};
        });
  });
}

}  // namespace parallax
