#include "lower/cpu/factor_attention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "lower/patterns/fuse_util.h"
#include "ops/infer.h"
#include "ops/params/fused_attention.h"
#include "ops/params/matmul.h"
#include "ops/params/movement.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

using Perm = std::vector<std::int64_t>;

/// Applies to multiply-adds; below 1 because products of few rows are slower than those of many.
constexpr double kWorthIt = 0.8;

struct Projection {
  ValueId x, weights, bias;
  std::int64_t model = 0, heads = 0, width = 0;
};

/// Matches a Reshape to heads of a product with constants; neither may have other readers.
std::optional<Projection> match_projection(const Graph& graph, const Readers& readers,
                                           ValueId value) {
  const Node* const reshape =
      readers.single(value) ? produced_by(graph, value, OpKind::kReshape) : nullptr;
  if (reshape == nullptr || !readers.single(reshape->inputs[0])) return std::nullopt;
  const Node* const product = produced_by(graph, reshape->inputs[0], OpKind::kMatMul);
  if (product == nullptr || !product->epilogue.empty()) return std::nullopt;
  Projection found{product->inputs[0], product->inputs[1],
                   product->inputs.size() > 2 ? product->inputs[2] : ValueId{}};
  const Constant* const weights = float_constant(graph, found.weights);
  if (weights == nullptr || weights->dims.rank() != 2) return std::nullopt;
  if (found.bias.valid() && float_constant(graph, found.bias) == nullptr) return std::nullopt;
  const Shape& x = graph.values[found.x].shape;
  const Shape& shape = graph.values[value].shape;
  if (x.size() != 3 || shape.size() != 4 || shape[0] != x[0] || shape[1] != x[1])
    return std::nullopt;
  const auto heads = shape[2].constant(), width = shape[3].constant();
  if (!heads || !width || *heads < 1 || *width < 1) return std::nullopt;
  found.model = weights->dims[0];
  found.heads = *heads;
  found.width = *width;
  if (found.model < 1 || checked_mul(*heads, *width) != weights->dims[1]) return std::nullopt;
  return found;
}

std::optional<CrossAttention> match(const Graph& graph, const Readers& readers, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.op != OpKind::kFusedAttention) return std::nullopt;
  if (std::any_of(node.inputs.begin() + kAttentionMask, node.inputs.end(),
                  [](ValueId input) { return input.valid(); }))
    return std::nullopt;
  const auto params = params_of<FusedAttentionParams>(node);
  if (params.group != 1) return std::nullopt;
  if (params.k_perm != Perm{0, 2, 3, 1} || params.v_perm != Perm{0, 2, 1, 3}) return std::nullopt;
  const auto k = match_projection(graph, readers, node.inputs[1]);
  const auto v = k ? match_projection(graph, readers, node.inputs[2]) : std::nullopt;
  if (!v || v->x != k->x || v->heads != k->heads) return std::nullopt;
  const Shape& x = graph.values[k->x].shape;
  const Shape& stored = graph.values[node.inputs[0]].shape;
  if (stored.size() != 4) return std::nullopt;
  Shape q = stored;
  const Perm& perm = params.q_perm;
  for (std::size_t i = 0; i < perm.size(); ++i) q[i] = stored[static_cast<std::size_t>(perm[i])];
  if (q[0] != x[0] || q[1] != Expr(k->heads) || q[3] != Expr(k->width)) return std::nullopt;
  return CrossAttention{id,       k->x,     k->weights, v->weights, v->bias, k->model,
                        k->heads, k->width, v->width,   x[0],       x[1],    q[2]};
}

/// Returns false if no binding makes it less work, so that it does not prevent other rewrites: with
/// as many queries as keys, or for known sizes.
bool may_pay(const CrossAttention& c) {
  if (c.queries == c.keys) return false;
  const bool known = c.batch.constant() && c.keys.constant() && c.queries.constant();
  return !known || factoring_pays({c}, {});
}

class Factoring {
 public:
  explicit Factoring(Graph& graph) : graph_(graph), names_(graph), inference_(graph, quota_) {}

  Status run(const std::vector<CrossAttention>& found) {
    IdVector<NodeId, Node> old = std::move(graph_.nodes);
    graph_.nodes = {};
    auto next = found.begin();
    for (const NodeId id : old.ids()) {
      if (next == found.end() || next->node != id) {
        graph_.nodes.push_back(std::move(old[id]));
        continue;
      }
      PX_RETURN_IF_ERROR(rewrite(old[id], *next++));
    }
    erase_unused(graph_);
    return verify(graph_, Stage::kSimplify);
  }

 private:
  Status rewrite(const Node& attention, const CrossAttention& c) {
    const Shape expected = graph_.values[attention.outputs[0]].shape;
    name_ = attention.name;
    const auto params = params_of<FusedAttentionParams>(attention);
    PX_ASSIGN(ValueId y, permuted(attention.inputs[0], params.q_perm));
    // [model, heads, depth] becomes [heads, depth, model].
    const ValueId keys = viewed(c.key_weights, {c.model, c.heads, c.depth});
    PX_ASSIGN(y, product(y, keys, {1, 2, 0}, "/keys"));
    PX_ASSIGN(y, reshaped(y, {0, -1, c.model}, "/queries"));
    Attributes attributes;
    if (params.scale != 1.0F) set_param(attributes, &FusedAttentionParams::scale, params.scale);
    set_param(attributes, &FusedAttentionParams::k_perm, {0, 2, 1});
    PX_ASSIGN(y, op(OpKind::kFusedAttention, {y, c.x, c.x}, std::move(attributes), "/factored"));
    PX_ASSIGN(y, reshaped(y, {0, c.heads, -1, c.model}, "/by_head"));
    const ValueId values = viewed(c.value_weights, {c.model, c.heads, c.width});
    PX_ASSIGN(y, product(y, values, {1, 0, 2}, "/values"));
    if (c.value_bias.valid()) {
      const ValueId bias = viewed(c.value_bias, {c.heads, 1, c.width});
      PX_ASSIGN(y, op(OpKind::kAdd, {y, bias}, {}, "/sum"));
    }
    PX_ASSIGN(y, permuted(y, params.y_perm));
    return finish(attention, y, expected);
  }

  /// Makes the last node compute what the attention did.
  Status finish(const Node& attention, ValueId y, const Shape& expected) {
    const ValueId output = attention.outputs[0];
    Node& last = graph_.nodes[NodeId{static_cast<std::int32_t>(graph_.nodes.size()) - 1}];
    if (graph_.values[y].shape != expected)
      return tl::unexpected(Error{Stage::kSimplify, ErrorCode::kInternal, attention.name,
                                  "its factored form has another shape"});
    last.outputs = {output};
    return {};
  }

  Result<ValueId> permuted(ValueId x, const Perm& perm) {
    if (perm.empty()) return x;
    Attributes attributes;
    set_param(attributes, &TransposeParams::perm, perm);
    return op(OpKind::kTranspose, {x}, std::move(attributes), "/transposed");
  }

  /// Returns a constant with the same bytes under other dimensions.
  ValueId viewed(ValueId value, const Dims& dims) {
    Constant view = *graph_.values[value].constant;
    view.dims = dims;
    return add_constant(graph_, names_, graph_.values[value].name + "/by_head", std::move(view));
  }

  /// Appends x Transpose(weights, perm).
  Result<ValueId> product(ValueId x, ValueId weights, const Perm& perm, std::string_view suffix) {
    Attributes attributes;
    set_param(attributes, &MatMulParams::b_perm, perm);
    return op(OpKind::kMatMul, {x, weights}, std::move(attributes), suffix);
  }

  Result<ValueId> reshaped(ValueId x, const Perm& shape, std::string_view suffix) {
    const ValueId wanted =
        add_constant(graph_, names_, name_ + std::string(suffix) + "/shape", make_i64(shape));
    return op(OpKind::kReshape, {x, wanted}, {}, suffix);
  }

  /// Appends a node and infers its output.
  Result<ValueId> op(OpKind kind, std::vector<ValueId> inputs, Attributes attributes,
                     std::string_view suffix) {
    Node node;
    node.name = names_.make(name_ + std::string(suffix));
    node.op = kind;
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    Value value;
    value.name = names_.make(node.name + "/output");
    value.producer = NodeId{static_cast<std::int32_t>(graph_.nodes.size())};
    const ValueId output = graph_.values.push_back(std::move(value));
    node.outputs = {output};
    PX_RETURN_IF_ERROR(inference_.infer(graph_.nodes.push_back(std::move(node))));
    return output;
  }

  Graph& graph_;
  UniqueNames names_;
  LoadQuota quota_;  ///< the load's is gone by the time that lengths are bound
  Inference inference_;
  std::string name_;
};

}  // namespace

std::vector<CrossAttention> find_cross_attention(const Graph& graph) {
  const Readers readers(graph);
  std::vector<CrossAttention> found;
  for (const NodeId id : graph.nodes.ids()) {
    auto one = match(graph, readers, id);
    if (one && may_pay(*one)) found.push_back(*std::move(one));
  }
  return found;
}

bool factoring_pays(const std::vector<CrossAttention>& found, const Binding& binding) {
  // Sizes below 2^63: products of five of them stay finite.
  double plain = 0, factored = 0;
  for (const CrossAttention& c : found) {
    const auto size = [&](const Expr& dim) {
      return static_cast<double>(dim.evaluate(binding.symbols).value_or(0));
    };
    const double batch = size(c.batch), keys = size(c.keys), queries = size(c.queries);
    const auto model = static_cast<double>(c.model), heads = static_cast<double>(c.heads);
    const auto head = static_cast<double>(c.depth) + static_cast<double>(c.width);
    // The tensor that replaces the projected keys and values has a row for each query of each head.
    if (batch < 1 || queries < 1 || heads * queries > keys) return false;
    plain += batch * heads * head * keys * (model + queries);
    factored += batch * heads * queries * model * (head + 2 * keys);
  }
  return factored < kWorthIt * plain;
}

Result<Graph> factor_attention(Graph graph, const std::vector<CrossAttention>& found) {
  PX_RETURN_IF_ERROR(Factoring(graph).run(found));
  return graph;
}

}  // namespace parallax
