// Random numbers: RandomUniform and RandomNormal, with a shape or like a tensor; Bernoulli,
// Multinomial, Dropout. All are drawn from the seed and the element's place, so that they are the
// same on any number of threads.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/random.h"

namespace parallax {

namespace {

InferResult infer_random(const InferContext& context) {
  const auto params = params_of<ShapedParams<RandomParams>>(context.node);
  PX_ASSIGN(const DType dtype, stated_dtype(context, params.dtype, kFloatTypes, DType::kF32));
  if (!params.shape) return fail(context, "shape is missing");
  Shape shape;
  for (const std::int64_t dim : *params.shape) {
    if (dim < 0) return fail(context, "the shape has a negative dimension");
    shape.emplace_back(dim);
  }
  return one_output(dtype, std::move(shape));
}

InferResult infer_random_like(const InferContext& context) {
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const DType dtype, stated_dtype(context, params_of<RandomParams>(context.node).dtype,
                                            kFloatTypes, x.dtype));
  return one_output(dtype, x.shape);
}

InferResult infer_bernoulli(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const DType dtype, stated_dtype(context, params_of<RandomParams>(context.node).dtype,
                                            kNumericTypes | kBoolTypes, x.dtype));
  return one_output(dtype, x.shape);
}

InferResult infer_multinomial(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 2));
  PX_ASSIGN(const DType dtype, stated_dtype(context, params_of<RandomParams>(context.node).dtype,
                                            kIndexTypes, DType::kI32));
  const std::int64_t samples = params_of<MultinomialParams>(context.node).sample_size;
  if (samples < 1) return fail(context, fmt::format("sample_size {} is not possible", samples));
  const Shape& shape = context.inputs[0].shape;
  if (shape[1] == Expr(0)) return fail(context, "there is no class to choose from");
  return one_output(dtype, {shape[0], Expr(samples)});
}

InferResult infer_dropout(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 2, kBoolTypes));
  for (const std::size_t i : {1U, 2U}) PX_RETURN_IF_ERROR(expect_one_element(context, i));
  const InferInput& x = context.inputs[0];
  auto outputs = one_output(x.dtype, x.shape);
  outputs.push_back({DType::kBool, x.shape, std::nullopt});
  return outputs;
}

template <class Params>
OpDef drawing(int opset, OpKind kind, int inputs, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
  def.since = opset;
  def.min_inputs = inputs;
  def.max_inputs = inputs;
  def.attributes = attributes_of<Params>();
  def.infer = infer;
  def.macs = macs_per_output;
  def.random = true;
  return def;
}

}  // namespace

const OpDef& op_def_RandomUniform() {
  static const OpDef def =
      drawing<ShapedParams<UniformParams>>(1, OpKind::kRandomUniform, 0, infer_random);
  return def;
}

const OpDef& op_def_RandomNormal() {
  static const OpDef def =
      drawing<ShapedParams<NormalParams>>(1, OpKind::kRandomNormal, 0, infer_random);
  return def;
}

const OpDef& op_def_RandomUniformLike() {
  static const OpDef def =
      drawing<UniformParams>(1, OpKind::kRandomUniformLike, 1, infer_random_like);
  return def;
}

const OpDef& op_def_RandomNormalLike() {
  static const OpDef def =
      drawing<NormalParams>(1, OpKind::kRandomNormalLike, 1, infer_random_like);
  return def;
}

/// 1 with the probability that the input says, else 0.
const OpDef& op_def_Bernoulli() {
  static const OpDef def = drawing<RandomParams>(15, OpKind::kBernoulli, 1, infer_bernoulli);
  return def;
}

/// Indices drawn by the logarithms of their probabilities, which need not add up to 1.
const OpDef& op_def_Multinomial() {
  static const OpDef def =
      drawing<MultinomialParams>(7, OpKind::kMultinomial, 1, infer_multinomial);
  return def;
}

/// In training, which a loader leaves as it is.
const OpDef& op_def_Dropout() {
  static const OpDef def = [] {
    OpDef d = drawing<DropoutParams>(1, OpKind::kDropout, 1, infer_dropout);
    d.max_inputs = 3;
    d.max_outputs = 2;
    return d;
  }();
  return def;
}

}  // namespace parallax
