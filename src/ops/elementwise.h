// Helpers for the definitions of elementwise operators. Pure functions; only ops/ includes this.
#pragma once

#include <span>
#include <utility>

#include "ops/common.h"

namespace parallax {

/// One input, one output of its type and shape.
template <DTypeSet kTypes, CombineElements kCombine = nullptr>
InferResult infer_unary(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTypes));
  const InferInput& x = context.inputs[0];
  Content content;
  if constexpr (kCombine != nullptr) content = elementwise_content(context, x.shape, kCombine);
  return one_output(x.dtype, x.shape, std::move(content));
}

/// The broadcast shape of all present inputs.
Result<Shape> broadcast_inputs(const InferContext& context);

/// Any number of inputs of one type, an output of that type.
template <DTypeSet kTypes, CombineElements kCombine = nullptr>
InferResult infer_same_type(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
  }
  PX_ASSIGN(Shape shape, broadcast_inputs(context));
  Content content;
  if constexpr (kCombine != nullptr) content = elementwise_content(context, shape, kCombine);
  return one_output(context.inputs[0].dtype, std::move(shape), std::move(content));
}

/// The same with an output of bool.
template <DTypeSet kTypes, CombineElements kCombine>
InferResult infer_predicate(const InferContext& context) {
  PX_ASSIGN(auto outputs, (infer_same_type<kTypes, kCombine>(context)));
  outputs[0].dtype = DType::kBool;
  return outputs;
}

OpDef unary(OpKind kind, const ElementwiseTraits& traits,
            InferResult (*infer)(const InferContext&));
/// `inputs` -1: any number, at least one.
OpDef elementwise(OpKind kind, const ElementwiseTraits& traits, int inputs,
                  InferResult (*infer)(const InferContext&));

}  // namespace parallax
