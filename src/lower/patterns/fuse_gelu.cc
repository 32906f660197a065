// Fuses the forms in which exporters write Gelu into one node:
//     0.5 * x * (1 + erf(x / sqrt(2)))
//     0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
// in any order of the factors, with divisions or multiplications by constants. Products are taken
// apart into a number and a list of factors, so that the order does not matter.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/params/activation.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Relative errors of constants, and of constants that were rounded to f16.
constexpr double kTolerance = 1e-4, kHalfTolerance = 5e-4;
constexpr int kMaxDepth = 6;
constexpr double kCubic = 0.044715;

bool is_near(double value, double wanted, double tolerance = kTolerance) {
  return std::abs(value - wanted) <= tolerance * std::abs(wanted);
}

/// scale * product of the factors.
struct Product {
  double scale = 1, tolerance = kTolerance;
  std::vector<ValueId> factors;

  bool has_scale(double wanted) const { return is_near(scale, wanted, tolerance); }

  /// Returns true for wanted * x^power.
  bool is_power(double wanted, ValueId x, std::size_t power) const {
    return has_scale(wanted) && factors.size() == power &&
           std::all_of(factors.begin(), factors.end(), [x](ValueId f) { return f == x; });
  }
};

class Matcher {
 public:
  /// Without `readers`, other readers of a part are allowed.
  Matcher(const Graph& graph, const Readers* readers) : graph_(graph), readers_(readers) {}

  struct Found {
    ValueId x;
    bool tanh = false;
  };

  std::optional<Found> match(const Node& root) const {
    if (root.op != OpKind::kMul && root.op != OpKind::kDiv) return std::nullopt;
    const ValueId result = root.outputs[0];
    if (!result.valid() || graph_.values[result].dtype != DType::kF32) return std::nullopt;
    Product product;
    if (!take_apart_node(root, product, 0)) return std::nullopt;
    if (product.factors.size() != 2 || !product.has_scale(0.5)) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      const ValueId x = product.factors[1 - side];
      const auto inner = minus_one(product.factors[side]);
      // Constants with many dimensions of one must not have raised the rank.
      if (!inner || graph_.values[x].shape != graph_.values[result].shape) continue;
      if (is_erf(*inner, x)) return Found{x, false};
      if (is_tanh(*inner, x)) return Found{x, true};
    }
    return std::nullopt;
  }

 private:
  /// Returns the node that computes `value` if it has no other reader: only then does fusing save
  /// it.
  const Node* inner_node(ValueId value, OpKind kind) const {
    const bool inner = readers_ == nullptr || readers_->single(value);
    return inner ? produced_by(graph_, value, kind) : nullptr;
  }

  /// The number that `value` is, for a factor of `product`.
  std::optional<float> number_in(Product& product, ValueId value) const {
    const auto number = scalar_constant(graph_, value);
    if (number && graph_.values[value].constant->is_half) product.tolerance = kHalfTolerance;
    return number;
  }

  /// Multiplies `value` into `product`.
  void take_apart(ValueId value, Product& product, int depth) const {
    if (const auto number = number_in(product, value)) {
      product.scale *= static_cast<double>(*number);
      return;
    }
    for (const OpKind kind : {OpKind::kMul, OpKind::kDiv, OpKind::kPow}) {
      const Node* node = inner_node(value, kind);
      if (node != nullptr && depth < kMaxDepth && take_apart_node(*node, product, depth)) return;
    }
    product.factors.push_back(value);
  }

  /// Returns false, with `product` unchanged, if the node is not a product of this kind.
  bool take_apart_node(const Node& node, Product& product, int depth) const {
    const auto number = number_in(product, node.inputs[1]);
    if (node.op == OpKind::kMul) {
      take_apart(node.inputs[0], product, depth + 1);
      take_apart(node.inputs[1], product, depth + 1);
      return true;
    }
    if (node.op == OpKind::kDiv && number && *number != 0.0F) {
      product.scale /= static_cast<double>(*number);
      take_apart(node.inputs[0], product, depth + 1);
      return true;
    }
    if (node.op == OpKind::kPow && number && (*number == 2.0F || *number == 3.0F)) {
      product.factors.insert(product.factors.end(), static_cast<std::size_t>(*number),
                             node.inputs[0]);
      return true;
    }
    return false;
  }

  /// Returns the y of y + 1.
  std::optional<ValueId> minus_one(ValueId sum) const {
    const Node* add = inner_node(sum, OpKind::kAdd);
    if (add == nullptr) return std::nullopt;
    for (const std::size_t side : {0U, 1U}) {
      const auto number = scalar_constant(graph_, add->inputs[side]);
      if (number && is_near(static_cast<double>(*number), 1)) return add->inputs[1 - side];
    }
    return std::nullopt;
  }

  Product argument_of(const Node& function) const {
    Product product;
    take_apart(function.inputs[0], product, 0);
    return product;
  }

  bool is_erf(ValueId value, ValueId x) const {
    const Node* erf = inner_node(value, OpKind::kErf);
    return erf != nullptr && argument_of(*erf).is_power(std::numbers::sqrt2 / 2, x, 1);
  }

  /// tanh of sqrt(2 / pi) * (x + 0.044715 * x^3), or with the x taken out of the brackets.
  bool is_tanh(ValueId value, ValueId x) const {
    const Node* tanh = inner_node(value, OpKind::kTanh);
    if (tanh == nullptr) return false;
    const Product argument = argument_of(*tanh);
    if (!argument.has_scale(std::numbers::inv_sqrtpi * std::numbers::sqrt2)) return false;
    if (argument.factors.size() == 1) {
      return is_sum(argument.factors[0], x);
    }
    if (argument.factors.size() != 2) return false;
    const std::size_t side = argument.factors[0] == x ? 1 : 0;
    if (argument.factors[1 - side] != x) return false;
    const auto square = minus_one(argument.factors[side]);
    return square && product_of(*square).is_power(kCubic, x, 2);
  }

  /// Matches x + 0.044715 * x^3.
  bool is_sum(ValueId value, ValueId x) const {
    const Node* add = inner_node(value, OpKind::kAdd);
    if (add == nullptr) return false;
    const bool first = add->inputs[0] == x;
    if (!first && add->inputs[1] != x) return false;
    return product_of(add->inputs[first ? 1 : 0]).is_power(kCubic, x, 3);
  }

  Product product_of(ValueId value) const {
    Product product;
    take_apart(value, product, 0);
    return product;
  }

  const Graph& graph_;
  const Readers* readers_;
};

}  // namespace

Result<int> fuse_gelu(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  const Matcher matcher(graph, &readers), loose(graph, nullptr);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = matcher.match(graph.nodes[id]);
    if (!found) {
      if (loose.match(graph.nodes[id]))
        context.missed("something else reads a part", graph.nodes[id]);
      continue;
    }
    Attributes attributes;
    if (found->tanh) set_param(attributes, &GeluParams::form, GeluForm::kTanh);
    rewrite_node(graph, id, OpKind::kGelu, {found->x}, std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
