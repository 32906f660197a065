#include "ops/window.h"

#include <fmt/core.h>

#include <limits>

namespace parallax {

namespace {

constexpr std::int64_t kMaxWindow = std::numeric_limits<std::int32_t>::max();

bool is_nhwc(const InferContext& context) {
  return context.node.attributes.get_string("layout", "NCHW") == "NHWC";
}

}  // namespace

Result<std::vector<std::int64_t>> list_attribute(const InferContext& context, std::string_view name,
                                                 std::size_t count, std::int64_t least,
                                                 std::int64_t fallback) {
  auto values = context.node.attributes.get_ints(name);
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) {
    return fail(context, fmt::format("{} must have {} elements", name, count));
  }
  for (std::int64_t value : values) {
    if (value < least || value > kMaxWindow) {
      return fail(context, fmt::format("{} has an element {} outside [{}, {}]", name, value, least,
                                       kMaxWindow));
    }
  }
  return values;
}

Result<ImageShape> image_shape(const InferContext& context) {
  PX_ASSIGN(const std::string layout,
            choice_attribute(context, "layout", "NCHW", {"NCHW", "NHWC"}));
  const Shape& shape = context.inputs[0].shape;
  if (shape.size() < 3) return fail(context, "input 0 must have rank 3 or more");
  if (layout == "NHWC")
    return ImageShape{shape[0], shape.back(), {shape.begin() + 1, shape.end() - 1}};
  return ImageShape{shape[0], shape[1], {shape.begin() + 2, shape.end()}};
}

Shape join_shape(const InferContext& context, const ImageShape& image) {
  Shape shape = {image.batch};
  if (!is_nhwc(context)) shape.push_back(image.channels);
  shape.insert(shape.end(), image.spatial.begin(), image.spatial.end());
  if (is_nhwc(context)) shape.push_back(image.channels);
  return shape;
}

Result<Windows> read_windows(const InferContext& context, std::size_t axes) {
  Windows windows;
  PX_ASSIGN(windows.auto_pad, choice_attribute(context, "auto_pad", "NOTSET",
                                               {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
  PX_ASSIGN(windows.strides, list_attribute(context, "strides", axes, 1, 1));
  PX_ASSIGN(windows.dilations, list_attribute(context, "dilations", axes, 1, 1));
  PX_ASSIGN(const auto pads, list_attribute(context, "pads", 2 * axes, 0, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  windows.pads_begin.assign(pads.begin(), middle);
  windows.pads_end.assign(middle, pads.end());
  if (windows.auto_pad != "NOTSET") {
    for (std::int64_t pad : pads) {
      if (pad != 0) return fail(context, "pads and auto_pad contradict each other");
    }
  }
  return windows;
}

Result<std::vector<std::int64_t>> weight_kernel(const InferContext& context, std::size_t axes) {
  const Shape& weight = context.inputs[1].shape;
  const auto stated = context.node.attributes.get_ints("kernel_shape");
  if (!stated.empty() && stated.size() != axes) {
    return fail(context, fmt::format("kernel_shape must have {} elements", axes));
  }
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto size = weight[i + 2].constant();
    if (!size && stated.empty()) {
      return fail(context, "the weight's spatial dimensions must be known",
                  ErrorCode::kUnsupported);
    }
    if (size && !stated.empty() && *size != stated[i]) {
      return fail(context, "kernel_shape differs from the weight");
    }
    kernel.push_back(size ? *size : stated[i]);
  }
  return kernel;
}

Result<std::int64_t> window_extent(const InferContext& context, std::int64_t kernel,
                                   std::int64_t dilation) {
  if (kernel < 1 || kernel > kMaxWindow) {
    return fail(context, fmt::format("a window of {} elements", kernel));
  }
  const auto reach = checked_mul(kernel - 1, dilation);
  const auto extent = reach ? checked_add(*reach, 1) : std::nullopt;
  if (!extent) return fail(context, "kernel and dilation are too large");
  return *extent;
}

Result<Expr> window_count(const InferContext& context, const Windows& windows, std::size_t axis,
                          const Expr& dim, std::int64_t kernel, bool ceil_mode) {
  PX_ASSIGN(const std::int64_t extent, window_extent(context, kernel, windows.dilations[axis]));
  const Expr stride = windows.strides[axis];
  if (windows.auto_pad == "SAME_UPPER" || windows.auto_pad == "SAME_LOWER") {
    return ceil_div(dim, stride);
  }
  const Expr begin = windows.pads_begin[axis];
  const Expr room = dim + begin + windows.pads_end[axis] - extent;
  const Expr count = ceil_mode ? min(ceil_div(room, stride) + 1, ceil_div(dim + begin, stride))
                               : floor_div(room, stride) + 1;
  if (is_negative(count)) {
    return fail(context, fmt::format("a window of {} does not fit spatial axis {}", extent, axis));
  }
  return count;
}

}  // namespace parallax
