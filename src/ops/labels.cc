// Operators of ai.onnx.ml on categories and maps: what is looked up lies in attributes.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/objects.h"
#include "ops/params/labels.h"

namespace parallax {
namespace {

constexpr DTypeSet kStringType = dtype_bit(DType::kString);
constexpr DTypeSet kLabelTypes = dtype_bit(DType::kF32) | dtype_bit(DType::kF64) |
                                 dtype_bit(DType::kI16) | dtype_bit(DType::kI32) |
                                 dtype_bit(DType::kI64) | kStringType;

/// Type and length of a list.
struct LabelList {
  DType dtype = DType::kF32;
  std::int64_t size = 0;
};

std::vector<LabelList> lists_in(const OneOfLists& lists) {
  std::vector<LabelList> found;
  if (lists.floats) found.push_back({DType::kF32, std::ssize(*lists.floats)});
  if (lists.int64s) found.push_back({DType::kI64, std::ssize(*lists.int64s)});
  if (lists.strings) found.push_back({DType::kString, std::ssize(*lists.strings)});
  if (lists.tensor) found.push_back({lists.tensor->dtype, lists.tensor->dims.elements()});
  return found;
}

/// The one list that is given. Errors: kInvalidModel for more or fewer.
Result<LabelList> label_list(const InferContext& context, std::string_view what,
                             const OneOfLists& lists) {
  const std::vector<LabelList> found = lists_in(lists);
  if (found.size() == 1) return found[0];
  return fail(context, fmt::format("must have one list of {}, not {}", what, found.size()));
}

InferResult infer_label_encoder(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_ASSIGN(const auto params, read_params<LabelEncoderParams>(context));
  PX_ASSIGN(const LabelList keys, label_list(context, "keys", params.keys));
  PX_ASSIGN(const LabelList values, label_list(context, "values", params.values));
  if (keys.size != values.size)
    return fail(context, fmt::format("{} keys and {} values", keys.size, values.size));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(keys.dtype) & kLabelTypes));
  if (!contains(kLabelTypes, values.dtype))
    return fail(context, fmt::format("gives no {}", to_string(values.dtype)));
  const auto& other = params.default_tensor;
  if (other && (other->dtype != values.dtype || other->dims.elements() != 1))
    return fail(context, "default_tensor must be one element of the values' type");
  return one_output(values.dtype, context.inputs[0].shape);
}

InferResult infer_category_mapper(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kStringType | kI64Types));
  PX_ASSIGN(const auto params, read_params<CategoryMapperParams>(context));
  const auto ints = params.cats_int64s.size(), strings = params.cats_strings.size();
  if (ints != strings)
    return fail(context, fmt::format("{} numbers and {} strings", ints, strings));
  const bool from_strings = context.inputs[0].dtype == DType::kString;
  return one_output(from_strings ? DType::kI64 : DType::kString, context.inputs[0].shape);
}

InferResult infer_one_hot_encoder(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_ASSIGN(const auto params, read_params<OneHotEncoderParams>(context));
  PX_ASSIGN(const LabelList cats, label_list(context, "cats", params.cats));
  const bool strings = cats.dtype == DType::kString;
  PX_RETURN_IF_ERROR(expect_dtype(
      context, 0, strings ? kStringType : kLabelTypes & ~kStringType & ~dtype_bit(DType::kI16)));
  Shape shape = context.inputs[0].shape;
  shape.emplace_back(cats.size);
  return one_output(DType::kF32, std::move(shape));
}

InferResult infer_zip_map(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(DType::kF32)));
  PX_ASSIGN(const auto params, read_params<ZipMapParams>(context));
  PX_ASSIGN(const LabelList keys, label_list(context, "classlabels", params.classlabels));
  const Shape& shape = context.inputs[0].shape;
  if ((shape.size() != 1 && shape.size() != 2) ||
      shape.back().constant().value_or(keys.size) != keys.size)
    return fail(context, fmt::format("takes rows of {} values", keys.size));
  auto type = std::make_shared<Container>();
  type->types = {ObjectType::kSequence, ObjectType::kMap};
  type->key = keys.dtype;
  type->filled = true;
  type->dims.emplace();
  return std::vector<InferOutput>{InferOutput{DType::kF32, {}, {}, std::move(type)}};
}

Result<const Container*> map_input(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kMap));
  return context.inputs[0].container;
}

InferResult infer_dict_vectorizer(const InferContext& context) {
  PX_ASSIGN(const Container* const map, map_input(context));
  PX_ASSIGN(const auto params, read_params<DictVectorizerParams>(context));
  const std::vector<LabelList> found = lists_in(params.vocabulary);
  if (found.size() != 1) return fail(context, "must have one vocabulary");
  if (map->key != found[0].dtype)
    return fail(context, "the keys are of another type than the vocabulary");
  return one_output(context.inputs[0].dtype, {Expr(1), Expr(found[0].size)});
}

InferResult infer_cast_map(const InferContext& context) {
  PX_ASSIGN(const Container* const map, map_input(context));
  if (map->key != DType::kI64) return fail(context, "the keys must be integers");
  PX_ASSIGN(const auto params, read_params<CastMapParams>(context));
  if (params.max_map < 0) return fail(context, "max_map is negative");
  const DType dtype = params.cast_to == MapCast::kFloat    ? DType::kF32
                      : params.cast_to == MapCast::kString ? DType::kString
                                                           : DType::kI64;
  const bool sparse = params.map_form == MapForm::kSparse;
  const Expr length = sparse ? Expr(params.max_map) : context.fresh_symbol("map");
  return one_output(dtype, {Expr(1), length});
}

}  // namespace

const OpDef& op_def_LabelEncoder() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kLabelEncoder, infer_label_encoder, 1);
    d.attributes = attributes_of<LabelEncoderParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_CategoryMapper() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kCategoryMapper, infer_category_mapper, 1);
    d.attributes = attributes_of<CategoryMapperParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_OneHotEncoder() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kOneHotEncoder, infer_one_hot_encoder, 1);
    d.attributes = attributes_of<OneHotEncoderParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_ZipMap() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kZipMap, infer_zip_map, 1);
    d.attributes = attributes_of<ZipMapParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_DictVectorizer() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kDictVectorizer, infer_dict_vectorizer, 1);
    d.attributes = attributes_of<DictVectorizerParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_CastMap() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kCastMap, infer_cast_map, 1);
    d.attributes = attributes_of<CastMapParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
