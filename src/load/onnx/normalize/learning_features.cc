// Operators that prepare features: scaling, thresholds, missing values, selection, one-hot codes.
#include <fmt/core.h>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/learning.h"

namespace parallax {
namespace {

/// A list of one element, or of one per feature.
ValueId per_feature(Rewriting& to, const std::vector<float>& elements) {
  return float_list(to, elements, Dims{static_cast<std::int64_t>(elements.size())});
}

}  // namespace

Status rewrite_scaler(FileNode& file) {
  Rewriting to(file);
  const auto offset = to.take<std::vector<float>>("offset", {});
  const auto scale = to.take<std::vector<float>>("scale", {});
  ValueId x = to.cast_to(to.need(0), DType::kF32);
  if (!offset.empty()) x = to.sub(x, per_feature(to, offset));
  if (!scale.empty()) x = to.mul(x, per_feature(to, scale));
  to.result(x);
  return to.finish();
}

Status rewrite_binarizer(FileNode& file) {
  Rewriting to(file);
  const float threshold = to.take_float("threshold", 0);
  const ValueId x = to.need(0);
  const ValueId more = to.op(OpKind::kGreater, {x, to.number(threshold, x)});
  to.result(to.cast(more, to.dtype(x)));
  return to.finish();
}

/// Each row by its largest element, sum or length; a row whose divisor is 0 stays as it is.
Status rewrite_normalizer(FileNode& file) {
  Rewriting to(file);
  const std::string norm = to.take_string("norm", "MAX");
  const ValueId x = to.cast_to(to.need(0), DType::kF32);
  ValueId divisor;
  if (norm == "MAX") {
    divisor = to.reduce(OpKind::kReduceMax, x, {-1});
  } else if (norm == "L1") {
    divisor = to.reduce(OpKind::kReduceSum, to.op(OpKind::kAbs, {x}), {-1});
  } else if (norm == "L2") {
    divisor = to.reduce(OpKind::kReduceL2, x, {-1});
  } else {
    to.invalid(fmt::format("unknown norm {}", quote(norm)));
  }
  const ValueId none = to.op(OpKind::kEqual, {divisor, to.float_number(0)});
  to.result(OpKind::kDiv, {x, to.op(OpKind::kWhere, {none, to.float_number(1), divisor})});
  return to.finish();
}

Status rewrite_imputer(FileNode& file) {
  Rewriting to(file);
  const auto floats = to.take<std::vector<float>>("imputed_value_floats", {});
  const auto ints = to.take<std::vector<std::int64_t>>("imputed_value_int64s", {});
  const float replaced_float = to.take_float("replaced_value_float", 0);
  const std::int64_t replaced_int = to.take_int("replaced_value_int64", 0);
  const ValueId x = to.need(0);
  const DType type = to.dtype(x);
  const bool real = info_of(type).kind == DTypeClass::kFloat;
  if (floats.empty() == ints.empty() || real == floats.empty())
    to.invalid("needs imputed values of the type of its input");
  const ValueId values = to.cast_to(real ? per_feature(to, floats) : to.ints(ints), type);
  ValueId missing;
  if (real && replaced_float != replaced_float) {
    missing = to.op(OpKind::kIsNaN, {x});
  } else {
    const ValueId old =
        real ? to.number(replaced_float, x) : to.cast_to(to.int_number(replaced_int), type);
    missing = to.op(OpKind::kEqual, {x, old});
  }
  to.result(OpKind::kWhere, {missing, values, x});
  return to.finish();
}

Status rewrite_array_feature_extractor(FileNode& file) {
  Rewriting to(file);
  const ValueId x = to.need(0), which = to.reshape(to.need(1), {-1});
  const ValueId rows = to.rank(x) == 1 ? to.unsqueeze(x, {0}) : x;
  to.result(OpKind::kGather, {rows, which}, with_axis(-1));
  return to.finish();
}

/// Inputs side by side; of one that is wider than it was said to be the rest is left out.
Status rewrite_feature_vectorizer(FileNode& file) {
  Rewriting to(file);
  const auto widths = to.take<std::vector<std::int64_t>>("inputdimensions", {});
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < to.inputs() && !to.failed(); ++i) {
    ValueId x = to.cast_to(to.need(i), DType::kF32);
    if (to.rank(x) == 1) x = to.unsqueeze(x, {0});
    const std::int64_t width = to.dimension(x, 1);
    if (i < widths.size() && width >= 0 && width < widths[i])
      to.invalid(fmt::format("input {} has {} columns, not {}", i, width, widths[i]));
    if (i < widths.size() && width > widths[i]) x = to.slice(x, 0, widths[i], 1);
    parts.push_back(x);
  }
  to.result(to.concat(std::move(parts), 1));
  return to.finish();
}

/// Unknown categories give zeros. Categories that are strings are left to a kernel.
Status rewrite_one_hot_encoder(FileNode& file) {
  if (file.node.attributes.find("cats_strings") != nullptr) {
    file.node.op = OpKind::kOneHotEncoder;
    return {};
  }
  Rewriting to(file);
  const auto categories = to.take<std::vector<std::int64_t>>("cats_int64s", {});
  if (to.take_int("zeros", 1) == 0) to.refuse("zeros = 0 is not supported");
  const ValueId x = to.unsqueeze(to.cast_to(to.need(0), DType::kI64), {-1});
  to.result(to.cast(to.op(OpKind::kEqual, {x, to.ints(categories)}), DType::kF32));
  return to.finish();
}

}  // namespace parallax
