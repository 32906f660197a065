// Moves constant arithmetic per channel after a convolution, also a transposed one, into its
// weights and bias: BatchNormalization, and the Add of a bias to a convolution without one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/deferred.h"
#include "ops/params/normalization.h"
#include "ops/params/window.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// y = scale * x + shift for each channel.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

bool all_finite(const std::vector<double>& numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(static_cast<float>(number))) return false;
  }
  return true;
}

/// Returns the four statistics of a BatchNormalization over `channels`, if all are constants.
std::optional<ChannelAffine> batch_normalization(const Graph& graph, const Node& node,
                                                 std::size_t channels) {
  if (params_of<BatchNormalizationParams>(node).training_mode) return std::nullopt;
  std::vector<std::vector<float>> statistics;
  for (std::size_t i = 1; i < 5; ++i) {
    const Constant* constant = float_constant(graph, node.inputs[i]);
    if (constant == nullptr) return std::nullopt;
    statistics.push_back(floats(*constant));
    if (statistics.back().size() != channels) return std::nullopt;
  }
  const double epsilon = static_cast<double>(params_of<EpsilonParams>(node).epsilon);
  ChannelAffine affine;
  for (std::size_t c = 0; c < channels; ++c) {
    const double variance = static_cast<double>(statistics[3][c]) + epsilon;
    affine.scale.push_back(static_cast<double>(statistics[0][c]) / std::sqrt(variance));
    affine.shift.push_back(static_cast<double>(statistics[1][c]) -
                           static_cast<double>(statistics[2][c]) * affine.scale.back());
  }
  return affine;
}

/// Matches the Add of a constant that differs only by channel: [C, 1, 1] or [1, C, 1, 1].
std::optional<ChannelAffine> channel_bias(const Constant& bias, std::size_t channels, int rank) {
  const int axis = bias.dims.rank() - rank + 1;
  if (axis < 0 || bias.dims.rank() > rank) return std::nullopt;
  if (bias.dims[axis] != static_cast<std::int64_t>(channels)) return std::nullopt;
  if (bias.dims.elements() != static_cast<std::int64_t>(channels)) return std::nullopt;
  ChannelAffine affine{std::vector<double>(channels, 1.0), {}};
  const std::vector<float> numbers = floats(bias);
  if (numbers.size() != channels) return std::nullopt;
  for (const float number : numbers) affine.shift.push_back(static_cast<double>(number));
  return affine;
}

/// Which filter an element of the weights belongs to: (element / inner % filters) + outer's group.
struct FilterOrder {
  std::size_t inner = 1, filters = 1, group = 1;

  FilterOrder(const Node& convolution, const Constant& weights) {
    const Dims& dims = weights.dims;
    const bool transposed = convolution.op == OpKind::kConvTranspose;
    for (int axis = transposed ? 2 : 1; axis < dims.rank(); ++axis)
      inner *= static_cast<std::size_t>(dims[axis]);
    filters = static_cast<std::size_t>(dims[transposed ? 1 : 0]);
    const auto groups = static_cast<std::size_t>(transposed ? groups_of(convolution) : 1);
    channels = filters * groups;
    group = std::max<std::size_t>(
        static_cast<std::size_t>(dims.elements()) / std::max<std::size_t>(groups, 1), 1);
  }
  std::size_t operator()(std::size_t element) const {
    return element / group * filters + element / inner % filters;
  }

  std::size_t channels = 0;  ///< channels of all groups
};

struct AffineMatch {
  const Node* convolution = nullptr;
  ChannelAffine affine;
};

/// Returns the convolution that computes input `side` of `node`, if that has no other reader and
/// weights and bias are constants.
const Node* convolution_before(const Graph& graph, const Readers& readers,
                               const PassContext& context, const Node& node, std::size_t side) {
  const Node* convolution = produced_by(graph, node.inputs[side], OpKind::kConv);
  if (convolution == nullptr)
    convolution = produced_by(graph, node.inputs[side], OpKind::kConvTranspose);
  if (convolution == nullptr) return nullptr;
  if (!readers.single(node.inputs[side])) {
    if (node.op == OpKind::kBatchNormalization)
      context.missed("something else reads the convolution", node);
    return nullptr;
  }
  if (!convolution->epilogue.empty()) return nullptr;
  if (channels_last(*convolution)) return nullptr;
  if (float_constant(graph, convolution->inputs[1]) == nullptr) return nullptr;
  const bool biased = convolution->inputs.size() > 2 && convolution->inputs[2].valid();
  if (biased && float_constant(graph, convolution->inputs[2]) == nullptr) return nullptr;
  return convolution;
}

std::optional<AffineMatch> match_affine(const Graph& graph, const Readers& readers,
                                        const PassContext& context, const Node& node) {
  const bool add = node.op == OpKind::kAdd;
  if (!add && node.op != OpKind::kBatchNormalization) return std::nullopt;
  for (std::size_t side = 0; side < (add ? 2U : 1U); ++side) {
    const Node* convolution = convolution_before(graph, readers, context, node, side);
    if (convolution == nullptr) continue;
    const std::size_t channels =
        FilterOrder(*convolution, *float_constant(graph, convolution->inputs[1])).channels;
    if (channels == 0) continue;
    std::optional<ChannelAffine> affine;
    if (!add) {
      affine = batch_normalization(graph, node, channels);
    } else if (const Constant* bias = float_constant(graph, node.inputs[1 - side])) {
      affine = channel_bias(*bias, channels,
                            static_cast<int>(graph.values[node.inputs[side]].shape.size()));
    }
    if (affine && all_finite(affine->scale) && all_finite(affine->shift)) {
      return AffineMatch{convolution, *std::move(affine)};
    }
    if (!add) context.missed("its statistics are not finite constants", node);
  }
  return std::nullopt;
}

/// Returns `weights` with each filter multiplied by its factor.
Constant scaled_filters(const Constant& weights, const FilterOrder& filter,
                        const std::vector<double>& factors) {
  const auto fill = [from = weights, factors, filter](std::span<std::byte> into) -> Status {
    for (std::size_t i = 0; i < into.size() / sizeof(float); ++i) {
      float element = 0;
      std::memcpy(&element, from.bytes.data() + i * sizeof element, sizeof element);
      element = static_cast<float>(static_cast<double>(element) * factors[filter(i)]);
      std::memcpy(into.data() + i * sizeof element, &element, sizeof element);
    }
    return {};
  };
  return defer_large(weights.dtype, weights.dims, {weights}, fill);
}

/// Returns false if the quota does not cover the copies (convolutions may share weights, and each
/// gets a copy), or the weights depend on too many others or cannot be computed.
bool fold(Graph& graph, UniqueNames& names, NodeId last, const AffineMatch& found,
          const PassContext& context) {
  const Node convolution = *found.convolution;
  const Constant& weights = *float_constant(graph, convolution.inputs[1]);
  const std::size_t channels = found.affine.scale.size();
  const bool scales = graph.nodes[last].op == OpKind::kBatchNormalization;
  if (scales && (deferred_depth(weights) >= kMaxDeferredDepth ||
                 !can_charge(*context.quota, std::ssize(weights.bytes), weight_bytes(weights))))
    return false;
  std::vector<float> bias(channels, 0.0F);
  if (convolution.inputs.size() > 2 && convolution.inputs[2].valid()) {
    bias = floats(*float_constant(graph, convolution.inputs[2]));
    if (bias.size() != channels) return false;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    bias[c] = static_cast<float>(static_cast<double>(bias[c]) * found.affine.scale[c] +
                                 found.affine.shift[c]);
  }
  Constant shift = make_f32(Dims{static_cast<std::int64_t>(channels)}, bias);
  if (!charge(context.quota, shift)) return false;
  ValueId scaled = convolution.inputs[1];
  if (scales) {
    Constant copy = scaled_filters(weights, FilterOrder(convolution, weights), found.affine.scale);
    if (!charge(context.quota, copy, weight_bytes(weights))) return false;
    scaled = add_constant(graph, names, convolution.name + "/weights", std::move(copy));
  }
  const ValueId shifted = add_constant(graph, names, convolution.name + "/bias", std::move(shift));
  rewrite_node(graph, last, convolution.op, {convolution.inputs[0], scaled, shifted},
               convolution.attributes);
  return true;
}

}  // namespace

Result<int> fuse_conv_bn(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  std::optional<UniqueNames> names;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = match_affine(graph, readers, context, graph.nodes[id]);
    if (!found) continue;
    if (!names) names.emplace(graph);
    if (fold(graph, *names, id, *found, context)) {
      ++changes;
    } else {
      context.missed("loading may not copy more weights", graph.nodes[id]);
    }
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
