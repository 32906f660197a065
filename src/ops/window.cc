#include "ops/window.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace parallax {

namespace {

constexpr std::int64_t kMaxWindow = std::numeric_limits<std::int32_t>::max();

}  // namespace

Status complete_list(const InferContext& context, std::string_view name, std::size_t count,
                     std::int64_t least, std::int64_t fallback, std::vector<std::int64_t>& list) {
  if (list.empty()) list.assign(count, fallback);
  if (list.size() != count) {
    return fail(context, fmt::format("{} must have {} elements", name, count));
  }
  for (const std::int64_t value : list) {
    if (value < least || value > kMaxWindow) {
      return fail(context, fmt::format("{} has an element {} outside [{}, {}]", name, value, least,
                                       kMaxWindow));
    }
  }
  return {};
}

Result<ImageShape> image_shape(const InferContext& context) {
  PX_ASSIGN(const LayoutParams params, read_params<LayoutParams>(context));
  const Shape& shape = context.inputs[0].shape;
  if (shape.size() < 3) return fail(context, "input 0 must have rank 3 or more");
  if (params.layout == ImageLayout::kNhwc)
    return ImageShape{shape[0], shape.back(), {shape.begin() + 1, shape.end() - 1}};
  return ImageShape{shape[0], shape[1], {shape.begin() + 2, shape.end()}};
}

Shape join_shape(const InferContext& context, const ImageShape& image) {
  const bool nhwc = channels_last(context.node);
  Shape shape = {image.batch};
  if (!nhwc) shape.push_back(image.channels);
  shape.insert(shape.end(), image.spatial.begin(), image.spatial.end());
  if (nhwc) shape.push_back(image.channels);
  return shape;
}

Status complete_windows(const InferContext& context, std::size_t axes, WindowParams& windows) {
  PX_RETURN_IF_ERROR(complete_list(context, "strides", axes, 1, 1, windows.strides));
  PX_RETURN_IF_ERROR(complete_list(context, "dilations", axes, 1, 1, windows.dilations));
  PX_RETURN_IF_ERROR(
      complete_list(context, param_name(&WindowParams::pads), 2 * axes, 0, 0, windows.pads));
  const bool padded = std::ranges::any_of(windows.pads, [](std::int64_t pad) { return pad != 0; });
  if (windows.auto_pad != AutoPad::kNotSet && padded) {
    return fail(context, "pads and auto_pad contradict each other");
  }
  return {};
}

Result<std::vector<std::int64_t>> weight_kernel(const InferContext& context,
                                                std::span<const std::int64_t> stated,
                                                std::size_t axes) {
  const Shape& weight = context.inputs[1].shape;
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

Result<Expr> window_count(const InferContext& context, const WindowParams& windows,
                          std::size_t axis, const Expr& dim, std::int64_t kernel, bool ceil_mode) {
  PX_ASSIGN(const std::int64_t extent, window_extent(context, kernel, windows.dilations[axis]));
  const Expr stride = windows.strides[axis];
  if (windows.same()) return ceil_div(dim, stride);
  const Padding padding = windows.stated_padding(axis, windows.strides.size());
  const Expr begin = padding.begin;
  const Expr room = dim + begin + padding.end - extent;
  const Expr count = ceil_mode ? min(ceil_div(room, stride) + 1, ceil_div(dim + begin, stride))
                               : floor_div(room, stride) + 1;
  if (is_negative(count)) {
    return fail(context, fmt::format("a window of {} does not fit spatial axis {}", extent, axis));
  }
  return count;
}

}  // namespace parallax
