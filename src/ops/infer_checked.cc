#include "ops/infer_checked.h"

#include <fmt/core.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "ops/common.h"
#include "ops/objects.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

bool fits(DType dtype, const Expr& element) {
  if (element.overflow()) return false;
  const auto value = element.constant();
  if (!value) return dtype != DType::kBool;
  return dispatch<kContentTypes>(dtype, [&](auto type) {
    using Limits = std::numeric_limits<typename decltype(type)::type>;
    return *value >= Limits::min() && *value <= Limits::max();
  });
}

/// Drops content that cannot be the elements of `output`: too many, wrapped around, not 0 or 1.
void check_content(InferOutput& output) {
  if (!output.content) return;
  const auto size = content_size(output.shape);
  bool good = size && *size == output.content->size();
  for (const Expr& element : *output.content) good = good && fits(output.dtype, element);
  if (!good) output.content.reset();
}

Status check_output(const InferContext& context, const InferOutput& output) {
  if (output.shape.size() > static_cast<std::size_t>(Dims::kMaxRank)) {
    return fail(context,
                fmt::format("rank {} is more than {}", output.shape.size(), Dims::kMaxRank),
                ErrorCode::kUnsupported);
  }
  const OpDef& def = op_def(context.node.op);
  const bool of_strings = output.dtype == DType::kString;
  if (of_strings && !def.objects && !def.control_flow && !moves_strings(def.kind)) {
    return fail(context, "gives no strings", ErrorCode::kUnsupported);
  }
  if (!of_strings && info_of(output.dtype).bits == 0) {
    return fail(context, fmt::format("a result of {} has no size", to_string(output.dtype)),
                ErrorCode::kUnsupported);
  }
  bool all_known = true;
  for (const Expr& dim : output.shape) {
    const auto n = dim.constant();
    if (dim.overflow())
      return fail(context, "a dimension of the result is too large or too complex");
    if (!n) {
      all_known = false;
      continue;
    }
    if (*n < 0) return fail(context, fmt::format("a dimension of the result is negative: {}", *n));
  }
  if (!all_known) return {};
  if (of_strings ? !concrete(output.shape)->checked_elements()
                 : !bytes_of(output.dtype, *concrete(output.shape))) {
    return fail(context, "the result is too large for any memory");
  }
  return {};
}

/// A type that no operator which moves strings gives to anything but what it moves.
constexpr DType kStandIn = DType::kU8;

InferResult infer_strings(const InferContext& context) {
  std::vector<InferInput> inputs(context.inputs.begin(), context.inputs.end());
  for (InferInput& input : inputs) {
    if (input.dtype != DType::kString) continue;
    input.dtype = kStandIn;
    input.constant = nullptr;
  }
  const InferContext numbers{context.node, inputs, context.fresh_symbol, context.symbols};
  PX_ASSIGN(auto outputs, op_def(context.node.op).infer(numbers));
  for (InferOutput& output : outputs)
    if (output.dtype == kStandIn) output.dtype = DType::kString;
  return outputs;
}

/// Inference of operators for tensors, objects among whose inputs are refused or known.
InferResult infer_tensors(const InferContext& context) {
  const OpKind op = context.node.op;
  bool strings = false;
  for (const InferInput& input : context.inputs) {
    if (input.present && input.container != nullptr) {
      if (op != OpKind::kIdentity) return fail(context, "takes tensors only");
      InferOutput same{input.dtype, {}, {}, std::make_shared<const Container>(*input.container)};
      return std::vector<InferOutput>{std::move(same)};
    }
    strings = strings || (input.present && input.dtype == DType::kString);
  }
  if (op == OpKind::kCast)
    strings = strings || params_of<TargetParams>(context.node).to == info_of(DType::kString).onnx;
  if (strings && (op == OpKind::kCast || op == OpKind::kCastLike))
    return infer_string_cast(context);
  if (!strings) return op_def(op).infer(context);
  if (!moves_strings(op)) return fail(context, "takes no strings", ErrorCode::kUnsupported);
  return infer_strings(context);
}

}  // namespace

InferResult infer_checked(const InferContext& context) {
  const OpDef& def = op_def(context.node.op);
  PX_ASSIGN(auto outputs,
            def.objects || def.control_flow ? def.infer(context) : infer_tensors(context));
  for (InferOutput& output : outputs) {
    PX_RETURN_IF_ERROR(check_output(context, output));
    check_content(output);
  }
  if (outputs.size() < context.node.outputs.size()) {
    return fail(context, "more outputs than the operator has");
  }
  return outputs;
}

}  // namespace parallax
