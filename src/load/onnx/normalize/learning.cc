#include "load/onnx/normalize/learning.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <numeric>

#include "base/status.h"
#include "load/names.h"

namespace parallax {
namespace {

constexpr RuleRow learned(std::string_view op_type, Status (*rewrite)(FileNode&),
                          std::int64_t since = 1) {
  return {op_type, OpKind::kIdentity, rewrite, std::numeric_limits<std::int64_t>::max(), since};
}

constexpr std::array kLearningRules = {
    learned("ArrayFeatureExtractor", rewrite_array_feature_extractor),
    learned("Binarizer", rewrite_binarizer),
    learned("FeatureVectorizer", rewrite_feature_vectorizer),
    learned("Imputer", rewrite_imputer),
    learned("LinearClassifier", rewrite_linear_classifier),
    learned("LinearRegressor", rewrite_linear_regressor),
    learned("Normalizer", rewrite_normalizer),
    learned("OneHotEncoder", rewrite_one_hot_encoder),
    learned("SVMRegressor", rewrite_svm_regressor),
    learned("Scaler", rewrite_scaler),
    learned("TreeEnsemble", rewrite_tree_ensemble, 5),
    learned("TreeEnsembleClassifier", rewrite_tree_ensemble_classifier),
    learned("TreeEnsembleRegressor", rewrite_tree_ensemble_regressor),
};
static_assert(std::ranges::is_sorted(kLearningRules, {}, &RuleRow::op_type));

ValueId highest(Rewriting& to, ValueId scores) {
  return to.reduce(OpKind::kReduceMax, scores, {-1});
}

ValueId normalised_sum(Rewriting& to, ValueId x) {
  return to.div(x, to.reduce(OpKind::kReduceSum, x, {-1}));
}

/// Softmax in which scores of 0 stay 0.
ValueId softmax_but_zeros(Rewriting& to, ValueId scores) {
  constexpr double kZero = 1e-7;
  const ValueId top = highest(to, scores);
  const ValueId other =
      to.op(OpKind::kGreater, {to.op(OpKind::kAbs, {scores}), to.number(kZero, scores)});
  const ValueId power = to.op(OpKind::kExp, {to.sub(scores, top)});
  return normalised_sum(to, to.op(OpKind::kWhere, {other, power, to.number(0, scores)}));
}

/// Computes the probit of the normal distribution by Winitzki's approximation of the inverse error
/// function.
ValueId probit(Rewriting& to, ValueId scores) {
  constexpr double kA = 0.147;
  const ValueId x = to.add(to.mul(scores, 2), -1);
  const ValueId one = to.number(1, x);
  const ValueId log = to.op(OpKind::kLog, {to.mul(to.sub(one, x), to.add(one, x))});
  const ValueId half = to.add(to.mul(log, 0.5), 2 / (std::numbers::pi * kA));
  const ValueId root = to.op(OpKind::kSqrt, {to.sub(to.mul(half, half), to.mul(log, 1 / kA))});
  const ValueId size = to.op(OpKind::kSqrt, {to.sub(root, half)});
  const ValueId below = to.op(OpKind::kLess, {x, to.number(0, x)});
  const ValueId side = to.op(OpKind::kWhere, {below, to.number(-1, x), one});
  return to.mul(to.mul(size, side), std::numbers::sqrt2);
}

/// Output 0: the labels of the classes `which`.
void write_labels(Rewriting& to, ValueId which, const ClassLabels& labels) {
  if (labels.strings.empty()) return to.result(OpKind::kGather, {to.ints(labels.integers), which});
  std::vector<std::int64_t> keys(labels.strings.size());
  std::iota(keys.begin(), keys.end(), 0);
  to.result(OpKind::kLabelEncoder, {which},
            attributes_of({{"keys_int64s", std::move(keys)}, {"values_strings", labels.strings}}));
}

}  // namespace

std::span<const RuleRow> learning_rules() { return kLearningRules; }

ValueId float_list(Rewriting& to, const std::vector<float>& elements, const Dims& dims) {
  return to.constant(make_constant(DType::kF32, dims, std::as_bytes(std::span(elements))));
}

ValueId feature_rows(Rewriting& to, bool keep_double) {
  const ValueId x = to.need(0);
  const bool as_it_is = keep_double && to.dtype(x) == DType::kF64;
  const ValueId real = as_it_is ? x : to.cast_to(x, DType::kF32);
  return to.rank(x) == 1 ? to.unsqueeze(real, {0}) : real;
}

ValueId transformed_scores(Rewriting& to, ValueId scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return to.op(OpKind::kSigmoid, {scores});
  if (transform == "SOFTMAX") return to.op(OpKind::kSoftmax, {scores}, with_axis(-1));
  if (transform == "SOFTMAX_ZERO") return softmax_but_zeros(to, scores);
  if (transform == "PROBIT") return probit(to, scores);
  to.invalid(fmt::format("unknown post_transform {}", quote(transform)));
  return scores;
}

ClassLabels take_labels(Rewriting& to, const char* integers) {
  ClassLabels labels;
  labels.integers = to.take<std::vector<std::int64_t>>(integers, {});
  labels.strings = to.take<std::vector<std::string>>("classlabels_strings", {});
  if (labels.integers.empty() == labels.strings.empty())
    to.invalid("needs labels that are either integers or strings");
  return labels;
}

void write_classes(Rewriting& to, ValueId scores, std::int64_t classes, const ClassLabels& labels,
                   const std::string& transform, const BinaryScore& binary) {
  if (classes > 1) {
    if (classes != labels.count()) to.invalid("scores and labels differ in number");
    const ValueId best =
        to.op(OpKind::kArgMax, {scores}, with_axis(1, {{"keepdims", std::int64_t{0}}}));
    to.output(1, transformed_scores(to, scores, transform));
    return write_labels(to, best, labels);
  }
  const ValueId wins = to.op(OpKind::kGreater, {scores, to.number(binary.threshold, scores)});
  if (transform == "LOGISTIC") {
    const ValueId other = to.op(OpKind::kSigmoid, {to.op(OpKind::kNeg, {scores})});
    to.output(1, to.concat({other, to.op(OpKind::kSigmoid, {scores})}, 1));
  } else {
    const ValueId last = transform == "PROBIT" ? probit(to, scores) : scores;
    const ValueId other =
        binary.complement ? to.sub(to.number(1, last), last) : to.op(OpKind::kNeg, {last});
    to.output(1, to.concat({other, last}, 1));
  }
  const ValueId which = to.squeeze(to.cast(wins, DType::kI64), {1});
  write_labels(to, which, labels.count() == 2 ? labels : ClassLabels{{0, 1}, {}});
}

}  // namespace parallax
