// Fuses Softmax(scale * MatMul(Q, K) + mask) along the keys, multiplied by V, into FusedAttention:
// its kernel keeps the scores in cache, and no tensor of queries x keys is written. A Where with a
// number, before or after the mask is added, is a mask, too: its condition becomes the choice. That
// is different from adding -infinity: Where removes a score that is NaN, and if the number is
// finite, a query without any key weighs all keys equally.
//
// PyTorch replaces weights that are NaN, such as those of a query without any key, by 0; the kernel
// does the same.
//
// If heads of queries share heads of keys and values, exporters repeat these: Unsqueeze, Expand and
// Reshape, before a Transpose or without one. The kernel reads them again instead.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/op.h"
#include "ops/params/fused_attention.h"
#include "ops/params/movement.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

using Perm = std::vector<std::int64_t>;

/// A repeated tensor, the permutation with which it is transposed (may be empty), and the number of
/// repetitions; `times` 1: not repeated.
struct RepeatedHeads {
  ValueId source;
  Perm perm;
  std::int64_t times = 1;
};

struct AttentionMatch {
  ValueId q, k, mask, choice;
  float scale = 1;
  bool nan_is_zero = false;
  AttentionFill fill;
  RepeatedHeads keys, values;  ///< K and V, if both repeat equally often
};

class AttentionMatcher {
 public:
  AttentionMatcher(const Graph& graph, const Readers& readers, const PassContext& context)
      : graph_(graph), readers_(readers), context_(context) {}

  std::optional<AttentionMatch> match(const Node& last) const {
    if (!is_plain_product(last)) return std::nullopt;
    AttentionMatch found;
    const ValueId weights = take_replacement(last.inputs[0], found);
    const Node* softmax = produced_by(graph_, weights, OpKind::kSoftmax);
    if (softmax == nullptr) return std::nullopt;
    const auto missed = [&](std::string_view why) {
      context_.missed(why, last);
      return std::nullopt;
    };
    if (!found.nan_is_zero && !readers_.single(weights))
      return missed("something else reads the weights");
    const int rank = static_cast<int>(shape_of(weights).size());
    if (normalize_axis(params_of<AxisParams<-1>>(*softmax).axis, rank) != rank - 1)
      return missed("Softmax is not along the keys");
    ValueId scores = take_choice(softmax->inputs[0], found);
    scores = take_mask(scores, found);
    found.fill.last = found.choice.valid() && found.mask.valid();
    if (!found.choice.valid()) scores = take_choice(scores, found);
    scores = take_scale(scores, found);
    const Node* product = produced_by(graph_, scores, OpKind::kMatMul);
    if (product == nullptr) return missed("the scores are not a product, scaled and masked");
    if (!readers_.single(scores)) return missed("something else reads the scores");
    if (!is_plain_product(*product)) return missed("the product of the scores has a bias");
    found.q = product->inputs[0];
    found.k = product->inputs[1];
    take_heads(last.inputs[1], found);
    return found;
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.values[value].shape; }

  /// Returns the node that computes `value` if it has no other reader: only then does fusing save
  /// it.
  const Node* inner_node(ValueId value, OpKind kind) const {
    return readers_.single(value) ? produced_by(graph_, value, kind) : nullptr;
  }

  /// Returns true for a product of f32 matrices without an epilogue.
  bool is_plain_product(const Node& node) const {
    if (node.op != OpKind::kMatMul || node.inputs.size() != 2) return false;
    if (!node.epilogue.empty()) return false;
    for (const ValueId input : node.inputs) {
      if (graph_.values[input].dtype != DType::kF32 || shape_of(input).size() < 2) return false;
    }
    return true;
  }

  /// Returns the weights of which Where(IsNaN(weights), 0, weights) replaces some; `value` if there
  /// is no such node, or it has other readers.
  ValueId take_replacement(ValueId value, AttentionMatch& found) const {
    const Node* where = inner_node(value, OpKind::kWhere);
    const Node* test = where == nullptr ? nullptr : inner_node(where->inputs[0], OpKind::kIsNaN);
    if (test == nullptr || scalar_constant(graph_, where->inputs[1]) != 0.0F) return value;
    const ValueId weights = where->inputs[2];
    if (test->inputs[0] != weights || shape_of(weights) != shape_of(value)) return value;
    if (readers_.of(weights).size() != 2 || readers_.is_output(weights)) return value;
    found.nan_is_zero = true;
    return weights;
  }

  /// Returns the scores to which a mask is added, and stores the mask in `found`; returns `value`
  /// if there is no mask.
  ValueId take_mask(ValueId value, AttentionMatch& found) const {
    const Node* add = inner_node(value, OpKind::kAdd);
    if (add == nullptr) return value;
    for (const std::size_t side : {0U, 1U}) {
      const ValueId scores = add->inputs[side], mask = add->inputs[1 - side];
      if (shape_of(scores) != shape_of(value) || !is_mask(shape_of(mask), shape_of(scores))) {
        continue;
      }
      AttentionMatch inner;
      const ValueId chosen = found.choice.valid() ? scores : take_choice(scores, inner);
      if (inner_node(take_scale(chosen, inner), OpKind::kMatMul) == nullptr) continue;
      found.mask = mask;
      return scores;
    }
    return value;
  }

  /// Returns the scores of which a Where replaces some by a number; `value` if there is no Where.
  ValueId take_choice(ValueId value, AttentionMatch& found) const {
    const Node* where = inner_node(value, OpKind::kWhere);
    if (where == nullptr) return value;
    for (const std::size_t side : {1U, 2U}) {
      const ValueId scores = where->inputs[side], choice = where->inputs[0];
      const auto number = scalar_constant(graph_, where->inputs[3 - side]);
      if (!number || shape_of(scores) != shape_of(value)) continue;
      if (!is_mask(shape_of(choice), shape_of(scores))) continue;
      found.choice = choice;
      found.fill = {*number, side == 2, false};
      return scores;
    }
    return value;
  }

  /// Returns true if each query has an element for each key, and no axis of the scores can become
  /// larger when sizes are bound.
  static bool is_mask(const Shape& mask, const Shape& scores) {
    if (mask.empty() || mask.size() > scores.size() || mask.back() != scores.back()) return false;
    for (std::size_t back = 2; back <= mask.size(); ++back) {
      const Expr& dim = mask[mask.size() - back];
      if (dim != Expr(1) && dim != scores[scores.size() - back]) return false;
    }
    return true;
  }

  /// Returns the scores that are multiplied or divided by one constant, and stores it in `found`.
  ValueId take_scale(ValueId value, AttentionMatch& found) const {
    for (const OpKind kind : {OpKind::kMul, OpKind::kDiv}) {
      const Node* node = inner_node(value, kind);
      if (node == nullptr) continue;
      for (const std::size_t side : {0U, 1U}) {
        if (kind == OpKind::kDiv && side == 1) continue;
        const auto number = scalar_constant(graph_, node->inputs[1 - side]);
        // Constants with many dimensions of one must not have raised the rank.
        if (!number || shape_of(node->inputs[side]) != shape_of(value)) continue;
        if (kind == OpKind::kDiv && !std::isfinite(1.0F / *number)) continue;
        found.scale = kind == OpKind::kMul ? *number : 1.0F / *number;
        return node->inputs[side];
      }
    }
    return value;
  }

  /// Heads that are repeated for `found`, and for the values `v`.
  void take_heads(ValueId v, AttentionMatch& found) const {
    const std::size_t rank = shape_of(found.q).size();
    const RepeatedHeads keys = repeated_heads(found.k, rank, true);
    const RepeatedHeads values = repeated_heads(v, rank, false);
    if (keys.times == 1 || keys.times != values.times) return;
    found.keys = keys;
    found.values = values;
  }

  /// Returns the heads that `operand`, a matrix for each, repeats.
  RepeatedHeads repeated_heads(ValueId operand, std::size_t rank, bool columns_too) const {
    if (shape_of(operand).size() != rank || rank < 3 || rank >= Dims::kMaxRank) return {};
    RepeatedHeads found;
    std::size_t axis = rank - 3;
    if (const Node* transpose = inner_node(operand, OpKind::kTranspose)) {
      found.perm = params_of<TransposeParams>(*transpose).perm;
      if (found.perm.size() != rank || found.perm[axis] < 0) return {};
      const auto last = static_cast<std::int64_t>(rank) - 1;
      // Kernels want rows of V, and rows or columns of K.
      if (found.perm.back() != last && (!columns_too || found.perm[rank - 2] != last)) return {};
      axis = static_cast<std::size_t>(found.perm[axis]);
      operand = transpose->inputs[0];
    }
    const Node* merged = inner_node(operand, OpKind::kReshape);
    if (merged == nullptr) return {};
    const Node* repeated = inner_node(merged->inputs[0], OpKind::kExpand);
    if (repeated == nullptr) repeated = inner_node(merged->inputs[0], OpKind::kTile);
    if (repeated == nullptr) return {};
    found.source = before_split(repeated->inputs[0]);
    if (!found.source.valid() || shape_of(found.source).size() != rank) return {};
    const Shape& wide = shape_of(merged->inputs[0]);
    if (wide.size() != rank + 1 || !wide[axis + 1].constant()) return {};
    const std::int64_t times = *wide[axis + 1].constant();
    Shape wanted = shape_of(found.source);
    const auto split = wanted.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
    const auto inserted = wanted.insert(split, Expr(1));
    if (times < 2 || shape_of(repeated->inputs[0]) != wanted) return {};
    *inserted = Expr(times);
    if (wide != wanted) return {};
    wanted.erase(inserted);
    wanted[axis] = wanted[axis] * Expr(times);
    if (shape_of(operand) != wanted) return {};
    found.times = times;
    return found;
  }

  /// Returns the operand of the node that adds axes to make `value`; invalid if there is no such
  /// node.
  ValueId before_split(ValueId value) const {
    const Node* split = produced_by(graph_, value, OpKind::kUnsqueeze);
    if (split == nullptr) split = produced_by(graph_, value, OpKind::kReshape);
    return split == nullptr ? ValueId{} : split->inputs[0];
  }

  const Graph& graph_;
  const Readers& readers_;
  const PassContext& context_;
};

Attributes attributes_for(const AttentionMatch& found) {
  using Params = FusedAttentionParams;
  Attributes attributes;
  if (found.keys.times > 1) {
    set_param(attributes, &Params::group, found.keys.times);
    if (!found.keys.perm.empty()) set_param(attributes, &Params::k_perm, found.keys.perm);
    if (!found.values.perm.empty()) set_param(attributes, &Params::v_perm, found.values.perm);
  }
  if (found.nan_is_zero) set_param(attributes, &Params::nan_is_zero, true);
  if (found.choice.valid()) {
    set_param(attributes, &AttentionFill::value, found.fill.value);
    set_param(attributes, &AttentionFill::where, found.fill.where);
    set_param(attributes, &AttentionFill::last, found.fill.last);
  }
  if (found.scale != 1.0F) set_param(attributes, &Params::scale, found.scale);
  return attributes;
}

}  // namespace

Result<int> fuse_attention(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  const AttentionMatcher matcher(graph, readers, context);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = matcher.match(graph.nodes[id]);
    if (!found) continue;
    const bool shared = found->keys.times > 1;
    std::vector<ValueId> inputs = {found->q, shared ? found->keys.source : found->k,
                                   shared ? found->values.source : graph.nodes[id].inputs[1]};
    if (found->mask.valid() || found->choice.valid()) inputs.push_back(found->mask);
    if (found->choice.valid()) inputs.push_back(found->choice);
    rewrite_node(graph, id, OpKind::kFusedAttention, std::move(inputs), attributes_for(*found));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

namespace {

/// Returns each head of `x` repeated `times` times, one after the other.
ValueId repeated_heads(Parts& parts, ValueId x, std::int64_t rank, std::int64_t times) {
  const auto part_of_shape = [&](std::int64_t start, std::int64_t end) {
    Attributes attributes;
    set_param(attributes, &ShapeParams::start, start);
    set_param(attributes, &ShapeParams::end, end);
    return parts.op(OpKind::kShape, {x}, std::move(attributes));
  };
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(rank) + 1, 1);
  repeats[static_cast<std::size_t>(rank) - 2] = times;
  const ValueId split = parts.op(OpKind::kUnsqueeze, {x, parts.ints({rank - 2})});
  const ValueId wide = parts.op(OpKind::kTile, {split, parts.ints(repeats)});
  const ValueId heads =
      parts.op(OpKind::kMul, {part_of_shape(rank - 3, rank - 2), parts.ints({times})});
  Attributes along, as_told;
  set_param(along, &AxisParams<0>::axis, 0);
  const ValueId shape =
      parts.op(OpKind::kConcat, {part_of_shape(0, rank - 3), heads, part_of_shape(rank - 2, rank)},
               std::move(along));
  set_param(as_told, &ReshapeParams::allowzero, true);
  return parts.op(OpKind::kReshape, {wide, shape}, std::move(as_told));
}

}  // namespace

void decompose_attention(Parts& parts) {
  const auto params = params_of<FusedAttentionParams>(parts.node());
  const auto operand = [&](std::size_t i) {
    const Perm& perm = params.*kAttentionPerms[i];
    const ValueId x = perm.empty() ? parts.input(i) : parts.transposed(parts.input(i), perm);
    const auto rank = static_cast<std::int64_t>(parts.shape(i).size());
    return i == 0 || params.group == 1 ? x : repeated_heads(parts, x, rank, params.group);
  };
  ValueId scores = parts.op(OpKind::kMatMul, {operand(0), operand(1)});
  if (params.scale != 1.0F) scores = parts.op(OpKind::kMul, {scores, parts.number(params.scale)});
  const AttentionFill& fill = params.fill;
  const auto fill_chosen = [&] {
    const ValueId number = parts.number(fill.value);
    scores = parts.op(OpKind::kWhere, {parts.input(kAttentionChoice), fill.where ? number : scores,
                                       fill.where ? scores : number});
  };
  if (parts.has(kAttentionChoice) && !fill.last) fill_chosen();
  if (parts.has(kAttentionMask))
    scores = parts.op(OpKind::kAdd, {scores, parts.input(kAttentionMask)});
  if (parts.has(kAttentionChoice) && fill.last) fill_chosen();
  ValueId weights = parts.op(OpKind::kSoftmax, {scores});
  if (params.nan_is_zero)
    weights =
        parts.op(OpKind::kWhere, {parts.op(OpKind::kIsNaN, {weights}), parts.number(0), weights});
  const std::vector<ValueId> product = {weights, operand(2)};
  if (params.y_perm.empty()) return parts.result(OpKind::kMatMul, product);
  Attributes turned;
  set_param(turned, &TransposeParams::perm, params.y_perm);
  parts.result(OpKind::kTranspose, {parts.op(OpKind::kMatMul, product)}, std::move(turned));
}

}  // namespace parallax
