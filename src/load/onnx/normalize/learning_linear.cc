// Linear models and support vectors.
#include <fmt/core.h>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/learning.h"

namespace parallax {
namespace {

std::int64_t count_of_list(const std::vector<float>& list) { return std::ssize(list); }

/// x W^T + b, a row of `coefficients` for each of `outputs`.
ValueId linear_scores(Rewriting& to, ValueId x, std::int64_t outputs,
                      const std::vector<float>& coefficients,
                      const std::vector<float>& intercepts) {
  const std::int64_t count = count_of_list(coefficients);
  if (outputs < 1 || count == 0 || count % outputs != 0 ||
      (!intercepts.empty() && count_of_list(intercepts) != outputs)) {
    to.invalid(fmt::format("{} coefficients and {} intercepts do not fit {} outputs", count,
                           intercepts.size(), outputs));
    return x;
  }
  const ValueId weights = float_list(to, coefficients, Dims{outputs, count / outputs});
  const ValueId bias = intercepts.empty() ? ValueId{} : float_list(to, intercepts, Dims{outputs});
  return to.op(OpKind::kGemm, {x, weights, bias}, attributes_of({{"transB", std::int64_t{1}}}));
}

/// How alike rows of `x` and of `vectors`, [count, features], are.
ValueId kernel_values(Rewriting& to, ValueId x, ValueId vectors, const std::string& kernel,
                      const std::vector<float>& parameters) {
  const auto parameter = [&](std::size_t i) { return i < parameters.size() ? parameters[i] : 0; };
  const double gamma = parameter(0), offset = parameter(1), degree = parameter(2);
  const ValueId dot =
      to.op(OpKind::kGemm, {x, vectors}, attributes_of({{"transB", std::int64_t{1}}}));
  if (kernel == "LINEAR") return dot;
  const ValueId shifted = to.add(to.mul(dot, gamma), offset);
  if (kernel == "POLY") return to.op(OpKind::kPow, {shifted, to.number(degree, dot)});
  if (kernel == "SIGMOID") return to.op(OpKind::kTanh, {shifted});
  if (kernel != "RBF") to.invalid(fmt::format("unknown kernel {}", quote(kernel)));
  const ValueId apart = to.sub(to.unsqueeze(x, {1}), to.unsqueeze(vectors, {0}));
  const ValueId distance = to.reduce(OpKind::kReduceSumSquare, apart, {2}, false);
  return to.op(OpKind::kExp, {to.mul(distance, -gamma)});
}

}  // namespace

Status rewrite_linear_regressor(FileNode& file) {
  Rewriting to(file);
  const std::int64_t targets = to.take_int("targets", 1);
  const auto coefficients = to.take<std::vector<float>>("coefficients", {});
  const auto intercepts = to.take<std::vector<float>>("intercepts", {});
  const std::string transform = to.take_string("post_transform", "NONE");
  const ValueId x = feature_rows(to);
  to.result(
      transformed_scores(to, linear_scores(to, x, targets, coefficients, intercepts), transform));
  return to.finish();
}

Status rewrite_linear_classifier(FileNode& file) {
  Rewriting to(file);
  const auto coefficients = to.take<std::vector<float>>("coefficients", {});
  const auto intercepts = to.take<std::vector<float>>("intercepts", {});
  const std::string transform = to.take_string("post_transform", "NONE");
  to.take_int("multi_class", 0);
  const auto labels = take_labels(to, "classlabels_ints");
  const std::int64_t classes = intercepts.empty() ? labels.count() : std::ssize(intercepts);
  const ValueId x = feature_rows(to);
  const ValueId scores = linear_scores(to, x, classes, coefficients, intercepts);
  write_classes(to, scores, classes, labels, transform, {.threshold = 0, .complement = true});
  return to.finish();
}

Status rewrite_svm_regressor(FileNode& file) {
  Rewriting to(file);
  const auto coefficients = to.take<std::vector<float>>("coefficients", {});
  const auto vectors = to.take<std::vector<float>>("support_vectors", {});
  const auto parameters = to.take<std::vector<float>>("kernel_params", {});
  const auto rho = to.take<std::vector<float>>("rho", {});
  const std::string kernel = to.take_string("kernel_type", "LINEAR");
  const std::string transform = to.take_string("post_transform", "NONE");
  const std::int64_t supports = to.take_int("n_supports", 0);
  const bool one_class = to.take_int("one_class", 0) != 0;
  const ValueId x = feature_rows(to);
  if (rho.size() != 1) to.invalid("rho must have one element");
  ValueId near = x;
  if (supports > 0) {
    const std::int64_t count = count_of_list(vectors);
    if (count == 0 || count % supports != 0) to.invalid("support vectors of unequal length");
    if (to.failed()) return to.finish();
    const ValueId known = float_list(to, vectors, Dims{supports, count / supports});
    near = kernel_values(to, x, known, kernel, parameters);
  }
  const ValueId score = linear_scores(to, near, 1, coefficients, rho);
  if (one_class) {
    const ValueId inside = to.op(OpKind::kGreater, {score, to.float_number(0)});
    to.result(OpKind::kWhere, {inside, to.float_number(1), to.float_number(-1)});
  } else {
    to.result(transformed_scores(to, score, transform));
  }
  return to.finish();
}

}  // namespace parallax
