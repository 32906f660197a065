// Activations that are operators of their own: Elu and its kin, HardSigmoid, Softplus, Shrink.
#include "kernels/reference/activation.h"
#include "kernels/reference/map_elements.h"
#include "ops/activation.h"
#include "ops/params/activation.h"

namespace parallax {
namespace {

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
template <class T>
T celu_of(T x, T alpha) {
  const T below = alpha * std::expm1(x / alpha);
  return (x < T{0} ? T{0} : x) + (below > T{0} ? T{0} : below);
}

template <class T>
T selu_of(T x, T alpha, T gamma) {
  return gamma * (x > T{0} ? x : alpha * std::expm1(x));
}

/// Integers are moved as numbers of type C, and truncated afterwards.
template <class T, class C>
T shrink_of(T x, C bias, C lambd) {
  const C value = static_cast<C>(x);
  if (value < -lambd) return convert<T>(value + bias);
  return lambd < value ? convert<T>(value - bias) : T{0};
}

KernelResult shrink(const KernelRequest& request) {
  const auto params = params_of<ShrinkParams>(request.node);
  return map_typed_elements<kNumericTypes>(request, [=](auto x) {
    using T = decltype(x);
    using C = std::conditional_t<std::is_floating_point_v<T>, T, double>;
    return shrink_of<T, C>(x, params.bias, params.lambd);
  });
}

}  // namespace

KernelResult reference_activation(const KernelRequest& request) {
  const OpKind op = request.node.op;
  const float alpha = alpha_of(request.node);
  const float beta = params_of<HardSigmoidParams>(request.node).beta;
  const float gamma = params_of<SeluParams>(request.node).gamma;
  if (op == OpKind::kShrink) return shrink(request);
  return map_typed_elements<kFloatTypes>(request, [=](auto x) {
    using T = decltype(x);
    const T a = alpha;
    switch (op) {
      case OpKind::kCelu:
        return celu_of(x, a);
      case OpKind::kElu:
        return elu_of(x, a);
      case OpKind::kHardSigmoid:
        return hard_sigmoid_of(x, a, T{beta});
      case OpKind::kLeakyRelu:
        return leaky_relu_of(x, a);
      case OpKind::kMish:
        return mish_of(x);
      case OpKind::kSelu:
        return selu_of(x, a, T{gamma});
      case OpKind::kSoftplus:
        return softplus_of(x);
      case OpKind::kSoftsign:
        return x / (T{1} + std::fabs(x));
      default:  // ThresholdedRelu
        return x > a ? x : T{0};
    }
  });
}

}  // namespace parallax
