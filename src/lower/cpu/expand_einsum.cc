// Turns Einsums that are matrix products into MatMul, whose weights are packed and of which
// attention consists.
//
//     pattern  Einsum(a, b) of floats
//     guard    each label once in a term, and in two of the three; one at least that is summed;
//              equal sizes; no size that only running tells
//     rewrite  Transpose and Reshape of both to [batch, rows, inner] and [batch, inner, columns],
//              MatMul, Reshape and Transpose back, without those that do nothing
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/dtype_sets.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/fuse_util.h"
#include "ops/einsum.h"
#include "ops/infer.h"
#include "ops/params/movement.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

using Labels = std::vector<int>;

bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}
bool each_once(const Labels& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (std::find(labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, labels.end(), labels[i]) !=
        labels.end())
      return false;
  return true;
}

/// The roles of labels in a product.
struct ProductLabels {
  Labels batch, rows, columns, inner;
};

/// Returns the labels of a product; nullopt if the equation is no matrix product.
std::optional<ProductLabels> product_labels(const EinsumEquation& equation) {
  const Labels& a = equation.inputs[0];
  const Labels& b = equation.inputs[1];
  if (!each_once(a) || !each_once(b)) return std::nullopt;
  ProductLabels labels;
  for (const int label : equation.output) {
    if (has(a, label) && has(b, label)) {
      labels.batch.push_back(label);
    } else {
      (has(a, label) ? labels.rows : labels.columns).push_back(label);
    }
  }
  for (const int label : equation.summed()) {
    if (!has(a, label) || !has(b, label)) return std::nullopt;
    labels.inner.push_back(label);
  }
  if (labels.inner.empty()) return std::nullopt;
  return labels;
}

/// Returns the size of each label; nullopt if the operands differ, or a size becomes known only
/// during a run.
Content product_sizes(const Graph& graph, const Node& node, const EinsumEquation& equation) {
  std::vector<Expr> sizes(kEinsumLabels, Expr(-1));
  for (std::size_t i = 0; i < 2; ++i) {
    const Shape& shape = graph.values[node.inputs[i]].shape;
    if (!known_before_runs(graph, shape)) return std::nullopt;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Expr& size = sizes[static_cast<std::size_t>(equation.inputs[i][axis])];
      if (!(size == Expr(-1)) && !(size == shape[axis])) return std::nullopt;
      size = shape[axis];
    }
  }
  return sizes;
}

Labels joined_labels(std::initializer_list<const Labels*> lists) {
  Labels all;
  for (const Labels* list : lists) all.insert(all.end(), list->begin(), list->end());
  return all;
}

/// Writes the nodes of one product.
class EinsumParts {
 public:
  EinsumParts(Parts& parts, ProductLabels labels, std::vector<Expr> sizes)
      : parts_(parts), labels_(std::move(labels)), sizes_(std::move(sizes)) {}

  void write(const EinsumEquation& equation) {
    const ProductLabels& l = labels_;
    // Without a batch, broadcasting merges all rows but the last.
    const bool merges_rows = l.rows.size() != 1 && !(l.batch.empty() && l.rows.size() > 1);
    Shape a_shape = sizes_of(l.batch), b_shape = a_shape,
          y_shape = sizes_of(joined(l.batch, l.rows));
    if (merges_rows) {
      a_shape.push_back(product_of(l.rows));
    } else {
      for (const Expr& size : sizes_of(l.rows)) a_shape.push_back(size);
    }
    a_shape.push_back(product_of(l.inner));
    b_shape.push_back(product_of(l.inner));
    b_shape.push_back(product_of(l.columns));
    for (const Expr& size : sizes_of(l.columns)) y_shape.push_back(size);
    const ValueId a = operand(0, equation.inputs[0], joined_labels({&l.batch, &l.rows, &l.inner}),
                              merges_rows || l.inner.size() != 1, a_shape);
    const ValueId b =
        operand(1, equation.inputs[1], joined_labels({&l.batch, &l.inner, &l.columns}),
                l.inner.size() != 1 || l.columns.size() != 1, b_shape);
    const Labels order = joined_labels({&l.batch, &l.rows, &l.columns});
    const bool reshapes = merges_rows || l.columns.size() != 1;
    const bool transposes = order != equation.output;
    finish(OpKind::kMatMul, {a, b}, {}, reshapes || transposes);
    if (reshapes)
      finish(OpKind::kReshape, parts_.reshape_inputs(last_, y_shape), Parts::exact_shape(),
             transposes);
    if (transposes) {
      Attributes perm;
      set_param(perm, &TransposeParams::perm, permutation(order, equation.output));
      finish(OpKind::kTranspose, {last_}, std::move(perm), false);
    }
  }

 private:
  static Labels joined(const Labels& a, const Labels& b) { return joined_labels({&a, &b}); }
  Shape sizes_of(const Labels& labels) const {
    Shape shape;
    for (const int label : labels) shape.push_back(sizes_[static_cast<std::size_t>(label)]);
    return shape;
  }
  Expr product_of(const Labels& labels) const {
    Expr size = 1;
    for (const Expr& factor : sizes_of(labels)) size = size * factor;
    return size;
  }
  static std::vector<std::int64_t> permutation(const Labels& from, const Labels& to) {
    std::vector<std::int64_t> perm;
    for (const int label : to) perm.push_back(std::ranges::find(from, label) - from.begin());
    return perm;
  }
  ValueId operand(std::size_t i, const Labels& from, const Labels& to, bool reshapes,
                  const Shape& shape) {
    ValueId value = parts_.input(i);
    if (from != to) value = parts_.transposed(value, permutation(from, to));
    if (!reshapes) return value;
    return parts_.op(OpKind::kReshape, parts_.reshape_inputs(value, shape), Parts::exact_shape());
  }
  void finish(OpKind op, std::vector<ValueId> inputs, Attributes attributes, bool more) {
    if (more) {
      last_ = parts_.op(op, std::move(inputs), std::move(attributes));
    } else {
      parts_.result(op, std::move(inputs), std::move(attributes));
    }
  }

  Parts& parts_;
  ProductLabels labels_;
  std::vector<Expr> sizes_;
  ValueId last_;
};

/// Returns the nodes that replace `node`; nullopt if it stays.
std::optional<std::vector<Node>> expanded(Graph& graph, UniqueNames& names, const Node& node) {
  if (node.op != OpKind::kEinsum || node.inputs.size() != 2 || node.outputs.size() != 1 ||
      !contains(kFloatTypes, graph.values[node.inputs[0]].dtype))
    return std::nullopt;
  std::vector<int> ranks;
  for (const ValueId input : node.inputs)
    ranks.push_back(static_cast<int>(graph.values[input].shape.size()));
  const auto equation = einsum_equation(node, ranks);
  if (!equation) return std::nullopt;
  auto labels = product_labels(*equation);
  auto sizes = labels ? product_sizes(graph, node, *equation) : std::nullopt;
  if (!sizes || labels->batch.size() + labels->rows.size() + 2 > Dims::kMaxRank)
    return std::nullopt;
  Parts parts(graph, names, node);
  EinsumParts(parts, *std::move(labels), *std::move(sizes)).write(*equation);
  return parts.take();
}

}  // namespace

Result<int> expand_einsum(Graph& graph, const PassContext&) {
  UniqueNames names(graph);
  std::vector<ReplacedNode> replaced;
  for (const NodeId id : graph.nodes.ids())
    if (auto parts = expanded(graph, names, graph.nodes[id]))
      replaced.push_back({id, *std::move(parts)});
  const auto changes = static_cast<int>(replaced.size());
  if (changes == 0) return 0;
  put_parts(graph, std::move(replaced));
  PX_RETURN_IF_ERROR(infer_graph(graph));
  return changes;
}

}  // namespace parallax
