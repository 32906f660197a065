#include "partition/flops.h"

#include <limits>

#include "base/checked.h"
#include "ops/op.h"
#include "ops/params/matmul.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t result = 1;
  for (const std::int64_t dim : dims) result = multiply(result, dim);
  return result;
}

/// Spatial dims of an image in the node's layout.
std::span<const std::int64_t> spatial(const Node& node, const Dims& image) {
  if (image.rank() < 3) return {};
  const auto dims = image.span();
  const auto count = dims.size() - 2;
  return dims.subspan(channels_last(node) ? 1 : 2, count);
}

std::int64_t channels(const Node& node, const Dims& image) {
  if (image.rank() < 3) return 1;
  const bool last = channels_last(node);
  return image[last ? image.rank() - 1 : 1];
}

std::int64_t convolution(const Node& node, std::span<const Dims> inputs, const Dims& output) {
  if (inputs.size() < 2 || inputs[1].rank() < 3) return 0;
  const Dims& weights = inputs[1];  // [Cout, Cin / group, K...]
  std::int64_t flops = multiply(2, channels(node, inputs[0]));
  flops = multiply(flops, product(spatial(node, output)));
  flops = multiply(flops, product(weights.span().subspan(2)));
  return multiply(flops, weights[0]);
}

/// Returns the estimate of a transposed convolution: each element of the image is multiplied by all
/// filters of its group.
std::int64_t transposed_convolution(std::span<const Dims> inputs) {
  if (inputs.size() < 2 || inputs[1].rank() < 3) return 0;
  return multiply(multiply(2, product(inputs[0].span())), product(inputs[1].span().subspan(1)));
}

std::int64_t matrix_product(const Node& node, std::span<const Dims> inputs, const Dims& output) {
  if (inputs.empty() || inputs[0].rank() == 0) return 0;
  const bool transposed = node.op == OpKind::kGemm && params_of<GemmParams>(node).trans_a;
  const int rank = inputs[0].rank();
  const std::int64_t k = inputs[0][transposed && rank == 2 ? 0 : rank - 1];
  std::int64_t flops = multiply(2, k);
  for (int axis = output.rank() - 1; axis >= 0 && axis >= output.rank() - 2; --axis) {
    flops = multiply(flops, output[axis]);
  }
  return flops;
}

}  // namespace

std::int64_t paper_flops(const Node& node, std::span<const Dims> inputs,
                         std::span<const Dims> outputs) {
  if (outputs.empty()) return 0;
  const OpDef& def = op_def(node.op);
  switch (def.traits.flops) {
    case PaperFlops::kNone:
      return 0;
    case PaperFlops::kOutputs:
      return product(outputs[0].span());
    case PaperFlops::kInputs:
      return inputs.empty() ? 0 : product(inputs[0].span());
    case PaperFlops::kTwiceMacs:
      return multiply(2, def.macs(node, inputs, outputs));
    case PaperFlops::kConvolution:
      return convolution(node, inputs, outputs[0]);
    case PaperFlops::kTransposedConvolution:
      return transposed_convolution(inputs);
    case PaperFlops::kProduct:
      return matrix_product(node, inputs, outputs[0]);
    case PaperFlops::kWindows:
      return multiply(product(spatial(node, outputs[0])),
                      product(params_of<WindowParams>(node).kernel_shape));
    case PaperFlops::kPlane:  // Hout Wout = 1, the rest is the kernel
      return inputs.empty() ? 0 : product(spatial(node, inputs[0]));
  }
  return 0;
}

}  // namespace parallax
