#include "ops/objects.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ops/params/numbers.h"

namespace parallax {

Container container_of(const InferInput& input) {
  if (input.container != nullptr) return *input.container;
  Container tensor;
  tensor.filled = true;
  tensor.dims.emplace();
  for (const Expr& dim : input.shape) tensor.dims->push_back(dim.constant().value_or(-1));
  return tensor;
}

Result<InferOutput> value_of(const InferContext& context, DType dtype, const Container& container) {
  if (!container.types.empty())
    return InferOutput{dtype, {}, {}, std::make_shared<const Container>(container)};
  if (!container.filled || !container.dims) {
    return fail(context,
                container.filled ? "the rank of the tensors in it is not known"
                                 : "there is never a tensor in it",
                ErrorCode::kUnsupported);
  }
  InferOutput output{dtype, {}, {}};
  for (const std::int64_t dim : *container.dims)
    output.shape.push_back(dim < 0 ? context.fresh_symbol("element") : Expr(dim));
  return output;
}

Status expect_type(const InferContext& context, std::size_t i, ObjectType type) {
  if (!context.has(i)) return {};
  const Container* const container = context.inputs[i].container;
  if (container != nullptr && container->types[0] == type) return {};
  return fail(context, fmt::format("input {} must be a {}", i, to_string(type)));
}

Status expect_tensor(const InferContext& context, std::size_t i) {
  if (!context.has(i) || context.inputs[i].container == nullptr) return {};
  return fail(context, fmt::format("input {} must be a tensor", i));
}

Status expect_strings(const InferContext& context, std::size_t i) {
  PX_RETURN_IF_ERROR(expect_tensor(context, i));
  return expect_dtype(context, i, dtype_bit(DType::kString));
}

InferResult infer_string_cast(const InferContext& context) {
  const std::int64_t to = context.node.op == OpKind::kCastLike
                              ? info_of(context.inputs[1].dtype).onnx
                              : params_of<TargetParams>(context.node).to;
  const auto dtype = dtype_from_onnx(to);
  if (!dtype || (!contains(kAllTypes, *dtype) && *dtype != DType::kString)) {
    return fail(context, fmt::format("cannot cast to ONNX element type {}", to),
                ErrorCode::kUnsupported);
  }
  return one_output(*dtype, context.inputs[0].shape);
}

OpDef on_objects(OpKind kind, InferResult (*infer)(const InferContext&), int since_opset) {
  OpDef def(kind, whole_tensors(WorkKind::kElementwise, ConformanceForm::kObjects));
  def.since = since_opset;
  def.infer = infer;
  def.macs = macs_none;
  def.objects = true;
  return def;
}

bool moves_strings(OpKind kind) {
  switch (kind) {
    case OpKind::kCast:
    case OpKind::kCastLike:
    case OpKind::kCompress:
    case OpKind::kConcat:
    case OpKind::kDepthToSpace:
    case OpKind::kEqual:
    case OpKind::kExpand:
    case OpKind::kFlatten:
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kGatherND:
    case OpKind::kIdentity:
    case OpKind::kNonZero:
    case OpKind::kOneHot:
    case OpKind::kPad:
    case OpKind::kReshape:
    case OpKind::kReverseSequence:
    case OpKind::kScatterElements:
    case OpKind::kScatterND:
    case OpKind::kShape:
    case OpKind::kSize:
    case OpKind::kSlice:
    case OpKind::kSpaceToDepth:
    case OpKind::kSplit:
    case OpKind::kSqueeze:
    case OpKind::kTile:
    case OpKind::kTranspose:
    case OpKind::kUnique:
    case OpKind::kUnsqueeze:
    case OpKind::kWhere:
      return true;
    default:
      return false;
  }
}

bool runs_on_objects(const Graph& graph, const Node& node) {
  const OpDef& def = op_def(node.op);
  if (def.control_flow) return false;
  const auto object = [&](ValueId id) { return id.valid() && is_object(graph.values[id]); };
  return def.objects || std::ranges::any_of(node.inputs, object) ||
         std::ranges::any_of(node.outputs, object);
}

}  // namespace parallax
