// Fuses LayerNormalization from the parts that exporters before operator set 17 write, and
// RMSNormalization from those before operator set 23:
//
//     mean = ReduceMean(x),  off = x - mean,  variance = ReduceMean(off * off or off ^ 2)
//     dev  = Sqrt(variance + epsilon) or (variance + epsilon) ^ 0.5
//     n    = off / dev, off * Reciprocal(dev) or off * (variance + epsilon) ^ -0.5
//     y    = n, n * scale or n * scale + bias
//
// or, as TensorFlow writes it, with inv = 1 / dev or scale / dev:
//
//     y    = x * inv + (bias - mean * inv)
//
//     guard    f32; the means are along the last axes and keep them; nothing else reads the parts;
//              scale and bias have an element for each that is normalized together
//     rewrite  LayerNormalization(x, scale, bias)
//
// Without a mean, off is x, and there is no bias: that is RMSNormalization(x, scale), also if scale
// is multiplied by 1 / dev before x.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "ir/charge.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/params/normalization.h"
#include "ops/params/reduce.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// x - mean, or x, and what is known of the other parts.
struct Deviation {
  ValueId x, mean, off;
  std::int64_t axes = 0;  ///< number of the last axes
  float epsilon = 0;
  std::vector<ValueId> parts;  ///< values between x and what reads the deviation
};

struct NormMatch {
  Deviation of;
  ValueId scale, bias;
};

class NormMatcher {
 public:
  NormMatcher(const Graph& graph, const Readers& readers, const PassContext& context, bool centered)
      : graph_(graph), readers_(readers), context_(context), centered_(centered) {}

  /// Matches a normalization whose last node is `last`.
  std::optional<NormMatch> match(const Node& last) const {
    if (last.outputs.empty() || !last.outputs[0].valid()) return std::nullopt;
    auto found = in_order(last);
    if (!found) found = centered_ ? around_x(last) : scaled_root(last);
    if (!found) return std::nullopt;
    const std::string_view why = obstacle(*found, last);
    if (why.empty()) return found;
    context_.missed(why, last);
    return std::nullopt;
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.values[value].shape; }

  const Node* node_of(ValueId value, OpKind kind) const { return produced_by(graph_, value, kind); }

  bool is_power(const Node& node, float power) const {
    const auto number =
        node.op == OpKind::kPow ? scalar_constant(graph_, node.inputs[1]) : std::optional<float>();
    return number && *number == power;
  }

  /// Returns the number of last axes over which a ReduceMean goes; nullopt for other axes or if it
  /// drops them. Axes of one element count for nothing.
  std::optional<std::int64_t> last_axes(const Node& mean) const {
    const auto rank = static_cast<std::int64_t>(shape_of(mean.inputs[0]).size());
    if (!params_of<ReduceParams>(mean).keepdims || mean.inputs.size() < 2 ||
        !mean.inputs[1].valid())
      return std::nullopt;
    const auto& constant = graph_.values[mean.inputs[1]].constant;
    auto axes = constant ? integers(*constant, Dims::kMaxRank) : std::nullopt;
    if (!axes || axes->empty()) return std::nullopt;
    for (std::int64_t& axis : *axes)
      if (axis < 0) axis += rank;
    const Shape& x = shape_of(mean.inputs[0]);
    if (axes->size() > 1)
      std::erase_if(*axes, [&](std::int64_t axis) {
        return axis >= 0 && axis < rank && x[static_cast<std::size_t>(axis)] == Expr(1);
      });
    std::ranges::sort(*axes);
    const auto count = static_cast<std::int64_t>(axes->size());
    for (std::int64_t i = 0; i < count; ++i)
      if ((*axes)[static_cast<std::size_t>(i)] != rank - count + i) return std::nullopt;
    return count;
  }

  /// variance + epsilon behind `value`.
  std::optional<Deviation> variance(ValueId value) const {
    const Node* sum = node_of(value, OpKind::kAdd);
    if (sum == nullptr) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      const auto epsilon = scalar_constant(graph_, sum->inputs[1 - side]);
      const Node* mean = node_of(sum->inputs[side], OpKind::kReduceMean);
      if (!epsilon || !(*epsilon >= 0) || !std::isfinite(*epsilon) || mean == nullptr) continue;
      auto found = deviation(*mean);
      if (!found || shape_of(value) != shape_of(sum->inputs[side])) continue;
      found->epsilon = *epsilon;
      found->parts.insert(found->parts.end(), {sum->inputs[side], value});
      return found;
    }
    return std::nullopt;
  }

  /// Returns the x - mean whose squares `mean` averages.
  std::optional<Deviation> deviation(const Node& mean) const {
    const ValueId square = mean.inputs[0];
    const Node* product = node_of(square, OpKind::kMul);
    if (product != nullptr && product->inputs[0] != product->inputs[1]) return std::nullopt;
    if (product == nullptr) product = node_of(square, OpKind::kPow);
    if (product == nullptr || (product->op == OpKind::kPow && !is_power(*product, 2)))
      return std::nullopt;
    const auto axes = last_axes(mean);
    if (!axes) return std::nullopt;
    if (!centered_) {
      const ValueId x = product->inputs[0];
      return Deviation{x, {}, x, *axes, 0, {square}};
    }
    const Node* off = node_of(product->inputs[0], OpKind::kSub);
    const Node* centre = off == nullptr ? nullptr : node_of(off->inputs[1], OpKind::kReduceMean);
    if (centre == nullptr || centre->inputs[0] != off->inputs[0]) return std::nullopt;
    if (axes != last_axes(*centre)) return std::nullopt;
    return Deviation{off->inputs[0],
                     off->inputs[1],
                     product->inputs[0],
                     *axes,
                     0,
                     {off->inputs[1], product->inputs[0], square}};
  }

  /// Returns the deviation whose square root `value` is; `inverse`: whose reciprocal square root.
  std::optional<Deviation> root(ValueId value, bool inverse) const {
    if (inverse) {
      if (const Node* reciprocal = node_of(value, OpKind::kReciprocal))
        return with(root(reciprocal->inputs[0], false), value);
      if (const Node* quotient = node_of(value, OpKind::kDiv);
          quotient != nullptr && scalar_constant(graph_, quotient->inputs[0]) == 1.0F)
        return with(root(quotient->inputs[1], false), value);
    } else if (const Node* sqrt = node_of(value, OpKind::kSqrt)) {
      return with(variance(sqrt->inputs[0]), value);
    }
    const Node* power = node_of(value, OpKind::kPow);
    if (power == nullptr || !is_power(*power, inverse ? -0.5F : 0.5F)) return std::nullopt;
    return with(variance(power->inputs[0]), value);
  }

  static std::optional<Deviation> with(std::optional<Deviation> found, ValueId part) {
    if (found) found->parts.push_back(part);
    return found;
  }

  /// Matches n, at the node that computes it.
  std::optional<NormMatch> normal(const Node& node) const {
    if (node.op == OpKind::kDiv) {
      auto found = root(node.inputs[1], false);
      if (found && found->off == node.inputs[0]) return NormMatch{*std::move(found), {}, {}};
    }
    if (node.op != OpKind::kMul) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      auto found = root(node.inputs[side], true);
      if (found && found->off == node.inputs[1 - side]) return NormMatch{*std::move(found), {}, {}};
    }
    return std::nullopt;
  }

  std::optional<NormMatch> normal_of(ValueId value) const {
    for (const OpKind kind : {OpKind::kDiv, OpKind::kMul}) {
      const Node* node = node_of(value, kind);
      if (node == nullptr) continue;
      auto found = normal(*node);
      if (found) found->of.parts.push_back(value);
      return found;
    }
    return std::nullopt;
  }

  /// Matches n * scale.
  std::optional<NormMatch> scaled(const Node& node) const {
    if (node.op != OpKind::kMul) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      auto found = normal_of(node.inputs[side]);
      if (!found) continue;
      found->scale = node.inputs[1 - side];
      return found;
    }
    return std::nullopt;
  }

  /// Matches n * scale + bias or a part of it. The longest form wins: shorter ones are left alone
  /// if the pattern continues after them.
  std::optional<NormMatch> in_order(const Node& last) const {
    if (last.op == OpKind::kAdd) {
      if (!centered_) return std::nullopt;
      for (const std::size_t side : {0U, 1U}) {
        const Node* product = node_of(last.inputs[side], OpKind::kMul);
        auto found = product == nullptr ? std::nullopt : scaled(*product);
        if (!found) continue;
        found->bias = last.inputs[1 - side];
        found->of.parts.push_back(last.inputs[side]);
        return found;
      }
      return std::nullopt;
    }
    if (auto found = scaled(last)) return found;
    return normal(last);
  }

  /// Matches x * (scale / dev).
  std::optional<NormMatch> scaled_root(const Node& last) const {
    if (last.op != OpKind::kMul) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      auto found = inverse(last.inputs[1 - side]);
      if (found && found->of.x == last.inputs[side]) return found;
    }
    return std::nullopt;
  }

  /// Matches x * inv + (bias - mean * inv).
  std::optional<NormMatch> around_x(const Node& last) const {
    if (last.op != OpKind::kAdd) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      const Node* product = node_of(last.inputs[side], OpKind::kMul);
      const Node* rest = node_of(last.inputs[1 - side], OpKind::kSub);
      const Node* moved = rest == nullptr ? nullptr : node_of(rest->inputs[1], OpKind::kMul);
      if (product == nullptr || moved == nullptr) continue;
      for (const std::size_t x : {0U, 1U}) {
        auto found = inverse(product->inputs[1 - x]);
        if (!found || found->of.x != product->inputs[x]) continue;
        const std::vector<ValueId> wanted = {found->of.mean, product->inputs[1 - x]};
        if (!std::ranges::is_permutation(moved->inputs, wanted)) continue;
        // Converters write a bias of zeros as one zero.
        if (scalar_constant(graph_, rest->inputs[0]) != 0.0F) found->bias = rest->inputs[0];
        found->of.parts.insert(found->of.parts.end(),
                               {last.inputs[0], last.inputs[1], rest->inputs[1]});
        return found;
      }
    }
    return std::nullopt;
  }

  /// Matches 1 / dev or scale / dev.
  std::optional<NormMatch> inverse(ValueId value) const {
    if (auto found = root(value, true)) return NormMatch{*std::move(found), {}, {}};
    const Node* product = node_of(value, OpKind::kMul);
    if (product == nullptr) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      auto found = root(product->inputs[side], true);
      if (!found) continue;
      found->parts.push_back(value);
      return NormMatch{*std::move(found), product->inputs[1 - side], {}};
    }
    return std::nullopt;
  }

  std::string_view obstacle(const NormMatch& found, const Node& last) const {
    const Deviation& of = found.of;
    if (graph_.values[of.x].dtype != DType::kF32) return "the values are not f32";
    if (shape_of(last.outputs[0]) != shape_of(of.x)) return "scale or bias widens the result";
    for (const ValueId affine : {found.scale, found.bias})
      if (affine.valid() && !is_affine(shape_of(affine), of))
        return "scale or bias has no element for each that is normalized together";
    for (const ValueId part : of.parts)
      if (!is_inner(part, of, last)) return "something else reads a part";
    return {};
  }

  bool is_affine(const Shape& affine, const Deviation& of) const {
    const Shape& x = shape_of(of.x);
    const auto axes = static_cast<std::size_t>(of.axes);
    if (affine.size() > x.size() || affine.size() < axes) return false;
    for (std::size_t back = 1; back <= affine.size(); ++back)
      if (affine[affine.size() - back] != (back <= axes ? x[x.size() - back] : Expr(1)))
        return false;
    return true;
  }

  /// Returns true if only other parts and the last node read `part`.
  bool is_inner(ValueId part, const Deviation& of, const Node& last) const {
    if (readers_.is_output(part)) return false;
    return std::ranges::all_of(readers_.of(part), [&](NodeId reader) {
      const auto& results = graph_.nodes[reader].outputs;
      if (results.empty() || !results[0].valid()) return false;
      return results[0] == last.outputs[0] ||
             std::ranges::find(of.parts, results[0]) != of.parts.end();
    });
  }

  const Graph& graph_;
  const Readers& readers_;
  const PassContext& context_;
  const bool centered_;
};

/// Returns a one for each element that is normalized together; a single one if their number is not
/// known or too large.
Constant ones(const Graph& graph, const Deviation& of, const PassContext& context) {
  const Shape& x = graph.values[of.x].shape;
  Dims dims;
  for (auto dim = x.end() - of.axes; dim != x.end(); ++dim)
    if (dim->constant()) dims.push_back(*dim->constant());
  const auto bytes = checked_mul(dims.checked_elements().value_or(-1), sizeof(float));
  const bool known = dims.rank() == of.axes && bytes && *bytes >= 0;
  if (!known || !can_charge(*context.quota, *bytes)) dims = {1};
  Constant row =
      make_f32(dims, std::vector<float>(static_cast<std::size_t>(dims.elements()), 1.0F));
  charge(context.quota, row);
  return row;
}

Result<int> fuse(Graph& graph, const PassContext& context, OpKind made) {
  const Readers readers(graph);
  const NormMatcher matcher(graph, readers, context, made == OpKind::kLayerNormalization);
  std::optional<UniqueNames> names;
  IdVector<NodeId, bool> taken(graph.nodes.size(), false);
  int changes = 0;
  // Backwards: the longest form of a pattern is found first.
  for (auto i = static_cast<std::int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const NodeId id{i};
    if (taken[id]) continue;
    const auto found = matcher.match(graph.nodes[id]);
    if (!found) continue;
    for (const ValueId part : found->of.parts) taken[graph.values[part].producer] = true;
    ValueId scale = found->scale;
    if (!scale.valid()) {
      if (!names) names.emplace(graph);
      scale = add_constant(graph, *names, graph.nodes[id].name + "/ones",
                           ones(graph, found->of, context));
    }
    std::vector<ValueId> inputs = {found->of.x, scale};
    if (found->bias.valid()) inputs.push_back(found->bias);
    Attributes attributes;
    set_param(attributes, &LayerNormalizationParams::axis, -found->of.axes);
    set_param(attributes, &LayerNormalizationParams::epsilon, found->of.epsilon);
    rewrite_node(graph, id, made, std::move(inputs), std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace

Result<int> fuse_layer_normalization(Graph& graph, const PassContext& context) {
  return fuse(graph, context, OpKind::kLayerNormalization);
}

Result<int> fuse_rms_normalization(Graph& graph, const PassContext& context) {
  return fuse(graph, context, OpKind::kRMSNormalization);
}

}  // namespace parallax
