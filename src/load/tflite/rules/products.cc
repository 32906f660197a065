// Rules of operators that multiply matrices, and of Softmax.
#include <array>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

/// Weights are [out, in]; without keep_num_dims the result has two dimensions.
void fully_connected(TfliteOperator& o) {
  const auto& options = o.options<schema::FullyConnectedOptions>();
  if (options.weights_format() != schema::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return o.refuse("shuffled weights are not supported");
  const ValueId weights = o.need(1);
  ValueId x = o.need(0);
  const std::int64_t depth = o.dimension(weights, 1);
  const int rank = o.rank(x);
  if (o.failed()) return;
  if (o.rank(weights) != 2 || depth < 1) return o.invalid("weights must have two dimensions");
  if (options.keep_num_dims() ? rank == 0 : rank != 2 || o.dimension(x, 1) != depth)
    x = o.reshape(x, {-1, depth});
  ValueId y = o.op(OpKind::kMatMul, {x, o.transpose(weights, {1, 0})});
  if (o.has(2)) y = o.add(y, o.in(2));
  o.activated(y, options.fused_activation_function());
}

/// The matrices of `x`, transposed.
ValueId transposed(TfliteOperator& o, ValueId x) {
  const int rank = o.rank(x);
  if (o.failed() || rank < 2) return x;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return o.transpose(x, perm);
}

void batch_matmul(TfliteOperator& o) {
  const auto& options = o.options<schema::BatchMatMulOptions>();
  const ValueId a = options.adj_x() ? transposed(o, o.need(0)) : o.need(0);
  const ValueId b = options.adj_y() ? transposed(o, o.need(1)) : o.need(1);
  o.result(o.op(OpKind::kMatMul, {a, b}));
}

void softmax(TfliteOperator& o) {
  const float beta = o.options<schema::SoftmaxOptions>().beta();
  const ValueId x = beta == 1.0F ? o.need(0) : o.mul(o.need(0), beta);
  o.result(o.op(OpKind::kSoftmax, {x}, with_axis(-1)));
}

void log_softmax(TfliteOperator& o) {
  o.result(o.op(OpKind::kLogSoftmax, {o.need(0)}, with_axis(-1)));
}

constexpr std::array kProductRules = {
    TfliteRule{Code::BATCH_MATMUL, batch_matmul},
    TfliteRule{Code::FULLY_CONNECTED, fully_connected},
    TfliteRule{Code::LOG_SOFTMAX, log_softmax},
    TfliteRule{Code::SOFTMAX, softmax},
};

}  // namespace

std::span<const TfliteRule> tflite_product_rules() { return kProductRules; }

}  // namespace parallax
