// Softmax(scale * MatMul(Q, K) + mask) along the keys, multiplied by V, becomes FusedAttention: its
// kernel keeps the scores in cache, and no tensor of queries x keys is written. A Where with a
// number, before the mask is added or behind it, is a mask too: its condition becomes the choice.
// That is no sum with -infinity: a score that is NaN is gone behind Where, and the keys of a query
// that may look nowhere weigh alike where the number is finite.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/attention.h"
#include "ops/op.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

struct AttentionMatch {
  ValueId q, k, mask, choice;
  float scale = 1;
  AttentionFill fill;
};

class AttentionMatcher {
 public:
  AttentionMatcher(const Graph& graph, const Readers& readers, const PassContext& context)
      : graph_(graph), readers_(readers), context_(context) {}

  std::optional<AttentionMatch> match(const Node& last) const {
    if (!is_plain_product(last)) return std::nullopt;
    const Node* softmax = produced_by(graph_, last.inputs[0], OpKind::kSoftmax);
    if (softmax == nullptr) return std::nullopt;
    const auto missed = [&](std::string_view why) {
      context_.missed(why, last);
      return std::nullopt;
    };
    if (!readers_.single(last.inputs[0])) return missed("something else reads the weights");
    const int rank = static_cast<int>(shape_of(last.inputs[0]).size());
    if (normalize_axis(softmax->attributes.get_int("axis", -1), rank) != rank - 1)
      return missed("Softmax is not along the keys");
    AttentionMatch found;
    ValueId scores = take_choice(softmax->inputs[0], found);
    scores = take_mask(scores, found);
    found.fill.last = found.choice.valid() && found.mask.valid();
    if (!found.choice.valid()) scores = take_choice(scores, found);
    scores = take_scale(scores, found);
    const Node* product = produced_by(graph_, scores, OpKind::kMatMul);
    if (product == nullptr) return missed("the scores are no product, scaled and masked");
    if (!readers_.single(scores)) return missed("something else reads the scores");
    if (!is_plain_product(*product)) return missed("the product of the scores has a bias");
    found.q = product->inputs[0];
    found.k = product->inputs[1];
    return found;
  }

 private:
  const Shape& shape_of(ValueId value) const { return graph_.values[value].shape; }

  /// The node behind `value` if nothing else reads it: only then does fusing save it.
  const Node* inner_node(ValueId value, OpKind kind) const {
    return readers_.single(value) ? produced_by(graph_, value, kind) : nullptr;
  }

  /// True for a product of f32 matrices with nothing applied to it.
  bool is_plain_product(const Node& node) const {
    if (node.op != OpKind::kMatMul || node.inputs.size() != 2) return false;
    if (!node.epilogue.empty()) return false;
    for (const ValueId input : node.inputs) {
      if (graph_.values[input].dtype != DType::kF32 || shape_of(input).size() < 2) return false;
    }
    return true;
  }

  /// The scores that a mask is added to, with the mask in `found`; `value` where there is none.
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

  /// The scores of which a Where makes some a number; `value` where there is none.
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

  /// True where each query has an element for each key, and no axis of the scores is known to be
  /// larger only when sizes are bound.
  static bool is_mask(const Shape& mask, const Shape& scores) {
    if (mask.empty() || mask.size() > scores.size() || mask.back() != scores.back()) return false;
    for (std::size_t back = 2; back <= mask.size(); ++back) {
      const Expr& dim = mask[mask.size() - back];
      if (dim != Expr(1) && dim != scores[scores.size() - back]) return false;
    }
    return true;
  }

  /// The scores that are multiplied or divided by one constant, which goes into `found`.
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

  const Graph& graph_;
  const Readers& readers_;
  const PassContext& context_;
};

}  // namespace

Result<int> fuse_attention(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  const AttentionMatcher matcher(graph, readers, context);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = matcher.match(graph.nodes[id]);
    if (!found) continue;
    std::vector<ValueId> inputs = {found->q, found->k, graph.nodes[id].inputs[1]};
    if (found->mask.valid() || found->choice.valid()) inputs.push_back(found->mask);
    if (found->choice.valid()) inputs.push_back(found->choice);
    Attributes attributes;
    if (found->choice.valid()) {
      attributes.set(std::string(kAttentionFill), found->fill.value);
      attributes.set(std::string(kAttentionFillWhere), std::int64_t{found->fill.where});
      attributes.set(std::string(kAttentionFillLast), std::int64_t{found->fill.last});
    }
    if (found->scale != 1.0F) attributes.set("scale", found->scale);
    rewrite_node(graph, id, OpKind::kFusedAttention, std::move(inputs), std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

void decompose_attention(Parts& parts) {
  const Attributes& attributes = parts.node().attributes;
  const auto operand = [&](std::size_t i) {
    auto perm = attributes.get_ints(kAttentionPerms[i]);
    return perm.empty() ? parts.input(i) : parts.transposed(parts.input(i), std::move(perm));
  };
  ValueId scores = parts.op(OpKind::kMatMul, {operand(0), operand(1)});
  const float scale = attributes.get_float("scale", 1.0F);
  if (scale != 1.0F) scores = parts.op(OpKind::kMul, {scores, parts.number(scale)});
  const AttentionFill fill = attention_fill(attributes);
  const auto fill_chosen = [&] {
    const ValueId number = parts.number(fill.value);
    scores = parts.op(OpKind::kWhere, {parts.input(kAttentionChoice), fill.where ? number : scores,
                                       fill.where ? scores : number});
  };
  if (parts.has(kAttentionChoice) && !fill.last) fill_chosen();
  if (parts.has(kAttentionMask))
    scores = parts.op(OpKind::kAdd, {scores, parts.input(kAttentionMask)});
  if (parts.has(kAttentionChoice) && fill.last) fill_chosen();
  const std::vector<ValueId> product = {parts.op(OpKind::kSoftmax, {scores}), operand(2)};
  const auto perm = attributes.get_ints(kAttentionOutputPerm);
  if (perm.empty()) return parts.result(OpKind::kMatMul, product);
  Attributes turned;
  turned.set("perm", perm);
  parts.result(OpKind::kTranspose, {parts.op(OpKind::kMatMul, product)}, std::move(turned));
}

}  // namespace parallax
