// Fuses the window attention of Swin v2 into CosineAttention:
//
//     q, k, v = Transpose(Q, K, V) {perm = [0, 2, 1, 3]}
//     unit(x) = x / Expand(Clip(ReduceL2(x, -1), epsilon))       Expand may be missing; or Max; or
//                                                                times 1 / that; or Sqrt(ReduceSum(
//                                                                x x)), limited before the root too
//     scores  = MatMul(unit(q), Transpose(unit(k))) * scale      one number per head
//     scores  = scores + bias                                    [1, heads, queries, keys], or none
//     scores  = Reshape(Reshape(scores) + mask)                  [1, masks, 1, queries, keys], or
//                                                                none, or several times
//     y       = Transpose(MatMul(Softmax(scores), v)) {perm = [0, 2, 1, 3]}
//
// Vectors may be normalized, or only measured, before heads are transposed. Scale, bias and mask
// must be constants. The transposes disappear: the kernel reads and writes adjacent heads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "lower/patterns/unit_vectors.h"
#include "ops/deferred.h"
#include "ops/op.h"
#include "ops/params/attention.h"
#include "ops/params/movement.h"
#include "ops/params/reduce.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

struct CosineMatch {
  ValueId q, k, v, scale, bias;
  std::vector<ValueId> masks;  ///< to be added up
  float epsilon = 0;
};

class CosineMatcher {
 public:
  CosineMatcher(const Graph& graph, const Readers& readers, const PassContext& context)
      : graph_(graph),
        readers_(readers),
        units_(graph, readers),
        context_(context),
        quota_(*context.quota) {}

  std::optional<CosineMatch> match(const Node& last) const {
    if (!swaps_heads(last)) return std::nullopt;
    const Node* product = inner_node(last.inputs[0], OpKind::kMatMul);
    if (product == nullptr || !is_plain(*product)) return std::nullopt;
    const Node* softmax = inner_node(product->inputs[0], OpKind::kSoftmax);
    CosineMatch found;
    found.v = before_swap(graph_, product->inputs[1]);
    if (softmax == nullptr || !found.v.valid()) return std::nullopt;
    const auto axis = params_of<AxisParams<-1>>(*softmax).axis;
    if (shape_of(softmax->inputs[0]).size() != 4 || (axis != -1 && axis != 3)) return std::nullopt;
    ValueId scores = take_masks(softmax->inputs[0], found);
    scores = take_bias(scores, found);
    scores = take_scale(scores, found);
    if (!scores.valid() || !take_cosines(scores, found)) return std::nullopt;
    if (fits(found)) return found;
    context_.missed("queries, keys and values do not fit each other", last);
    return std::nullopt;
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.values[value].shape; }

  const Node* inner_node(ValueId value, OpKind kind) const {
    return parallax::inner_node(graph_, readers_, value, kind);
  }

  static bool is_plain(const Node& product) {
    return product.inputs.size() == 2 && product.epilogue.empty();
  }

  /// The two operands of an Add, the constant one second.
  struct Sum {
    ValueId value, constant;
  };
  std::optional<Sum> constant_sum(ValueId value, OpKind kind) const {
    const Node* node = inner_node(value, kind);
    if (node == nullptr) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      const Sum sum{node->inputs[side], node->inputs[1 - side]};
      if (float_constant(graph_, sum.constant) != nullptr && shape_of(sum.value) == shape_of(value))
        return sum;
    }
    return std::nullopt;
  }

  /// Returns the scores before window masks are added, between two reshapes.
  ValueId take_masks(ValueId value, CosineMatch& found) const {
    const Node* back = inner_node(value, OpKind::kReshape);
    if (back == nullptr) return value;
    ValueId windows = back->inputs[0];
    const Shape& shape = shape_of(windows);
    if (shape.size() != 5 || !is_split(shape, shape_of(value))) return value;
    std::vector<ValueId> masks;
    while (const auto sum = constant_sum(windows, OpKind::kAdd)) {
      const Shape& mask = shape_of(sum->constant);
      const Shape wanted = {1, shape[1], 1, shape[3], shape[4]};
      if (mask != wanted) return value;
      masks.push_back(sum->constant);
      windows = sum->value;
    }
    const Node* split = inner_node(windows, OpKind::kReshape);
    if (masks.empty() || split == nullptr || shape_of(split->inputs[0]) != shape_of(value))
      return value;
    if (!may_sum(masks)) return value;
    found.masks = std::move(masks);
    return split->inputs[0];
  }

  /// Returns whether the masks may be summed: the sum of several is a new constant.
  bool may_sum(const std::vector<ValueId>& masks) const {
    const auto bytes = std::ssize(graph_.values[masks[0]].constant->bytes);
    return masks.size() == 1 || can_charge(quota_, bytes);
  }

  /// Returns true if [b, n, h, s, t] are the windows of [b * n, h, s, t].
  static bool is_split(const Shape& split, const Shape& whole) {
    return whole.size() == 4 && split[1].constant() && split[0] * split[1] == whole[0] &&
           std::equal(split.begin() + 2, split.end(), whole.begin() + 1);
  }

  ValueId take_bias(ValueId value, CosineMatch& found) const {
    const auto sum = constant_sum(value, OpKind::kAdd);
    if (!sum) return value;
    const Shape& shape = shape_of(value);
    const Shape& bias = shape_of(sum->constant);
    const bool leading = bias.size() == 4 && bias[0] == Expr(1);
    if ((!leading && bias.size() != 3) ||
        !std::equal(shape.begin() + 1, shape.end(), bias.begin() + (leading ? 1 : 0)))
      return value;
    found.bias = sum->constant;
    return sum->value;
  }

  /// Returns the products that are multiplied by one constant per head, or by one for all.
  ValueId take_scale(ValueId value, CosineMatch& found) const {
    const auto sum = constant_sum(value, OpKind::kMul);
    if (!sum) return {};
    const Shape& scale = shape_of(sum->constant);
    if (scale.empty() && shape_of(value)[1].constant()) {
      found.scale = sum->constant;
      return sum->value;
    }
    const bool leading = scale.size() == 4 && scale[0] == Expr(1);
    if (!leading && scale.size() != 3) return {};
    const std::size_t head = leading ? 1 : 0;
    if (scale[head] != shape_of(value)[1] || scale[head + 1] != Expr(1) ||
        scale[head + 2] != Expr(1))
      return {};
    found.scale = sum->constant;
    return sum->value;
  }

  bool take_cosines(ValueId scores, CosineMatch& found) const {
    const Node* product = inner_node(scores, OpKind::kMatMul);
    if (product == nullptr || !is_plain(*product)) return false;
    const auto q = units_.heads(product->inputs[0]), k = units_.columns(product->inputs[1]);
    if (!q || !k || q->epsilon != k->epsilon) return false;
    found.q = q->x;
    found.k = k->x;
    found.epsilon = q->epsilon;
    return true;
  }

  /// Returns true if the operator supports the operands.
  bool fits(const CosineMatch& found) const {
    const Shape& q = shape_of(found.q);
    const Shape& k = shape_of(found.k);
    const Shape& v = shape_of(found.v);
    for (const ValueId value : {found.q, found.k, found.v}) {
      if (graph_.values[value].dtype != DType::kF32 || shape_of(value).size() != 4) return false;
    }
    // Vectors without elements have cosines of 0 one by one, of 0 / 0 in the kernels.
    const auto depth = q[3].constant();
    if (!depth || *depth == 0) return false;
    // The scale of each head is a new constant: no more heads than any model has.
    constexpr std::int64_t kMostHeads = 4096;
    if (q[2].constant().value_or(kMostHeads + 1) > kMostHeads) return false;
    return k[0] == q[0] && k[2] == q[2] && k[3] == q[3] && v[0] == q[0] && v[1] == k[1] &&
           v[2] == q[2];
  }

  const Graph& graph_;
  const Readers& readers_;
  const UnitVectors units_;
  const PassContext& context_;
  const LoadQuota& quota_;
};

/// Returns the same elements with other dimensions.
ValueId reshaped(Graph& graph, UniqueNames& names, ValueId value, const Dims& dims) {
  Constant constant = *graph.values[value].constant;
  constant.dims = dims;
  return add_constant(graph, names, graph.values[value].name + "/heads", std::move(constant));
}

/// Returns the scales as a list of one for each head.
ValueId scale_per_head(Graph& graph, UniqueNames& names, const CosineMatch& found) {
  const Constant& scale = *graph.values[found.scale].constant;
  if (scale.dims.rank() > 0)
    return reshaped(graph, names, found.scale, Dims{scale.dims.elements()});
  const std::int64_t heads = *graph.values[found.q].shape[2].constant();
  const std::vector<float> list(static_cast<std::size_t>(heads), floats(scale).front());
  return add_constant(graph, names, graph.values[found.scale].name + "/heads",
                      make_f32(Dims{heads}, list));
}

ValueId summed_masks(Graph& graph, UniqueNames& names, const std::vector<ValueId>& masks,
                     const std::shared_ptr<LoadQuota>& quota) {
  const Constant& first = *graph.values[masks[0]].constant;
  const Dims dims = {first.dims[1], first.dims[3], first.dims[4]};
  if (masks.size() == 1) return reshaped(graph, names, masks[0], dims);
  std::vector<Constant> parts;
  for (const ValueId mask : masks) parts.push_back(*graph.values[mask].constant);
  const auto fill = [parts](std::span<std::byte> into) -> Status {
    for (std::size_t at = 0; at < into.size(); at += sizeof(float)) {
      float sum = 0;
      std::memcpy(&sum, parts[0].bytes.data() + at, sizeof sum);
      for (const Constant& part : std::span(parts).subspan(1)) {
        float element = 0;
        std::memcpy(&element, part.bytes.data() + at, sizeof element);
        sum += element;
      }
      std::memcpy(into.data() + at, &sum, sizeof sum);
    }
    return {};
  };
  Constant constant = defer_large(DType::kF32, dims, parts, fill);
  charge(quota, constant);  // the match has asked
  return add_constant(graph, names, graph.values[masks[0]].name + "/sum", std::move(constant));
}

}  // namespace

Result<int> fuse_cosine_attention(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  const CosineMatcher matcher(graph, readers, context);
  std::optional<UniqueNames> names;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = matcher.match(graph.nodes[id]);
    if (!found) continue;
    if (!names) names.emplace(graph);
    std::vector<ValueId> inputs = {found->q, found->k, found->v};
    inputs.push_back(scale_per_head(graph, *names, *found));
    if (found->bias.valid()) {
      const Dims& dims = graph.values[found->bias].constant->dims;
      const int rank = dims.rank();
      inputs.push_back(reshaped(graph, *names, found->bias,
                                Dims{dims[rank - 3], dims[rank - 2], dims[rank - 1]}));
    }
    if (!found->masks.empty()) {
      inputs.resize(5);
      inputs.push_back(summed_masks(graph, *names, found->masks, context.quota));
    }
    Attributes attributes;
    set_param(attributes, &CosineAttentionParams::epsilon, found->epsilon);
    rewrite_node(graph, id, OpKind::kCosineAttention, std::move(inputs), std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
