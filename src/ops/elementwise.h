// Helpers for the definitions of elementwise operators: inference of the common kinds, and OpDefs
// with the fields that they share. Pure functions; only ops/ includes this. Errors: those of
// ops/common.h (kInvalidModel). `kCombine` computes known elements; without one the output has no
// content.
#pragma once

#include <span>
#include <utility>

#include "ops/common.h"

namespace parallax {

/// The floats that IsNaN and IsInf accept (since operator set 20): those of 8 bits too.
inline constexpr DTypeSet kTestedFloatTypes = dtypes_where(
    [](const DTypeInfo& type) { return type.kind == DTypeClass::kFloat && type.bits >= 8; });

/// Infers one input of `kTypes`, one output of its type and shape.
template <DTypeSet kTypes, CombineElements kCombine = nullptr>
InferResult infer_unary(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTypes));
  const InferInput& x = context.inputs[0];
  Content content;
  if constexpr (kCombine != nullptr) content = elementwise_content(context, x.shape, kCombine);
  return one_output(x.dtype, x.shape, std::move(content));
}

/// Returns the broadcast shape of all present inputs; that of a scalar if no input is present.
/// Errors: kInvalidModel if two certainly do not broadcast.
Result<Shape> broadcast_inputs(const InferContext& context);

/// Infers any number of inputs of one type of `kTypes`, and an output of that type and of their
/// broadcast shape. REQUIRES: input 0 is present.
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

/// Infers the same with an output of bool.
template <DTypeSet kTypes, CombineElements kCombine>
InferResult infer_predicate(const InferContext& context) {
  PX_ASSIGN(auto outputs, (infer_same_type<kTypes, kCombine>(context)));
  outputs[0].dtype = DType::kBool;
  return outputs;
}

/// Returns the definition of an operator with one input; the caller adds attributes and the
/// operator set (since()).
OpDef unary(OpKind kind, const ElementwiseTraits& traits,
            InferResult (*infer)(const InferContext&));
/// Returns the definition of an operator with `inputs` inputs, all required; -1: any number, at
/// least one. It counts one operation for each output element.
OpDef elementwise(OpKind kind, const ElementwiseTraits& traits, int inputs,
                  InferResult (*infer)(const InferContext&));

}  // namespace parallax
