// Makes b of MatMul(x, W) + b, with constant W and a constant b of one element per column, or one
// for all, the third input of MatMul.
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

struct BiasMatch {
  const Node* product = nullptr;
  ValueId bias;
};

/// Returns true if `bias` has the elements of a vector of `columns`, with any leading ones in its
/// shape, or one element for all.
bool is_row(const Constant& bias, std::int64_t columns) {
  if (bias.dims.elements() == 1) return true;
  const int rank = bias.dims.rank();
  return rank > 0 && bias.dims[rank - 1] == columns && bias.dims.elements() == columns;
}

/// Returns the reason why a constant cannot be the bias of the product of input `side`; empty: it
/// can.
std::string_view obstacle(const Graph& graph, const Readers& readers, const Node& add,
                          std::size_t side, const Node& product, const Constant& bias) {
  const Constant* weights = float_constant(graph, product.inputs[1]);
  if (weights == nullptr || weights->dims.rank() != 2)
    return "the weights are not a constant matrix";
  if (product.inputs.size() > 2) return "the product has a bias";
  if (!product.epilogue.empty()) return "the product has an activation";
  if (!readers.single(add.inputs[side])) return "something else reads the product";
  if (!is_row(bias, weights->dims[1])) return "what is added is not a number per column";
  // Leading ones of the bias must not have raised the rank of the sum.
  if (graph.values[add.outputs[0]].shape != graph.values[add.inputs[side]].shape)
    return "the sum has more dimensions than the product";
  return {};
}

std::optional<BiasMatch> match_bias(const Graph& graph, const Readers& readers,
                                    const PassContext& context, const Node& add) {
  if (add.op != OpKind::kAdd || !add.outputs[0].valid()) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const Node* product = produced_by(graph, add.inputs[side], OpKind::kMatMul);
    const Constant* bias = float_constant(graph, add.inputs[1 - side]);
    if (product == nullptr || bias == nullptr) continue;
    const std::string_view why = obstacle(graph, readers, add, side, *product, *bias);
    if (why.empty()) return BiasMatch{product, add.inputs[1 - side]};
    context.missed(why, add);
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_matmul_bias(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  std::optional<UniqueNames> names;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto found = match_bias(graph, readers, context, graph.nodes[id]);
    if (!found) continue;
    ValueId bias = found->bias;
    const Constant& given = *graph.values[bias].constant;
    const std::int64_t columns = float_constant(graph, found->product->inputs[1])->dims[1];
    if (given.dims.rank() != 1 || given.dims[0] != columns) {
      Constant row = given;
      row.dims = Dims{given.dims.elements()};
      if (row.dims[0] != columns) {
        if (!can_charge(*context.quota, columns * std::int64_t{sizeof(float)})) {
          context.missed("loading may not copy more weights", graph.nodes[id]);
          continue;
        }
        row = make_f32({columns}, std::vector<float>(static_cast<std::size_t>(columns),
                                                     *scalar_constant(graph, bias)));
        charge(context.quota, row);
      }
      if (!names) names.emplace(graph);
      bias = add_constant(graph, *names, graph.values[bias].name + "/row", std::move(row));
    }
    rewrite_node(graph, id, OpKind::kMatMul,
                 {found->product->inputs[0], found->product->inputs[1], bias}, {});
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

void decompose_matmul_bias(Parts& parts) {
  const ValueId product =
      parts.op(OpKind::kMatMul, {parts.input(0), parts.input(1)}, parts.node().attributes);
  parts.result(OpKind::kAdd, {product, parts.input(2)});
}

}  // namespace parallax
