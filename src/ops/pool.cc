// MaxPool, AveragePool, LpPool and their global forms.
#include <fmt/core.h>

#include <algorithm>

#include "ops/window.h"

namespace parallax {

namespace {

Result<Shape> pooled_shape(const InferContext& context, PoolParams params) {
  PX_ASSIGN(ImageShape image, image_shape(context));
  const std::size_t axes = image.spatial.size();
  PX_RETURN_IF_ERROR(complete_windows(context, axes, params));
  const auto& kernel = params.kernel_shape;
  if (kernel.size() != axes) {
    return fail(context, fmt::format("kernel_shape must have {} elements", axes));
  }
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(const auto extent, window_extent(context, kernel[i], params.dilations[i]));
    const Padding padding = params.stated_padding(i, axes);
    if (std::max(padding.begin, padding.end) >= extent) {
      return fail(context, "a window would lie in the padding alone", ErrorCode::kUnsupported);
    }
    PX_ASSIGN(image.spatial[i],
              window_count(context, params, i, image.spatial[i], kernel[i], params.ceil_mode));
  }
  return join_shape(context, image);
}

InferResult infer_max_pool(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatOrByteTypes));
  PX_ASSIGN(const auto params, read_params<MaxPoolParams>(context));
  PX_ASSIGN(Shape shape, pooled_shape(context, params));
  std::vector<InferOutput> outputs = one_output(context.inputs[0].dtype, shape);
  outputs.push_back({DType::kI64, std::move(shape), std::nullopt});
  return outputs;
}

InferResult infer_average_pool(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_ASSIGN(const auto params, read_params<AveragePoolParams>(context));
  PX_ASSIGN(Shape shape, pooled_shape(context, params));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

Status check_norm(const InferContext& context, std::int64_t p) {
  if (p < 1) return fail(context, fmt::format("p must be positive, is {}", p));
  return {};
}

InferResult infer_lp_pool(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_ASSIGN(const auto params, read_params<LpPoolParams>(context));
  PX_RETURN_IF_ERROR(check_norm(context, params.p));
  PX_ASSIGN(Shape shape, pooled_shape(context, params));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

InferResult infer_global_pool(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_ASSIGN(ImageShape image, image_shape(context));
  image.spatial.assign(image.spatial.size(), Expr(1));
  return one_output(context.inputs[0].dtype, join_shape(context, image));
}

InferResult infer_global_lp_pool(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<GlobalLpPoolParams>(context));
  PX_RETURN_IF_ERROR(check_norm(context, params.p));
  return infer_global_pool(context);
}

/// One step per element of each window.
std::int64_t macs_pool(const Node& node, std::span<const Dims>, std::span<const Dims> outputs) {
  if (outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (std::int64_t size : params_of<WindowParams>(node).kernel_shape) {
    macs = saturating_mul(macs, size);
  }
  return macs;
}

OpTraits pool_traits(NhwcRule nhwc, RowRule rows) {
  return {.work = WorkKind::kPool,
          .flops = PaperFlops::kWindows,
          .nhwc = nhwc,
          .rows = rows,
          .form = ConformanceForm::kOwn};
}

OpTraits global_pool_traits(NhwcRule nhwc) {
  return {.work = WorkKind::kReduction,
          .flops = PaperFlops::kPlane,
          .nhwc = nhwc,
          .rows = RowRule::kNone,
          .form = ConformanceForm::kOwn};
}

template <class Params>
OpDef pool(OpKind kind, const OpTraits& traits, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, traits);
  def.attributes = attributes_of<Params>();
  def.infer = infer;
  def.macs = macs_pool;
  return def;
}

OpDef global_pool(OpKind kind, const OpTraits& traits, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, traits);
  def.attributes = attributes_of<LayoutParams>();
  def.infer = infer;
  def.macs = macs_per_input;
  return def;
}

}  // namespace

const OpDef& op_def_MaxPool() {
  static const OpDef def = [] {
    OpDef d = pool<MaxPoolParams>(OpKind::kMaxPool,
                                  pool_traits(NhwcRule::kWindow, RowRule::kWindow), infer_max_pool);
    d.max_outputs = 2;
    return d;
  }();
  return def;
}

const OpDef& op_def_AveragePool() {
  static const OpDef def = pool<AveragePoolParams>(
      OpKind::kAveragePool, pool_traits(NhwcRule::kWindow, RowRule::kWindow), infer_average_pool);
  return def;
}

/// The p-th root of the sum of the p-th powers of the magnitudes.
const OpDef& op_def_LpPool() {
  static const OpDef def = pool<LpPoolParams>(
      OpKind::kLpPool, pool_traits(NhwcRule::kNone, RowRule::kNone), infer_lp_pool);
  return def;
}

const OpDef& op_def_GlobalAveragePool() {
  static const OpDef def = global_pool(OpKind::kGlobalAveragePool,
                                       global_pool_traits(NhwcRule::kWindow), infer_global_pool);
  return def;
}

const OpDef& op_def_GlobalMaxPool() {
  static const OpDef def =
      global_pool(OpKind::kGlobalMaxPool, global_pool_traits(NhwcRule::kWindow), infer_global_pool);
  return def;
}

const OpDef& op_def_GlobalLpPool() {
  static const OpDef def = [] {
    OpDef d = global_pool(OpKind::kGlobalLpPool, global_pool_traits(NhwcRule::kNone),
                          infer_global_lp_pool);
    d.attributes = attributes_of<GlobalLpPoolParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
