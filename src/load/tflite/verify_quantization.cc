#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

/// Checks that each index of the axis has a scale.
Status check_axis(const schema::Tensor& tensor, std::size_t scales, std::string_view label) {
  const auto shape = elements_of(tensor.shape());
  const int axis = *quantized_axis(tensor);
  if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size()) {
    return invalid_model(
        fmt::format("{} is quantized along axis {} of {}", label, axis, shape.size()));
  }
  const std::int32_t dim = shape[static_cast<std::size_t>(axis)];
  if (static_cast<std::size_t>(dim) == scales) return {};
  return invalid_model(
      fmt::format("{} has {} scales for the {} indices of axis {}", label, scales, dim, axis));
}

Status check_scales(TfliteChecks& checks, const schema::Tensor& tensor, std::string_view label) {
  const auto scales = elements_of(tensor.quantization()->scale());
  const std::size_t zeros = length_of(tensor.quantization()->zero_point());
  if (scales.empty() && zeros == 0) return {};
  if (zeros != scales.size() && (zeros != 1 || scales.empty())) {
    return invalid_model(
        fmt::format("{} has {} zero points for {} scales", label, zeros, scales.size()));
  }
  if (scales.size() > 1) PX_RETURN_IF_ERROR(check_axis(tensor, scales.size(), label));
  PX_RETURN_IF_ERROR(checks.take(scales.size()));
  for (const float scale : scales) {
    if (std::isfinite(scale) && scale >= 0) continue;
    return invalid_model(fmt::format("{} has the scale {}", label, scale));
  }
  return {};
}

bool is_tensor(const schema::SubGraph& graph, std::int32_t index) {
  return index >= 0 && static_cast<std::size_t>(index) < length_of(graph.tensors());
}

/// Checks the indices of the tensors that hold the scales and zero points of blocks, and that the
/// size of blocks is not negative.
template <class Blocks>
Status check_blocks(const schema::SubGraph& graph, const Blocks& blocks, std::string_view label) {
  const std::int32_t zeros = blocks.zero_points();
  const bool valid = is_tensor(graph, blocks.scales()) && (zeros == -1 || is_tensor(graph, zeros));
  if (!valid) return invalid_model(fmt::format("{} has its scales in a missing tensor", label));
  if (blocks.block_size() >= 0) return {};
  return invalid_model(fmt::format("{} has blocks of {}", label, blocks.block_size()));
}

Status check_block_shape(const schema::BlockwiseQuantization& blocks, std::string_view label) {
  const auto shape = elements_of(blocks.block_shape());
  const bool valid = shape.size() <= std::size_t{Dims::kMaxRank} &&
                     std::ranges::all_of(shape, [](std::int32_t dim) { return dim > 0; });
  if (valid) return {};
  return invalid_model(fmt::format("{} has a wrong block_shape", label));
}

Status check_block_axes(const schema::MultiAxisQuantization& blocks, const schema::Tensor& tensor,
                        std::string_view label) {
  const auto axes = elements_of(blocks.quantized_dimensions());
  const auto rank = static_cast<std::int32_t>(length_of(tensor.shape()));
  const bool valid =
      axes.size() <= std::size_t{Dims::kMaxRank} &&
      std::ranges::all_of(axes, [&](std::int32_t axis) { return axis >= 0 && axis < rank; });
  if (valid) return {};
  return invalid_model(fmt::format("{} is quantized along an axis that it lacks", label));
}

}  // namespace

Status check_quantization(TfliteChecks& checks, const schema::SubGraph& graph,
                          const schema::Tensor& tensor, std::string_view label) {
  const schema::QuantizationParameters* quantization = tensor.quantization();
  if (quantization == nullptr) return {};
  if (const auto* blocks = quantization->details_as_BlockwiseQuantization()) {
    PX_RETURN_IF_ERROR(check_blocks(graph, *blocks, label));
    PX_RETURN_IF_ERROR(check_block_shape(*blocks, label));
  }
  if (const auto* blocks = quantization->details_as_MultiAxisQuantization()) {
    PX_RETURN_IF_ERROR(check_blocks(graph, *blocks, label));
    PX_RETURN_IF_ERROR(check_block_axes(*blocks, tensor, label));
  }
  return check_scales(checks, tensor, label);
}

}  // namespace parallax
