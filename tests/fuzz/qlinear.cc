// QLinearConv and QLinearMatMul, which the graph does not have: a case has DequantizeLinear of both
// operands, the product and QuantizeLinear, and the file has one node.
#include <algorithm>
#include <map>
#include <optional>

#include "opsets.h"

namespace parallax::fuzz {
namespace {

struct NodesOf {
  std::map<std::string, const CaseNode*, std::less<>> makers;
  std::map<std::string, int, std::less<>> reads;

  explicit NodesOf(const CaseGraph& graph) {
    for (const CaseNode& node : graph.nodes) {
      for (const std::string& output : node.outputs) makers[output] = &node;
      for (const std::string& input : node.inputs) ++reads[input];
    }
    for (const std::string& output : graph.outputs) ++reads[output];
  }
  const CaseNode* maker(const std::string& value, OpKind op) const {
    const auto found = makers.find(value);
    return found == makers.end() || found->second->op != op ? nullptr : found->second;
  }
};

const Constant* constant_named(const CaseGraph& graph, const std::string& name) {
  const auto found =
      std::ranges::find(graph.constants, name, [](const auto& c) { return c.first; });
  return found == graph.constants.end() ? nullptr : &found->second;
}

/// Whether `node` has a zero point, no blocks, and one scale or one for each index of `axis`.
bool is_plain(const CaseGraph& graph, const CaseNode* node, std::int64_t axis) {
  if (node == nullptr || node->inputs.size() != 3) return false;
  if (node->attributes.find("block_size") != nullptr) return false;
  const Constant* scale = constant_named(graph, node->inputs[1]);
  if (scale == nullptr || scale->dtype != DType::kF32) return false;
  return node->attributes.get_int("axis", axis) == axis;
}

/// The node that does it all; nothing where `quantize` ends no such product.
std::optional<CaseNode> whole(const CaseGraph& graph, const NodesOf& nodes,
                              const CaseNode& quantize) {
  if (quantize.op != OpKind::kQuantizeLinear || quantize.inputs.size() != 3) return std::nullopt;
  const std::string& sums = quantize.inputs[0];
  const CaseNode* product = nodes.maker(sums, OpKind::kConv);
  const bool convolves = product != nullptr;
  if (!convolves) product = nodes.maker(sums, OpKind::kMatMul);
  if (product == nullptr || nodes.reads.at(sums) != 1) return std::nullopt;
  const CaseNode* x = nodes.maker(product->inputs[0], OpKind::kDequantizeLinear);
  const CaseNode* w = nodes.maker(product->inputs[1], OpKind::kDequantizeLinear);
  if (!is_plain(graph, x, 1) || !is_plain(graph, w, convolves ? 0 : 1)) return std::nullopt;
  CaseNode one = quantize;
  one.spelling = convolves ? "QLinearConv" : "QLinearMatMul";
  one.attributes = product->attributes;
  one.inputs = x->inputs;
  one.inputs.insert(one.inputs.end(), w->inputs.begin(), w->inputs.end());
  one.inputs.insert(one.inputs.end(), quantize.inputs.begin() + 1, quantize.inputs.end());
  if (product->inputs.size() < 3) return one;
  const CaseNode* bias = nodes.maker(product->inputs[2], OpKind::kDequantizeLinear);
  if (bias == nullptr) return std::nullopt;
  one.inputs.push_back(bias->inputs[0]);
  return one;
}

}  // namespace

void write_qlinear(CaseGraph& graph) {
  const CaseGraph before = graph;
  const NodesOf nodes(before);
  for (CaseNode& node : graph.nodes)
    if (auto one = whole(before, nodes, node)) node = *std::move(one);
}

}  // namespace parallax::fuzz
