// FlexAttention of ai.onnx.preview: products and Softmax, with graphs of the model between them.
// Those are inlined as functions are (functions.cc), which leaves a node for each stage: scores of
// queries and keys, weights of scores, results of weights and values. Without them stage 0 is all.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/status.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {
namespace {

/// Keys or values [batch, heads, length, size], each head as often as query heads share it.
ValueId shared_heads(Rewriting& to, ValueId x, ValueId query) {
  const std::int64_t heads = to.dimension(x, 1), wanted = to.dimension(query, 1);
  if (heads == wanted) return x;
  if (heads < 1 || wanted < 1 || wanted % heads != 0) {
    to.refuse(fmt::format("{} heads of queries and {} of keys or values", wanted, heads));
    return x;
  }
  const ValueId many =
      to.op(OpKind::kExpand, {to.unsqueeze(x, {2}), to.ints({1, 1, wanted / heads, 1, 1})});
  const ValueId shape = to.concat({to.dim(x, 0), to.ints({wanted}), to.dim(x, 2), to.dim(x, 3)}, 0);
  return to.op(OpKind::kReshape, {many, shape});
}

ValueId flex_scores(Rewriting& to, ValueId query, ValueId key, float scale, DType type) {
  const ValueId keys = to.transpose(shared_heads(to, key, query), {0, 1, 3, 2});
  const ValueId scores = to.cast_to(to.op(OpKind::kMatMul, {query, keys}), type);
  if (scale != 0) return to.mul(scores, scale);
  const std::int64_t size = to.dimension(query, 3);
  if (size > 0) return to.mul(scores, 1 / std::sqrt(static_cast<double>(size)));
  return to.div(scores, to.op(OpKind::kSqrt, {to.cast(to.dim(query, 3), type)}));
}

ValueId flex_weights(Rewriting& to, ValueId scores) {
  return to.op(OpKind::kSoftmax, {scores}, with_axis(-1));
}

ValueId flex_result(Rewriting& to, ValueId weights, ValueId value) {
  const ValueId same_type = to.cast_to(weights, to.dtype(value));
  return to.op(OpKind::kMatMul, {same_type, shared_heads(to, value, weights)});
}

Status rewrite_flex_attention(FileNode& file) {
  Rewriting to(file);
  const std::int64_t stage = to.take_int("stage", 0);
  const float scale = to.take_float("scale", 0);
  const ValueId first = to.need(0);
  const DType own = to.dtype(first), usual = own == DType::kF64 ? own : DType::kF32;
  const std::int64_t precision = to.take_int("softmax_precision", info_of(usual).onnx);
  const auto type = dtype_from_onnx(precision);
  if (!type) to.invalid("softmax_precision is not an element type");
  if (to.failed()) return to.finish();
  if (stage == 1) {
    to.result(flex_scores(to, first, to.need(1), scale, *type));
  } else if (stage == 2) {
    to.result(flex_weights(to, first));
  } else if (stage == 3) {
    to.result(flex_result(to, first, to.need(1)));
  } else {
    const ValueId scores = flex_scores(to, first, to.need(1), scale, *type);
    to.result(flex_result(to, flex_weights(to, scores), to.need(2)));
  }
  return to.finish();
}

constexpr std::array kPreviewRules = {
    RuleRow{"FlexAttention", OpKind::kIdentity, rewrite_flex_attention,
            std::numeric_limits<std::int64_t>::max(), 1},
};

}  // namespace

std::span<const RuleRow> preview_rules() { return kPreviewRules; }

}  // namespace parallax
