// Sequences and optionals. A sequence's type has what is known of all its tensors; what differs
// from one to the next is a dimension that only running tells.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ops/objects.h"
#include "ops/params/sequences.h"

namespace parallax {
namespace {

std::vector<InferOutput> one_container(DType dtype, ObjectType type, const Container& inside) {
  return {InferOutput{dtype, {}, {}, wrap(type, inside)}};
}

/// The same sequence, of which the elements may be others.
std::vector<InferOutput> same_sequence(const InferInput& input) {
  return {InferOutput{input.dtype, {}, {}, std::make_shared<const Container>(*input.container)}};
}

Status expect_position(const InferContext& context, std::size_t i) {
  PX_RETURN_IF_ERROR(expect_tensor(context, i));
  PX_RETURN_IF_ERROR(expect_dtype(context, i, kIndexTypes));
  return expect_one_element(context, i);
}

Result<DType> element_type(const InferContext& context, std::int64_t code) {
  const auto dtype = dtype_from_onnx(code);
  if (dtype && (contains(kAllTypes, *dtype) || *dtype == DType::kString)) return *dtype;
  return fail(context, fmt::format("no sequence of ONNX element type {}", code),
              ErrorCode::kUnsupported);
}

/// Elements of a sequence are alike in type.
Status join_into(const InferContext& context, std::size_t i, DType dtype, Container& all) {
  const InferInput& input = context.inputs[i];
  const Container one = container_of(input);
  if (input.dtype != dtype || one.types != all.types || one.key != all.key)
    return fail(context, fmt::format("input {} is of another type than the sequence", i));
  join_tensors(all, one);
  return {};
}

InferResult infer_sequence_construct(const InferContext& context) {
  Container all = container_of(context.inputs[0]);
  if (all.types.size() >= kMaxContainers) return fail(context, "nested too deeply");
  const DType dtype = context.inputs[0].dtype;
  for (std::size_t i = 1; i < context.inputs.size(); ++i)
    PX_RETURN_IF_ERROR(join_into(context, i, dtype, all));
  return one_container(dtype, ObjectType::kSequence, all);
}

InferResult infer_sequence_empty(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<SequenceEmptyParams>(context));
  PX_ASSIGN(const DType dtype, element_type(context, params.dtype));
  return one_container(dtype, ObjectType::kSequence, {});
}

InferResult infer_sequence_at(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kSequence));
  PX_RETURN_IF_ERROR(expect_position(context, 1));
  const InferInput& input = context.inputs[0];
  PX_ASSIGN(InferOutput output, value_of(context, input.dtype, unwrap(*input.container)));
  return std::vector<InferOutput>{std::move(output)};
}

InferResult infer_sequence_insert(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kSequence));
  PX_RETURN_IF_ERROR(expect_position(context, 2));
  const InferInput& input = context.inputs[0];
  Container all = unwrap(*input.container);
  PX_RETURN_IF_ERROR(join_into(context, 1, input.dtype, all));
  return one_container(input.dtype, ObjectType::kSequence, all);
}

InferResult infer_sequence_erase(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kSequence));
  PX_RETURN_IF_ERROR(expect_position(context, 1));
  return same_sequence(context.inputs[0]);
}

InferResult infer_sequence_length(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kSequence));
  return one_output(DType::kI64, {});
}

/// Dimensions of a part; -1 along the axis where the parts may differ.
InferResult infer_sequence_split(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_tensor(context, 0));
  PX_RETURN_IF_ERROR(expect_tensor(context, 1));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kIndexTypes));
  const InferInput& input = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<SplitToSequenceParams>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(input)));
  if (context.has(1) && context.inputs[1].shape.size() > 1)
    return fail(context, "the lengths of the parts must be a number or a list");
  Container part = container_of(input);
  std::vector<std::int64_t>& dims = *part.dims;
  const auto split = context.known_ints(1);
  if (split && std::ranges::any_of(*split, [](std::int64_t n) { return n < 0; }))
    return fail(context, "a part has a negative length");
  if (context.has(1)) {
    const bool alike = split && !split->empty() && !context.inputs[1].shape.empty() &&
                       std::ranges::count(*split, split->front()) == std::ssize(*split);
    dims[static_cast<std::size_t>(axis)] = alike ? split->front() : -1;
  } else if (params.keepdims) {
    dims[static_cast<std::size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  return one_container(input.dtype, ObjectType::kSequence, part);
}

InferResult infer_sequence_concat(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_type(context, 0, ObjectType::kSequence));
  const InferInput& input = context.inputs[0];
  const Container all = unwrap(*input.container);
  PX_ASSIGN(InferOutput output, value_of(context, input.dtype, all));
  if (output.container != nullptr) return fail(context, "concatenates tensors only");
  PX_ASSIGN(const auto params, read_params<ConcatFromSequenceParams>(context));
  const bool add = params.new_axis;
  const int rank = static_cast<int>(output.shape.size()) + (add ? 1 : 0);
  if (!params.axis) return fail(context, "attribute 'axis' is missing");
  PX_ASSIGN(const int axis, checked_axis(context, *params.axis, rank));
  if (add) output.shape.emplace(output.shape.begin() + axis);
  output.shape[static_cast<std::size_t>(axis)] = context.fresh_symbol("all");
  return std::vector<InferOutput>{std::move(output)};
}

/// `type`, as the loader writes a TypeProto: ONNX's element type, then the types around it.
Result<InferOutput> declared_type(const InferContext& context) {
  const auto code = params_of<OptionalParams>(context.node).type;
  if (code.empty()) return fail(context, "neither an element nor its type");
  PX_ASSIGN(const DType dtype, element_type(context, code[0]));
  Container none;
  for (std::size_t i = 1; i < code.size(); ++i) {
    if (code[i] < 1 || code[i] > 2 || i >= kMaxContainers)
      return fail(context, "a type that is not supported", ErrorCode::kUnsupported);
    none.types.push_back(static_cast<ObjectType>(code[i]));
  }
  return InferOutput{dtype, {}, {}, wrap(ObjectType::kOptional, none)};
}

InferResult infer_optional_value(const InferContext& context) {
  if (!context.has(0)) {
    PX_ASSIGN(InferOutput output, declared_type(context));
    return std::vector<InferOutput>{std::move(output)};
  }
  const InferInput& input = context.inputs[0];
  const Container element = container_of(input);
  if (element.types.size() >= kMaxContainers) return fail(context, "nested too deeply");
  return one_container(input.dtype, ObjectType::kOptional, element);
}

InferResult infer_get_element(const InferContext& context) {
  const InferInput& input = context.inputs[0];
  Container element = container_of(input);
  if (input.container == nullptr)
    return std::vector<InferOutput>{InferOutput{input.dtype, input.shape, {}}};
  if (element.types[0] == ObjectType::kOptional) element = unwrap(element);
  PX_ASSIGN(InferOutput output, value_of(context, input.dtype, element));
  return std::vector<InferOutput>{std::move(output)};
}

InferResult infer_has_element(const InferContext&) { return one_output(DType::kBool, {}); }

OpDef with_input_count(OpDef def, int least, int most) {
  def.min_inputs = least;
  def.max_inputs = most;
  return def;
}

}  // namespace

const OpDef& op_def_SequenceConstruct() {
  static const OpDef def =
      with_input_count(on_objects(OpKind::kSequenceConstruct, infer_sequence_construct, 11), 1, -1);
  return def;
}

const OpDef& op_def_SequenceEmpty() {
  static const OpDef def = [] {
    OpDef d = with_input_count(on_objects(OpKind::kSequenceEmpty, infer_sequence_empty, 11), 0, 0);
    d.attributes = attributes_of<SequenceEmptyParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_SequenceAt() {
  static const OpDef def =
      with_input_count(on_objects(OpKind::kSequenceAt, infer_sequence_at, 11), 2, 2);
  return def;
}

const OpDef& op_def_SequenceInsert() {
  static const OpDef def =
      with_input_count(on_objects(OpKind::kSequenceInsert, infer_sequence_insert, 11), 2, 3);
  return def;
}

const OpDef& op_def_SequenceErase() {
  static const OpDef def =
      with_input_count(on_objects(OpKind::kSequenceErase, infer_sequence_erase, 11), 1, 2);
  return def;
}

const OpDef& op_def_SequenceLength() {
  static const OpDef def = on_objects(OpKind::kSequenceLength, infer_sequence_length, 11);
  return def;
}

const OpDef& op_def_SplitToSequence() {
  static const OpDef def = [] {
    OpDef d =
        with_input_count(on_objects(OpKind::kSplitToSequence, infer_sequence_split, 11), 1, 2);
    d.attributes = attributes_of<SplitToSequenceParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_ConcatFromSequence() {
  static const OpDef def = [] {
    OpDef d = on_objects(OpKind::kConcatFromSequence, infer_sequence_concat, 11);
    d.attributes = attributes_of<ConcatFromSequenceParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Optional() {
  static const OpDef def = [] {
    OpDef d = with_input_count(on_objects(OpKind::kOptional, infer_optional_value, 15), 0, 1);
    d.attributes = attributes_of<OptionalParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_OptionalGetElement() {
  static const OpDef def = on_objects(OpKind::kOptionalGetElement, infer_get_element, 15);
  return def;
}

const OpDef& op_def_OptionalHasElement() {
  static const OpDef def =
      with_input_count(on_objects(OpKind::kOptionalHasElement, infer_has_element, 15), 0, 1);
  return def;
}

}  // namespace parallax
