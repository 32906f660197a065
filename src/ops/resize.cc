// Resize, nearest and linear. Scales, sizes and axes name the axes of layout NCHW also where the
// images are NHWC.
#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "ops/common.h"

namespace parallax {

namespace {

constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

/// Elements of a constant f32 input.
std::optional<std::vector<float>> known_floats(const InferContext& context, std::size_t i) {
  const Constant* constant = context.inputs[i].constant;
  if (constant == nullptr || constant->dtype != DType::kF32) return std::nullopt;
  std::vector<float> values(constant->bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), constant->bytes.data(), constant->bytes.size());
  return values;
}

/// True where the input exists and is not the empty list that older models leave.
bool is_given(const InferContext& context, std::size_t i) {
  return context.has(i) &&
         !(context.inputs[i].shape.size() == 1 && context.inputs[i].shape[0] == Expr(0));
}

Status check_modes(const InferContext& context) {
  const auto choices = {
      choice_attribute(context, "mode", "nearest", {"nearest", "linear"}),
      choice_attribute(context, "coordinate_transformation_mode", "half_pixel",
                       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                        "asymmetric"}),
      choice_attribute(context, "nearest_mode", "round_prefer_floor",
                       {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
      choice_attribute(context, "keep_aspect_ratio_policy", "stretch", {"stretch"}),
      choice_attribute(context, "layout", "NCHW", {"NCHW", "NHWC"}),
  };
  for (const auto& choice : choices) {
    if (!choice) return tl::unexpected(choice.error());
  }
  for (std::string_view name : {"antialias", "exclude_outside"}) {
    PX_ASSIGN(const bool set, flag_attribute(context, name, false));
    if (set) return fail(context, fmt::format("{} is not covered", name), ErrorCode::kUnsupported);
  }
  return {};
}

/// floor(dim * scale): as the standard's floats have it for a number, exactly for an expression,
/// where scale is a fraction with a small power of two below.
Result<Expr> scaled_dim(const InferContext& context, const Expr& dim, float scale) {
  if (!std::isfinite(scale) || scale <= 0.0F) {
    return fail(context, fmt::format("scale {} is not a positive number", scale));
  }
  if (scale == 1.0F) return dim;
  constexpr double kMost = 9.0e18;
  if (const auto n = dim.constant()) {
    const float size = std::floor(static_cast<float>(*n) * scale);
    if (!(size < kMost)) return fail(context, "the result is too large for any memory");
    return Expr(static_cast<std::int64_t>(size));
  }
  constexpr std::int64_t kMostParts = 1 << 10;
  for (std::int64_t parts = 1; parts <= kMostParts; parts *= 2) {
    const double whole = static_cast<double>(scale) * static_cast<double>(parts);
    if (whole != std::floor(whole) || whole > kMost) continue;
    return floor_div(dim * Expr(static_cast<std::int64_t>(whole)), Expr(parts));
  }
  return context.fresh_symbol("resize");
}

Result<std::vector<int>> resized_axes(const InferContext& context, int rank) {
  std::vector<std::int64_t> axes = context.node.attributes.get_ints("axes");
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  PX_ASSIGN(auto normal, normalize_axes(context, axes, rank));
  if (context.node.attributes.get_string("layout", "NCHW") == "NHWC") {
    for (int& axis : normal) axis = axis == 0 ? 0 : (axis == 1 ? rank - 1 : axis - 1);
  }
  return normal;
}

/// The new size of each axis in `axes`, or fresh symbols where they are computed while running.
Result<std::vector<Expr>> resized_dims(const InferContext& context, std::span<const int> axes) {
  const Shape& from = context.inputs[0].shape;
  const bool by_sizes = is_given(context, kSizes);
  if (by_sizes == is_given(context, kScales)) {
    return fail(context, "exactly one of scales and sizes must be given");
  }
  PX_RETURN_IF_ERROR(expect_dtype(context, kScales, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, kSizes, kI64Types));
  PX_ASSIGN(const auto length, vector_length(context, by_sizes ? kSizes : kScales));
  if (length && *length != static_cast<std::int64_t>(axes.size())) {
    return fail(context, fmt::format("{} numbers for {} axes", *length, axes.size()));
  }
  const auto sizes = by_sizes ? context.exprs(kSizes) : std::nullopt;
  const auto scales = by_sizes ? std::nullopt : known_floats(context, kScales);
  if (sizes && sizes->size() == axes.size()) return *sizes;
  if (!scales || scales->size() != axes.size()) return fresh_shape(context, axes.size());
  std::vector<Expr> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    PX_ASSIGN(auto dim, scaled_dim(context, from[static_cast<std::size_t>(axes[i])], (*scales)[i]));
    dims.push_back(std::move(dim));
  }
  return dims;
}

InferResult infer_resize(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_modes(context));
  const InferInput& x = context.inputs[0];
  if (context.node.attributes.get_string("mode", "nearest") == "linear") {
    PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  }
  if (x.shape.empty()) return fail(context, "a scalar cannot be resized");
  if (context.node.attributes.get_string("layout", "NCHW") == "NHWC" && x.shape.size() < 3) {
    return fail(context, "layout NHWC needs rank 3 or more");
  }
  PX_ASSIGN(const auto axes, resized_axes(context, rank_of(x)));
  PX_ASSIGN(const auto dims, resized_dims(context, axes));
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

/// Nearest moves data; linear takes two elements per axis that changes.
std::int64_t macs_resize(const Node& node, std::span<const Dims> inputs,
                         std::span<const Dims> outputs) {
  if (node.attributes.get_string("mode", "nearest") == "nearest") return 0;
  if (inputs.empty() || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (int i = 0; i < inputs[0].rank() && i < outputs[0].rank(); ++i) {
    if (inputs[0][i] != outputs[0][i]) macs = saturating_mul(macs, 2);
  }
  return macs;
}

}  // namespace

const OpDef& op_def_Resize() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kResize;
    d.since = 10;
    d.max_inputs = 4;
    // cubic_coeff_a and extrapolation_value concern modes that are refused; exporters write them
    // all the same.
    d.attributes = {
        {"antialias", AttributeType::kInt},
        {"axes", AttributeType::kInts},
        {"coordinate_transformation_mode", AttributeType::kString},
        {"cubic_coeff_a", AttributeType::kFloat},
        {"exclude_outside", AttributeType::kInt},
        {"extrapolation_value", AttributeType::kFloat},
        {"keep_aspect_ratio_policy", AttributeType::kString},
        {"mode", AttributeType::kString},
        {"nearest_mode", AttributeType::kString},
        {"layout", AttributeType::kString, true},
    };
    d.infer = infer_resize;
    d.macs = macs_resize;
    d.shape_inputs = 0b1100;
    return d;
  }();
  return def;
}

}  // namespace parallax
