#include "opsets.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "load/onnx/normalize/normalize.h"

namespace parallax::fuzz {
namespace {

/// An input that was an attribute before `since`.
struct MovedRow {
  OpKind op;
  std::size_t input;
  std::string_view attribute;
  std::int64_t since;
};
constexpr std::array kMoved = {
    MovedRow{OpKind::kReduceL1, 1, "axes", 18},
    MovedRow{OpKind::kReduceLogSum, 1, "axes", 18},
    MovedRow{OpKind::kReduceLogSumExp, 1, "axes", 18},
    MovedRow{OpKind::kReduceMin, 1, "axes", 18},
    MovedRow{OpKind::kReduceProd, 1, "axes", 18},
    MovedRow{OpKind::kReduceL2, 1, "axes", 18},
    MovedRow{OpKind::kReduceMax, 1, "axes", 18},
    MovedRow{OpKind::kReduceMean, 1, "axes", 18},
    MovedRow{OpKind::kReduceSum, 1, "axes", 13},
    MovedRow{OpKind::kReduceSumSquare, 1, "axes", 18},
    MovedRow{OpKind::kSplit, 1, "split", 13},
    MovedRow{OpKind::kSqueeze, 1, "axes", 13},
    MovedRow{OpKind::kUnsqueeze, 1, "axes", 13},
};

/// An attribute that came with `since`; with an empty name, a meaning that did.
struct NewRow {
  OpKind op;
  std::string_view attribute;
  std::int64_t since;
};
constexpr std::array kNew = {
    NewRow{OpKind::kSoftmax, "", 13},
    NewRow{OpKind::kResize, "", 13},
    NewRow{OpKind::kResize, "axes", 18},
    NewRow{OpKind::kReshape, "allowzero", 14},
    NewRow{OpKind::kShape, "start", 15},
    NewRow{OpKind::kShape, "end", 15},
    NewRow{OpKind::kSplit, "num_outputs", 18},
    NewRow{OpKind::kScatterND, "reduction", 18},
    NewRow{OpKind::kHardmax, "", 13},
    NewRow{OpKind::kLogSoftmax, "", 13},
    NewRow{OpKind::kReduceL1, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceLogSum, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceLogSumExp, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceMin, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceProd, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceL2, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceMax, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceMean, "noop_with_empty_axes", 18},
    NewRow{OpKind::kReduceSum, "noop_with_empty_axes", 13},
    NewRow{OpKind::kReduceSumSquare, "noop_with_empty_axes", 18},
    NewRow{OpKind::kArgMin, "select_last_index", 12},
    NewRow{OpKind::kArgMax, "select_last_index", 12},
    NewRow{OpKind::kGatherND, "batch_dims", 12},
    NewRow{OpKind::kCast, "saturate", 19},
    NewRow{OpKind::kGroupNormalization, "", 21},  // before: one scale for each group
};

const Constant* constant_of(const CaseGraph& graph, std::string_view name) {
  const auto found = std::ranges::find(
      graph.constants, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == graph.constants.end() ? nullptr : &found->second;
}

const MovedRow* moved_row(OpKind op) {
  const auto row = std::ranges::find(kMoved, op, &MovedRow::op);
  return row == kMoved.end() ? nullptr : &*row;
}

bool has_input(const CaseNode& node, std::size_t i) {
  return i < node.inputs.size() && !node.inputs[i].empty();
}

std::int64_t oldest_opset(const CaseGraph& graph, const CaseNode& node) {
  std::int64_t opset = kOldestOpset;
  while (!is_supported_operator(domain_of(node.op), to_string(node.op), opset)) ++opset;
  for (const NewRow& row : kNew) {
    if (row.op != node.op) continue;
    if (row.attribute.empty() || node.attributes.find(row.attribute) != nullptr)
      opset = std::max(opset, row.since);
  }
  if (node.op == OpKind::kPad && has_input(node, 3)) opset = std::max<std::int64_t>(opset, 18);
  const MovedRow* moved = moved_row(node.op);
  if (moved != nullptr && has_input(node, moved->input)) {
    const Constant* list = constant_of(graph, node.inputs[moved->input]);
    // An empty list is not the same as none in every attribute.
    if (list == nullptr || list->bytes.empty()) opset = std::max(opset, moved->since);
  }
  for (const CaseGraph& body : node.bodies) opset = std::max(opset, oldest_opset(body));
  return opset;
}

}  // namespace

std::string_view domain_of(OpKind op) { return op == OpKind::kMatMulNBits ? "com.microsoft" : ""; }

std::int64_t oldest_opset(const CaseGraph& graph) {
  std::int64_t opset = kOldestOpset;
  for (const CaseNode& node : graph.nodes) opset = std::max(opset, oldest_opset(graph, node));
  return opset;
}

void write_for_opset(CaseGraph& graph, std::int64_t opset) {
  for (CaseNode& node : graph.nodes) {
    for (CaseGraph& body : node.bodies) write_for_opset(body, opset);
    const MovedRow* moved = moved_row(node.op);
    if (moved == nullptr || opset >= moved->since || !has_input(node, moved->input)) continue;
    const Constant* list = constant_of(graph, node.inputs[moved->input]);
    node.attributes.set(std::string(moved->attribute), *integers(*list));
    node.inputs.resize(moved->input);
  }
}

}  // namespace parallax::fuzz
