#include "lower/cpu/byte_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ops/op.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Longer chains are cut: each table costs what its chain has.
constexpr int kMaxDepth = 16;

bool is_number(const Graph& graph, ValueId id) {
  const auto& constant = graph.values[id].constant;
  return constant && constant->dims.elements() == 1;
}

/// Returns whether the node has one scale and at most one zero point, both constants.
bool has_one_scale(const Graph& graph, const Node& node) {
  if (params_of<DequantizeLinearParams>(node).block_size != 0 || node.inputs.size() < 2)
    return false;
  if (!node.inputs[1].valid() || !is_number(graph, node.inputs[1])) return false;
  if (graph.values[node.inputs[1]].dtype != DType::kF32) return false;
  return node.inputs.size() < 3 || !node.inputs[2].valid() || is_number(graph, node.inputs[2]);
}

bool is_bytes(const Graph& graph, ValueId id) {
  return contains(kByteIntegers, graph.values[id].dtype);
}

/// Returns whether the result has one element for each of the input, and the node's other inputs
/// are numbers.
bool may_follow(const Graph& graph, const Node& node) {
  if (node.op == OpKind::kQuantizeLinear) return quantises_to_bytes(graph, node);
  if (node.op == OpKind::kDequantizeLinear)
    return has_one_scale(graph, node) && is_bytes(graph, node.inputs[0]) &&
           graph.values[node.outputs[0]].dtype == DType::kF32;
  return op_def(node.op).elementwise && node.bodies.empty() && node.epilogue.empty() &&
         node.outputs.size() == 1 && graph.values[node.outputs[0]].dtype == DType::kF32;
}

Constant all_bytes(DType dtype) {
  std::array<std::byte, kByteTableSize> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return make_constant(dtype, Dims{kByteTableSize}, bytes);
}

}  // namespace

std::optional<RealBytes> real_bytes(const Graph& graph, ValueId value) {
  const Node* node = produced_by(graph, value, OpKind::kDequantizeLinear);
  if (node == nullptr || !may_follow(graph, *node)) return std::nullopt;
  return RealBytes{node->inputs[0], node->inputs[1],
                   node->inputs.size() > 2 ? node->inputs[2] : ValueId{}};
}

bool quantises_to_bytes(const Graph& graph, const Node& node) {
  return node.op == OpKind::kQuantizeLinear && !has_byte_table(node) &&
         has_one_scale(graph, node) && node.outputs[0].valid() &&
         is_bytes(graph, node.outputs[0]) && graph.values[node.inputs[0]].dtype == DType::kF32;
}

/// Nodes on their way from all bytes to what becomes of them, computed one by one.
class ByteFunctions::Evaluation {
 public:
  Evaluation(const Graph& graph, const PassContext& context, DType root)
      : graph_(graph), context_(context), bytes_(add(all_bytes(root))) {}

  ValueId bytes() const { return bytes_; }
  ValueId number(ValueId id) {
    Constant constant = *graph_.values[id].constant;
    constant.dims = Dims{};
    return add(std::move(constant));
  }
  /// Computes the result of one more node; invalid if it cannot be computed.
  ValueId compute(Node node, std::vector<ValueId> inputs, DType dtype) {
    if (!context_.evaluate || !context_.quota->take_work(kByteTableSize)) return {};
    Value result;
    result.name = "y" + std::to_string(chain_.values.size());
    result.dtype = dtype;
    result.shape = {Expr(kByteTableSize)};
    result.producer = NodeId{static_cast<std::int32_t>(chain_.nodes.size())};
    node.inputs = std::move(inputs);
    node.outputs = {chain_.values.push_back(std::move(result))};
    const ValueId output = node.outputs[0];
    const NodeId id = chain_.nodes.push_back(std::move(node));
    auto constants = context_.evaluate(chain_, id);
    if (!constants || constants->size() != 1 ||
        constants->front().dims.elements() != kByteTableSize)
      return {};
    make_constant_value(chain_, output, std::move(constants->front()));
    return output;
  }
  const Constant& constant(ValueId id) const { return *chain_.values[id].constant; }

 private:
  ValueId add(Constant constant) {
    std::string name = "x" + std::to_string(chain_.values.size());
    return chain_.values.push_back(constant_value(std::move(name), std::move(constant)));
  }

  const Graph& graph_;
  const PassContext& context_;
  Graph chain_;
  ValueId bytes_;
};

ByteFunctions::ByteFunctions(const Graph& graph, const PassContext& context)
    : graph_(graph), context_(context), root_(graph.values.size()), depth_(graph.values.size(), 0) {
  for (const Node& node : graph.nodes) find_root(node);
}

void ByteFunctions::find_root(const Node& node) {
  if (node.outputs.empty() || !node.outputs[0].valid() || !may_follow(graph_, node)) return;
  ValueId root;
  int depth = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input.valid() || is_number(graph_, input)) continue;
    ValueId from = root_[input];
    // Bytes that no chain leads to begin one.
    if (!from.valid() && node.op == OpKind::kDequantizeLinear) from = input;
    if (!from.valid() || (root.valid() && root != from)) return;
    root = from;
    depth = std::max(depth, depth_[input]);
  }
  if (!root.valid()) return;
  if (graph_.values[node.outputs[0]].shape != graph_.values[root].shape) return;
  follow(node, root, depth + 1);
}

void ByteFunctions::follow(const Node& node, ValueId root, int depth) {
  if (depth > kMaxDepth) {
    // A new chain may start at bytes.
    if (node.op != OpKind::kDequantizeLinear) return;
    root = node.inputs[0];
    depth = 1;
  }
  root_[node.outputs[0]] = root;
  depth_[node.outputs[0]] = depth;
}

std::optional<Constant> ByteFunctions::table(ValueId bytes) const {
  const ValueId root = root_[bytes];
  if (!root.valid()) return std::nullopt;
  // The chain, last node first, then in the order of the graph.
  std::vector<NodeId> chain;
  std::vector<ValueId> wanted = {bytes};
  while (!wanted.empty()) {
    const ValueId value = wanted.back();
    wanted.pop_back();
    const NodeId producer = graph_.values[value].producer;
    if (value == root || std::ranges::find(chain, producer) != chain.end()) continue;
    chain.push_back(producer);
    for (const ValueId input : graph_.nodes[producer].inputs)
      if (input.valid() && !is_number(graph_, input)) wanted.push_back(input);
  }
  std::ranges::sort(chain);
  Evaluation evaluation(graph_, context_, graph_.values[root].dtype);
  std::map<ValueId, ValueId> computed = {{root, evaluation.bytes()}};
  for (const NodeId id : chain) {
    const Node& node = graph_.nodes[id];
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const auto known = computed.find(input);
      inputs.push_back(!input.valid()            ? ValueId{}
                       : known != computed.end() ? known->second
                                                 : evaluation.number(input));
    }
    const ValueId result =
        evaluation.compute(node, std::move(inputs), graph_.values[node.outputs[0]].dtype);
    if (!result.valid()) return std::nullopt;
    computed[node.outputs[0]] = result;
  }
  return evaluation.constant(computed.at(bytes));
}

std::optional<Constant> ByteFunctions::requantisation(const RealBytes& from,
                                                      const Node& quantize) const {
  Evaluation evaluation(graph_, context_, graph_.values[from.bytes].dtype);
  std::vector<ValueId> inputs = {evaluation.bytes(), evaluation.number(from.scale)};
  if (from.zero.valid()) inputs.push_back(evaluation.number(from.zero));
  Node dequantize{.name = "dequantize",
                  .op = OpKind::kDequantizeLinear,
                  .attributes = {},
                  .inputs = {},
                  .outputs = {}};
  const ValueId real = evaluation.compute(std::move(dequantize), std::move(inputs), DType::kF32);
  if (!real.valid()) return std::nullopt;
  inputs = {real, evaluation.number(quantize.inputs[1])};
  if (quantize.inputs.size() > 2 && quantize.inputs[2].valid())
    inputs.push_back(evaluation.number(quantize.inputs[2]));
  const ValueId bytes =
      evaluation.compute(quantize, std::move(inputs), graph_.values[quantize.outputs[0]].dtype);
  return bytes.valid() ? std::optional(evaluation.constant(bytes)) : std::nullopt;
}

}  // namespace parallax
