// Operators of ai.onnx.ml on categories and maps: what is looked up lies in attributes.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/objects.h"

namespace parallax {
namespace {

constexpr DTypeSet kStringType = dtype_bit(DType::kString);
constexpr DTypeSet kLabelTypes = dtype_bit(DType::kF32) | dtype_bit(DType::kF64) |
                                 dtype_bit(DType::kI16) | dtype_bit(DType::kI32) |
                                 dtype_bit(DType::kI64) | kStringType;

/// A list as an attribute of one of several names.
struct LabelList {
  DType dtype = DType::kF32;
  std::int64_t size = 0;
};

/// The one list among `<what>_floats`, `_int64s`, `_strings` and `_tensor`.
Result<LabelList> label_list(const InferContext& context, std::string_view what) {
  std::vector<LabelList> found;
  const Attributes& attributes = context.node.attributes;
  const auto name = [&](std::string_view suffix) { return fmt::format("{}_{}", what, suffix); };
  if (const auto* const value = attributes.find(name("floats")))
    found.push_back({DType::kF32, std::ssize(std::get<std::vector<float>>(*value))});
  if (const auto* const value = attributes.find(name("int64s")))
    found.push_back({DType::kI64, std::ssize(std::get<std::vector<std::int64_t>>(*value))});
  if (const auto* const value = attributes.find(name("strings")))
    found.push_back({DType::kString, std::ssize(std::get<std::vector<std::string>>(*value))});
  if (const auto* const value = attributes.find(name("tensor"))) {
    const auto& tensor = std::get<Constant>(*value);
    found.push_back({tensor.dtype, tensor.dims.elements()});
  }
  if (found.size() == 1) return found[0];
  return fail(context, fmt::format("must have one list of {}, not {}", what, found.size()));
}

InferResult infer_label_encoder(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_ASSIGN(const LabelList keys, label_list(context, "keys"));
  PX_ASSIGN(const LabelList values, label_list(context, "values"));
  if (keys.size != values.size)
    return fail(context, fmt::format("{} keys and {} values", keys.size, values.size));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(keys.dtype) & kLabelTypes));
  if (!contains(kLabelTypes, values.dtype))
    return fail(context, fmt::format("gives no {}", to_string(values.dtype)));
  if (const auto* const value = context.node.attributes.find("default_tensor")) {
    const auto& tensor = std::get<Constant>(*value);
    if (tensor.dtype != values.dtype || tensor.dims.elements() != 1)
      return fail(context, "default_tensor must be one element of the values' type");
  }
  return one_output(values.dtype, context.inputs[0].shape);
}

InferResult infer_category_mapper(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kStringType | kI64Types));
  const auto ints = context.node.attributes.get_ints("cats_int64s").size();
  const auto strings =
      context.node.attributes.get<std::vector<std::string>>("cats_strings", {}).size();
  if (ints != strings)
    return fail(context, fmt::format("{} numbers and {} strings", ints, strings));
  const bool from_strings = context.inputs[0].dtype == DType::kString;
  return one_output(from_strings ? DType::kI64 : DType::kString, context.inputs[0].shape);
}

InferResult infer_one_hot_encoder(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_ASSIGN(const LabelList cats, label_list(context, "cats"));
  const bool strings = cats.dtype == DType::kString;
  PX_RETURN_IF_ERROR(expect_dtype(
      context, 0, strings ? kStringType : kLabelTypes & ~kStringType & ~dtype_bit(DType::kI16)));
  PX_RETURN_IF_ERROR(flag_attribute(context, "zeros", true));
  Shape shape = context.inputs[0].shape;
  shape.emplace_back(cats.size);
  return one_output(DType::kF32, std::move(shape));
}

InferResult infer_zip_map(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, dtype_bit(DType::kF32)));
  PX_ASSIGN(const LabelList keys, label_list(context, "classlabels"));
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
  const auto* const ints = context.node.attributes.find("int64_vocabulary");
  const auto* const strings = context.node.attributes.find("string_vocabulary");
  if ((ints == nullptr) == (strings == nullptr)) return fail(context, "must have one vocabulary");
  if (map->key != (ints != nullptr ? DType::kI64 : DType::kString))
    return fail(context, "the keys are of another type than the vocabulary");
  const std::int64_t size = ints != nullptr
                                ? std::ssize(std::get<std::vector<std::int64_t>>(*ints))
                                : std::ssize(std::get<std::vector<std::string>>(*strings));
  return one_output(context.inputs[0].dtype, {Expr(1), Expr(size)});
}

InferResult infer_cast_map(const InferContext& context) {
  PX_ASSIGN(const Container* const map, map_input(context));
  if (map->key != DType::kI64) return fail(context, "the keys must be integers");
  PX_ASSIGN(const std::string to, choice_attribute(context, "cast_to", "TO_FLOAT",
                                                   {"TO_FLOAT", "TO_STRING", "TO_INT64"}));
  PX_ASSIGN(const std::string form,
            choice_attribute(context, "map_form", "DENSE", {"DENSE", "SPARSE"}));
  const std::int64_t most = context.node.attributes.get_int("max_map", 1);
  if (most < 0) return fail(context, "max_map is negative");
  const DType dtype = to == "TO_FLOAT"    ? DType::kF32
                      : to == "TO_STRING" ? DType::kString
                                          : DType::kI64;
  const Expr length = form == "SPARSE" ? Expr(most) : context.fresh_symbol("map");
  return one_output(dtype, {Expr(1), length});
}

}  // namespace

const OpDef& op_def_LabelEncoder() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kLabelEncoder, infer_label_encoder, 1);
    d.attributes = {
        {"default_float", AttributeType::kFloat},    {"default_int64", AttributeType::kInt},
        {"default_string", AttributeType::kString},  {"default_tensor", AttributeType::kTensor},
        {"keys_floats", AttributeType::kFloats},     {"keys_int64s", AttributeType::kInts},
        {"keys_strings", AttributeType::kStrings},   {"keys_tensor", AttributeType::kTensor},
        {"values_floats", AttributeType::kFloats},   {"values_int64s", AttributeType::kInts},
        {"values_strings", AttributeType::kStrings}, {"values_tensor", AttributeType::kTensor}};
    return d;
  }();
  return def;
}

const OpDef& op_def_CategoryMapper() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kCategoryMapper, infer_category_mapper, 1);
    d.attributes = {{"cats_int64s", AttributeType::kInts},
                    {"cats_strings", AttributeType::kStrings},
                    {"default_int64", AttributeType::kInt},
                    {"default_string", AttributeType::kString}};
    return d;
  }();
  return def;
}

const OpDef& op_def_OneHotEncoder() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kOneHotEncoder, infer_one_hot_encoder, 1);
    d.attributes = {{"cats_int64s", AttributeType::kInts},
                    {"cats_strings", AttributeType::kStrings},
                    {"zeros", AttributeType::kInt}};
    return d;
  }();
  return def;
}

const OpDef& op_def_ZipMap() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kZipMap, infer_zip_map, 1);
    d.attributes = {{"classlabels_int64s", AttributeType::kInts},
                    {"classlabels_strings", AttributeType::kStrings}};
    return d;
  }();
  return def;
}

const OpDef& op_def_DictVectorizer() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kDictVectorizer, infer_dict_vectorizer, 1);
    d.attributes = {{"int64_vocabulary", AttributeType::kInts},
                    {"string_vocabulary", AttributeType::kStrings}};
    return d;
  }();
  return def;
}

const OpDef& op_def_CastMap() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kCastMap, infer_cast_map, 1);
    d.attributes = {{"cast_to", AttributeType::kString},
                    {"map_form", AttributeType::kString},
                    {"max_map", AttributeType::kInt}};
    return d;
  }();
  return def;
}

}  // namespace parallax
