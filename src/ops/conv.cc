// Convolution in one, two, three or more spatial dimensions.
#include <fmt/core.h>

#include "ops/window.h"

namespace parallax {

namespace {

/// kernel_shape must repeat the weight's.
Result<std::vector<std::int64_t>> kernel_of(const InferContext& context, std::size_t axes) {
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

Status check_channels(const InferContext& context, const Expr& channels) {
  const std::int64_t group = context.node.attributes.get_int("group", 1);
  if (group < 1) return fail(context, fmt::format("group {} is not positive", group));
  const Shape& weight = context.inputs[1].shape;
  if (!unify(weight[1] * Expr(group), channels)) {
    return fail(context, fmt::format("weight and group {} do not match the channels", group));
  }
  const auto filters = weight[0].constant();
  if (filters && *filters % group != 0) {
    return fail(context, fmt::format("{} filters are no multiple of group {}", *filters, group));
  }
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  if (context.has(2) && !unify(context.inputs[2].shape[0], weight[0])) {
    return fail(context, "the bias must have one element per filter");
  }
  return {};
}

InferResult infer_conv(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_ASSIGN(ImageShape image, image_shape(context));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, rank_of(context.inputs[0])));
  const std::size_t axes = image.spatial.size();
  PX_ASSIGN(const Windows windows, read_windows(context, axes));
  PX_ASSIGN(const auto kernel, kernel_of(context, axes));
  PX_RETURN_IF_ERROR(check_channels(context, image.channels));
  image.channels = context.inputs[1].shape[0];
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(image.spatial[i],
              window_count(context, windows, i, image.spatial[i], kernel[i], false));
  }
  return one_output(context.inputs[0].dtype, join_shape(context, image));
}

/// Each output element takes one filter: C / group times the kernel's elements.
std::int64_t macs_conv(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.size() < 2 || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (int i = 1; i < inputs[1].rank(); ++i) macs = saturating_mul(macs, inputs[1][i]);
  return macs;
}

}  // namespace

const OpDef& op_def_Conv() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kConv;
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.attributes = {
        {"auto_pad", AttributeType::kString},     {"dilations", AttributeType::kInts},
        {"group", AttributeType::kInt},           {"kernel_shape", AttributeType::kInts},
        {"pads", AttributeType::kInts},           {"strides", AttributeType::kInts},
        {"layout", AttributeType::kString, true},
    };
    d.epilogue = true;
    d.infer = infer_conv;
    d.macs = macs_conv;
    return d;
  }();
  return def;
}

}  // namespace parallax
