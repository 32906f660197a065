// Operators on tensors of strings. Patterns and vocabularies are read by their kernels
// (kernels/objects).
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ops/objects.h"
#include "ops/params/strings.h"

namespace parallax {
namespace {

InferResult infer_string_concat(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_strings(context, 0));
  PX_RETURN_IF_ERROR(expect_strings(context, 1));
  PX_ASSIGN(Shape shape, broadcast(context.inputs[0].shape, context.inputs[1].shape, context));
  return one_output(DType::kString, std::move(shape));
}

InferResult infer_normalizer(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_strings(context, 0));
  PX_RETURN_IF_ERROR(read_params<StringNormalizerParams>(context));
  Shape shape = context.inputs[0].shape;
  const bool row = shape.size() == 2 && shape[0].constant().value_or(1) == 1;
  if (shape.size() != 1 && !row) return fail(context, "takes [C] and [1, C]");
  if (row) shape[0] = 1;
  shape.back() = context.fresh_symbol("kept");
  return one_output(DType::kString, std::move(shape));
}

InferResult infer_string_split(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_strings(context, 0));
  PX_ASSIGN(const auto params, read_params<StringSplitParams>(context));
  if (params.maxsplit.value_or(0) < 0) return fail(context, "maxsplit is negative");
  const Shape& shape = context.inputs[0].shape;
  Shape parts = shape;
  parts.push_back(context.fresh_symbol("parts"));
  return std::vector<InferOutput>{{DType::kString, std::move(parts), {}}, {DType::kI64, shape, {}}};
}

InferResult infer_full_match(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_strings(context, 0));
  PX_ASSIGN(const auto params, read_params<RegexFullMatchParams>(context));
  if (!params.pattern) return fail(context, "attribute 'pattern' is missing");
  return one_output(DType::kBool, context.inputs[0].shape);
}

InferResult infer_tf_idf(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_ASSIGN(const auto params, read_params<TfIdfVectorizerParams>(context));
  const bool strings = params.pool_strings.has_value();
  if (strings == params.pool_int64s.has_value())
    return fail(context, "must have one of pool_strings and pool_int64s");
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, strings ? dtype_bit(DType::kString) : kIndexTypes));
  const auto& indexes = params.ngram_indexes;
  const auto most = std::ranges::max_element(indexes);
  const auto length = most == indexes.end() ? std::nullopt : checked_add(*most, 1);
  if (!length || *std::ranges::min_element(indexes) < 0)
    return fail(context, "ngram_indexes must be numbers from 0 on");
  Shape shape = context.inputs[0].shape;
  if (shape.size() != 1 && shape.size() != 2) return fail(context, "takes [C] and [N, C]");
  shape.back() = Expr(*length);
  return one_output(DType::kF32, std::move(shape));
}

}  // namespace

const OpDef& op_def_StringConcat() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kStringConcat, infer_string_concat, 20);
    d.min_inputs = d.max_inputs = 2;
    return d;
  }();
  return def;
}

const OpDef& op_def_StringNormalizer() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kStringNormalizer, infer_normalizer, 10);
    d.attributes = attributes_of<StringNormalizerParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_StringSplit() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kStringSplit, infer_string_split, 20);
    d.max_outputs = 2;
    d.attributes = attributes_of<StringSplitParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_RegexFullMatch() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kRegexFullMatch, infer_full_match, 20);
    d.attributes = attributes_of<RegexFullMatchParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_TfIdfVectorizer() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kTfIdfVectorizer, infer_tf_idf, 9);
    d.attributes = attributes_of<TfIdfVectorizerParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
