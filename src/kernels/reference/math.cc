// Trigonometric and hyperbolic functions, rounding, Sign, BitwiseNot and IsInf.
#include "kernels/reference/map_elements.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

/// For float and double; f is generic.
template <class F>
KernelResult map_floats(const KernelRequest& request, F f) {
  return map_typed_elements<kFloatTypes>(request, f);
}

template <class T>
T sign_of(T x) {
  if (x != x) return x;
  if constexpr (std::is_signed_v<T>) {
    if (x < T{0}) return static_cast<T>(-1);
  }
  return static_cast<T>(x > T{0} ? 1 : 0);
}

}  // namespace

KernelResult reference_trigonometry(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kAcos:
      return map_floats(request, [](auto x) { return std::acos(x); });
    case OpKind::kAcosh:
      return map_floats(request, [](auto x) { return std::acosh(x); });
    case OpKind::kAsin:
      return map_floats(request, [](auto x) { return std::asin(x); });
    case OpKind::kAsinh:
      return map_floats(request, [](auto x) { return std::asinh(x); });
    case OpKind::kAtan:
      return map_floats(request, [](auto x) { return std::atan(x); });
    case OpKind::kAtanh:
      return map_floats(request, [](auto x) { return std::atanh(x); });
    case OpKind::kCos:
      return map_floats(request, [](auto x) { return std::cos(x); });
    case OpKind::kCosh:
      return map_floats(request, [](auto x) { return std::cosh(x); });
    case OpKind::kSin:
      return map_floats(request, [](auto x) { return std::sin(x); });
    case OpKind::kSinh:
      return map_floats(request, [](auto x) { return std::sinh(x); });
    case OpKind::kTan:
      return map_floats(request, [](auto x) { return std::tan(x); });
    default:
      return nullptr;
  }
}

/// Ties are rounded to the even neighbour.
KernelResult reference_rounding(const KernelRequest& request) {
  switch (request.node.op) {
    case OpKind::kCeil:
      return map_floats(request, [](auto x) { return std::ceil(x); });
    case OpKind::kFloor:
      return map_floats(request, [](auto x) { return std::floor(x); });
    case OpKind::kRound:
      return map_floats(request, [](auto x) { return std::nearbyint(x); });
    case OpKind::kSign:
      return map_typed_elements<kNumericTypes>(request, [](auto x) { return sign_of(x); });
    default:
      return nullptr;
  }
}

KernelResult reference_is_inf(const KernelRequest& request) {
  const auto params = params_of<IsInfParams>(request.node);
  const bool negative = params.detect_negative, positive = params.detect_positive;
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return map_elements<T, BoolByte>(request, [negative, positive](T x) {
      return BoolByte(std::isinf(x) && (x < T{0} ? negative : positive));
    });
  });
}

KernelResult reference_bitwise_not(const KernelRequest& request) {
  return make_for<kNumericTypes & ~kFloatTypes>(request.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return map_elements<T, T>(request, [](T x) { return static_cast<T>(~x); });
  });
}

}  // namespace parallax
