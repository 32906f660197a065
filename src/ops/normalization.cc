// Softmax, LogSoftmax, Hardmax, LpNormalization, LayerNormalization, RMSNormalization and
// BatchNormalization.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/normalization.h"

namespace parallax {

namespace {

InferResult infer_softmax(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<SoftmaxParams>(context));
  PX_RETURN_IF_ERROR(checked_axis(context, params.axis, rank_of(x)));
  return one_output(x.dtype, x.shape);
}

InferResult infer_lp_normalization(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<LpNormalizationParams>(context));
  const std::int64_t p = params.p;
  if (p != 1 && p != 2) return fail(context, fmt::format("p must be 1 or 2, is {}", p));
  return infer_softmax(context);
}

/// Scale and bias must broadcast to the normalised dimensions without widening them.
Status check_affine(const InferContext& context, std::size_t i) {
  if (!context.has(i)) return {};
  const Shape& x = context.inputs[0].shape;
  const Shape& affine = context.inputs[i].shape;
  if (affine.size() > x.size()) return fail(context, fmt::format("input {} has too many axes", i));
  for (std::size_t back = 1; back <= affine.size(); ++back) {
    const Expr& dim = affine[affine.size() - back];
    if (dim == Expr(1) || unify(dim, x[x.size() - back])) continue;
    return fail(context, fmt::format("input {} does not broadcast to input 0", i));
  }
  return {};
}

/// The element type of the statistics that LayerNormalization gives. Sums are as precise as they
/// can be, whatever is asked for.
Result<DType> stash_type(const InferContext& context, std::int64_t type) {
  constexpr std::int64_t kFloat = 1, kBFloat16 = 16;  // as ONNX numbers types
  if (type == kFloat) return DType::kF32;
  if (type == kBFloat16) return DType::kBF16;
  return fail(context, fmt::format("stash_type {} is not covered", type), ErrorCode::kUnsupported);
}

/// Input that is added to the result; set by passes.
constexpr std::size_t kResidual = 3;

InferResult infer_layer_normalization(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_RETURN_IF_ERROR(check_affine(context, 1));
  PX_RETURN_IF_ERROR(check_affine(context, 2));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<LayerNormalizationParams>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(x)));
  PX_ASSIGN(const DType stash, stash_type(context, params.stash_type));
  if (context.has(kResidual) && !same_shape(context.inputs[kResidual].shape, x.shape)) {
    return fail(context, "the residual must have the shape of input 0");
  }
  Shape statistics = x.shape;
  for (auto i = static_cast<std::size_t>(axis); i < statistics.size(); ++i) statistics[i] = 1;
  std::vector<InferOutput> outputs = one_output(x.dtype, x.shape);
  outputs.push_back({stash, statistics, std::nullopt});
  outputs.push_back({stash, std::move(statistics), std::nullopt});
  return outputs;
}

InferResult infer_rms_normalization(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_RETURN_IF_ERROR(check_affine(context, 1));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<LayerNormalizationParams>(context));
  PX_RETURN_IF_ERROR(checked_axis(context, params.axis, rank_of(x)));
  PX_RETURN_IF_ERROR(stash_type(context, params.stash_type));
  return one_output(x.dtype, x.shape);
}

InferResult infer_batch_normalization(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_ASSIGN(const auto params, read_params<BatchNormalizationParams>(context));
  for (std::size_t i = 1; i < context.node.outputs.size(); ++i) {
    if (params.training_mode || !context.node.outputs[i].valid()) continue;
    return fail(context, "only training gives statistics");
  }
  const InferInput& x = context.inputs[0];
  if (x.shape.empty()) return fail(context, "input 0 must have a channel axis");
  const Expr channels = x.shape.size() == 1 ? Expr(1) : x.shape[1];
  for (std::size_t i = 1; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_rank(context, i, 1));
    if (!unify(context.inputs[i].shape[0], channels)) {
      return fail(context, fmt::format("input {} must have one element per channel", i));
    }
  }
  std::vector<InferOutput> outputs = one_output(x.dtype, x.shape);
  outputs.push_back({context.inputs[3].dtype, {channels}, std::nullopt});
  outputs.push_back({context.inputs[4].dtype, {channels}, std::nullopt});
  return outputs;
}

OpDef along_one_axis(OpKind kind, const OpTraits& traits) {
  OpDef def(kind, traits);
  def.attributes = attributes_of<SoftmaxParams>();
  def.infer = infer_softmax;
  def.macs = macs_per_input;
  return def;
}

}  // namespace

const OpDef& op_def_Softmax() {
  static const OpDef def = along_one_axis(OpKind::kSoftmax, {.work = WorkKind::kSoftmax,
                                                             .flops = PaperFlops::kOutputs,
                                                             .nhwc = NhwcRule::kLastAxis,
                                                             .rows = RowRule::kNormalization,
                                                             .form = ConformanceForm::kOwn});
  return def;
}

const OpDef& op_def_LogSoftmax() {
  static const OpDef def = along_one_axis(OpKind::kLogSoftmax, {.work = WorkKind::kSoftmax,
                                                                .flops = PaperFlops::kOutputs,
                                                                .nhwc = NhwcRule::kNone,
                                                                .rows = RowRule::kNone,
                                                                .form = ConformanceForm::kOwn});
  return def;
}

/// 1 at the first of the largest elements along an axis, 0 elsewhere.
const OpDef& op_def_Hardmax() {
  static const OpDef def = along_one_axis(OpKind::kHardmax, {.work = WorkKind::kReduction,
                                                             .flops = PaperFlops::kOutputs,
                                                             .nhwc = NhwcRule::kNone,
                                                             .rows = RowRule::kNone,
                                                             .form = ConformanceForm::kOwn});
  return def;
}

/// x / norm along an axis; 0 where the norm is 0.
const OpDef& op_def_LpNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kLpNormalization, {.work = WorkKind::kNormalization,
                                       .flops = PaperFlops::kOutputs,
                                       .nhwc = NhwcRule::kLastAxis,
                                       .rows = RowRule::kNormalization,
                                       .form = ConformanceForm::kOwn});
    d.attributes = attributes_of<LpNormalizationParams>();
    d.infer = infer_lp_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_LayerNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kLayerNormalization, {.work = WorkKind::kNormalization,
                                          .flops = PaperFlops::kOutputs,
                                          .nhwc = NhwcRule::kNone,
                                          .rows = RowRule::kNormalization,
                                          .form = ConformanceForm::kOwn});
    d.since = 17;
    d.min_inputs = 2;
    d.max_inputs = 4;
    d.internal_inputs = 1;
    d.max_outputs = 3;
    d.attributes = attributes_of<LayerNormalizationParams>();
    d.infer = infer_layer_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

/// x / sqrt(mean of x^2 + epsilon) * scale.
const OpDef& op_def_RMSNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kRMSNormalization, {.work = WorkKind::kNormalization,
                                        .flops = PaperFlops::kOutputs,
                                        .nhwc = NhwcRule::kNone,
                                        .rows = RowRule::kNormalization,
                                        .form = ConformanceForm::kOwn});
    d.since = 23;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<LayerNormalizationParams>();
    d.infer = infer_rms_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_BatchNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kBatchNormalization, {.work = WorkKind::kNormalization,
                                          .flops = PaperFlops::kOutputs,
                                          .nhwc = NhwcRule::kNone,
                                          .rows = RowRule::kBatchNormalization,
                                          .form = ConformanceForm::kOwn});
    d.min_inputs = 5;
    d.max_inputs = 5;
    d.max_outputs = 3;
    d.attributes = attributes_of<BatchNormalizationParams>();
    d.infer = infer_batch_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

}  // namespace parallax
