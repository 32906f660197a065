// Resize. Regions, scales, sizes and axes name the axes of layout NCHW also where the images are
// NHWC.
#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "ops/common.h"
#include "ops/params/resize.h"

namespace parallax {

namespace {

/// Sizes stay below.
constexpr double kMax = 9.0e18;

constexpr std::size_t kRegion = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

template <class T>
std::vector<double> elements_of(const Constant& constant) {
  std::vector<T> values(constant.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), constant.bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

/// Elements of a constant f32 or f64 input.
std::optional<std::vector<double>> known_floats(const InferContext& context, std::size_t i) {
  const Constant* constant = context.inputs[i].constant;
  if (constant == nullptr) return std::nullopt;
  if (constant->dtype == DType::kF32) return elements_of<float>(*constant);
  if (constant->dtype == DType::kF64) return elements_of<double>(*constant);
  return std::nullopt;
}

/// True where the input exists and is not the empty list that older models leave.
bool is_given(const InferContext& context, std::size_t i) {
  return context.has(i) &&
         !(context.inputs[i].shape.size() == 1 && context.inputs[i].shape[0] == Expr(0));
}

/// floor(dim * scale): as the standard's floats have it for a number, exactly for an expression,
/// where scale is a fraction with a small power of two below.
Result<Expr> scaled_dim(const InferContext& context, const Expr& dim, float scale) {
  if (!std::isfinite(scale) || scale <= 0.0F) {
    return fail(context, fmt::format("scale {} is not a positive number", scale));
  }
  if (scale == 1.0F) return dim;
  if (const auto n = dim.constant()) {
    const float size = std::floor(static_cast<float>(*n) * scale);
    if (!(size < kMax)) return fail(context, "the result is too large for any memory");
    return Expr(static_cast<std::int64_t>(size));
  }
  constexpr std::int64_t kMaxParts = 1 << 10;
  for (std::int64_t parts = 1; parts <= kMaxParts; parts *= 2) {
    const double whole = static_cast<double>(scale) * static_cast<double>(parts);
    if (whole != std::floor(whole) || whole > kMax) continue;
    return floor_div(dim * Expr(static_cast<std::int64_t>(whole)), Expr(parts));
  }
  return context.fresh_symbol("resize");
}

Result<std::vector<int>> resized_axes(const InferContext& context, const ResizeParams& params,
                                      int rank) {
  std::vector<std::int64_t> axes = params.axes;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  PX_ASSIGN(auto normal, normalize_axes(context, axes, rank));
  if (params.layout == ImageLayout::kNhwc) {
    for (int& axis : normal) axis = axis == 0 ? 0 : (axis == 1 ? rank - 1 : axis - 1);
  }
  return normal;
}

/// floor(dim * (end - start) * scale) of each axis, a region being [start.., end..].
Result<std::vector<Expr>> cropped_dims(const InferContext& context, std::span<const int> axes,
                                       const std::vector<double>& scales) {
  const auto region = known_floats(context, kRegion);
  if (!region || region->size() != 2 * axes.size()) return fresh_shape(context, axes.size());
  std::vector<Expr> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto dim = context.inputs[0].shape[static_cast<std::size_t>(axes[i])].constant();
    if (!dim) return fresh_shape(context, axes.size());
    const double part = (*region)[axes.size() + i] - (*region)[i];
    const double size = std::floor(static_cast<double>(*dim) * part * scales[i]);
    if (!(scales[i] > 0) || !(size >= 0) || !(size < kMax)) {
      return fail(context, fmt::format("scale {} of {} of an axis gives no size", scales[i], part));
    }
    dims.emplace_back(static_cast<std::int64_t>(size));
  }
  return dims;
}

/// Sizes that keep the ratio of the axes, none larger (or none smaller) than stated.
Result<std::vector<Expr>> in_proportion(const InferContext& context, std::span<const int> axes,
                                        const std::vector<Expr>& sizes, bool larger) {
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto from = context.inputs[0].shape[static_cast<std::size_t>(axes[i])].constant();
    const auto to = sizes[i].constant();
    if (!from || !to) return fresh_shape(context, axes.size());
    if (*from <= 0) return fail(context, "an axis without elements has no ratio");
    const double own = static_cast<double>(*to) / static_cast<double>(*from);
    if (!scale || (larger ? own > *scale : own < *scale)) scale = own;
  }
  std::vector<Expr> dims;
  for (const int axis : axes) {
    const auto from = context.inputs[0].shape[static_cast<std::size_t>(axis)].constant();
    const double size = std::floor(*scale * static_cast<double>(*from) + 0.5);
    if (!(size < kMax)) return fail(context, "the result is too large for any memory");
    dims.emplace_back(static_cast<std::int64_t>(size));
  }
  return dims;
}

/// The new size of each axis in `axes`, or fresh symbols where they are computed while running.
Result<std::vector<Expr>> resized_dims(const InferContext& context, const ResizeParams& params,
                                       std::span<const int> axes) {
  const Shape& from = context.inputs[0].shape;
  const bool by_sizes = is_given(context, kSizes);
  if (by_sizes == is_given(context, kScales)) {
    return fail(context, "exactly one of scales and sizes must be given");
  }
  PX_RETURN_IF_ERROR(expect_dtype(context, kScales, dtype_bit(DType::kF32)));
  PX_RETURN_IF_ERROR(expect_dtype(context, kSizes, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, by_sizes ? kSizes : kScales));
  if (length && *length != static_cast<std::int64_t>(axes.size())) {
    return fail(context, fmt::format("{} numbers for {} axes", *length, axes.size()));
  }
  if (by_sizes) {
    const auto sizes = context.exprs(kSizes);
    if (!sizes || sizes->size() != axes.size()) return fresh_shape(context, axes.size());
    if (params.policy == ResizePolicy::kStretch) return *sizes;
    return in_proportion(context, axes, *sizes, params.policy == ResizePolicy::kNotSmaller);
  }
  const auto scales = known_floats(context, kScales);
  if (!scales || scales->size() != axes.size()) return fresh_shape(context, axes.size());
  if (params.coordinates == ResizeCoordinates::kCrop) return cropped_dims(context, axes, *scales);
  std::vector<Expr> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    PX_ASSIGN(auto dim, scaled_dim(context, from[static_cast<std::size_t>(axes[i])],
                                   static_cast<float>((*scales)[i])));
    dims.push_back(std::move(dim));
  }
  return dims;
}

/// A region has two numbers for each axis, if it is read.
Status check_region(const InferContext& context, const ResizeParams& params, std::size_t axes) {
  if (params.coordinates != ResizeCoordinates::kCrop) return {};
  if (!context.has(kRegion)) return fail(context, "tf_crop_and_resize needs a region");
  PX_RETURN_IF_ERROR(expect_dtype(context, kRegion, kFloatTypes));
  PX_ASSIGN(const auto length, vector_length(context, kRegion));
  if (length && *length != static_cast<std::int64_t>(2 * axes)) {
    return fail(context, fmt::format("a region of {} numbers for {} axes", *length, axes));
  }
  return {};
}

InferResult infer_resize(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<ResizeParams>(context));
  const InferInput& x = context.inputs[0];
  if (params.mode != ResizeMode::kNearest) {
    PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  }
  if (x.shape.empty()) return fail(context, "a scalar cannot be resized");
  if (params.layout == ImageLayout::kNhwc && x.shape.size() < 3) {
    return fail(context, "layout NHWC needs rank 3 or more");
  }
  PX_ASSIGN(const auto axes, resized_axes(context, params, rank_of(x)));
  PX_RETURN_IF_ERROR(check_region(context, params, axes.size()));
  PX_ASSIGN(const auto dims, resized_dims(context, params, axes));
  Shape shape = x.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Expr& dim = shape[static_cast<std::size_t>(axes[i])];
    if (is_negative(dims[i])) return fail(context, "a size is negative");
    if (dim == Expr(0) && is_negative(Expr(0) - dims[i])) {
      return fail(context, "an axis without elements cannot grow");
    }
    dim = dims[i];
  }
  return one_output(x.dtype, std::move(shape));
}

/// Nearest moves data; linear takes two elements per axis that changes, cubic four.
std::int64_t macs_resize(const Node& node, std::span<const Dims> inputs,
                         std::span<const Dims> outputs) {
  const ResizeMode mode = params_of<ResizeParams>(node).mode;
  if (mode == ResizeMode::kNearest) return 0;
  if (inputs.empty() || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (int i = 0; i < inputs[0].rank() && i < outputs[0].rank(); ++i) {
    if (inputs[0][i] != outputs[0][i])
      macs = saturating_mul(macs, mode == ResizeMode::kCubic ? 4 : 2);
  }
  return macs;
}

}  // namespace

const OpDef& op_def_Resize() {
  static const OpDef def = [] {
    OpDef d(OpKind::kResize, {.work = WorkKind::kMovement,
                              .flops = PaperFlops::kNone,
                              .nhwc = NhwcRule::kWindow,
                              .rows = RowRule::kResize,
                              .form = ConformanceForm::kOwn});
    d.since = 10;
    d.max_inputs = 4;
    d.attributes = attributes_of<ResizeParams>();
    d.infer = infer_resize;
    d.macs = macs_resize;
    d.shape_inputs = 0b1110;
    return d;
  }();
  return def;
}

}  // namespace parallax
