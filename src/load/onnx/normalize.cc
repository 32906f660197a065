#include "load/onnx/normalize.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/status.h"
#include "load/onnx/names.h"
#include "ops/op.h"

namespace parallax {
namespace {

/// An operator that some operator set from 7 on writes otherwise than the newest.
struct Row {
  std::string_view op_type;
  OpKind kind;
  Status (*rewrite)(FileNode&);
  /// The last operator set that has it.
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
};

constexpr std::array kRows = {
    Row{"BatchNormalization", OpKind::kBatchNormalization, rewrite_batch_normalization},
    Row{"Cast", OpKind::kCast, rewrite_cast},
    Row{"Clip", OpKind::kClip, rewrite_clip},
    Row{"Dropout", OpKind::kIdentity, rewrite_dropout},
    Row{"LayerNormalization", OpKind::kLayerNormalization, rewrite_layer_normalization},
    Row{"MaxPool", OpKind::kMaxPool, rewrite_max_pool},
    Row{"Pad", OpKind::kPad, rewrite_pad},
    Row{"ReduceL2", OpKind::kReduceL2, rewrite_reduce},
    Row{"ReduceMax", OpKind::kReduceMax, rewrite_reduce},
    Row{"ReduceMean", OpKind::kReduceMean, rewrite_reduce},
    Row{"ReduceSum", OpKind::kReduceSum, rewrite_reduce_sum},
    Row{"ReduceSumSquare", OpKind::kReduceSumSquare, rewrite_reduce},
    Row{"Resize", OpKind::kResize, rewrite_resize},
    Row{"Slice", OpKind::kSlice, rewrite_slice},
    Row{"Softmax", OpKind::kSoftmax, rewrite_softmax},
    Row{"Split", OpKind::kSplit, rewrite_split},
    Row{"Squeeze", OpKind::kSqueeze, rewrite_squeeze},
    Row{"TopK", OpKind::kTopK, rewrite_top_k},
    Row{"Unsqueeze", OpKind::kUnsqueeze, rewrite_squeeze},
    Row{"Upsample", OpKind::kResize, rewrite_upsample, 9},
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op_type));

const Row* find_row(std::string_view op_type) {
  const auto row = std::ranges::lower_bound(kRows, op_type, {}, &Row::op_type);
  return row == kRows.end() || row->op_type != op_type ? nullptr : &*row;
}

}  // namespace

std::string onnx_node_name(const OnnxNode& node, std::size_t index) {
  if (!node.name.empty()) return std::string(node.name);
  return fmt::format("{}_{}", node.op_type, index);
}

bool is_supported_onnx_operator(std::string_view op_type, std::int64_t opset) {
  if (op_type == "Constant") return true;
  const Row* const row = find_row(op_type);
  if (row != nullptr && opset > row->until) return false;
  const auto kind = op_from_string(op_type);
  if (!kind) return row != nullptr;  // one that becomes another
  const OpDef& def = op_def(*kind);
  return !def.internal && opset >= def.since;
}

OnnxRule onnx_rule(std::string_view op_type) {
  if (const Row* row = find_row(op_type)) return {row->kind, row->rewrite};
  return {op_from_string(op_type).value_or(OpKind::kIdentity), nullptr};
}

/// `name` or, where that is taken, name_1, name_2, ... Each number is tried once.
std::string GraphWriter::make_unique(Names& names, std::string name, const Definitions& defined) {
  const auto take = [&](const std::string& candidate) {
    const auto [known, added] = names.emplace(candidate, 1);
    return std::pair(&known->second, added && !defined.contains(candidate));
  };
  const auto [number, free] = take(name);
  if (free) return name;
  while (true) {
    std::string candidate = fmt::format("{}_{}", name, (*number)++);
    if (take(candidate).second) return candidate;
  }
}

ValueId GraphWriter::constant(std::string name, Constant constant) {
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::kConstant;
  value.dtype = constant.dtype;
  value.shape.assign(constant.dims.begin(), constant.dims.end());
  value.constant = std::move(constant);
  return graph_.values.push_back(std::move(value));
}

ValueId GraphWriter::result(std::string name) {
  Value value;
  value.name = std::move(name);
  return graph_.values.push_back(std::move(value));
}

std::string GraphWriter::fresh_value_name(std::string_view hint) {
  return make_unique(value_names_, std::string(hint), defined_);
}

Result<NodeId> GraphWriter::node(Node node) {
  PX_RETURN_IF_ERROR(check_node(node, true));
  node.name = make_unique(node_names_, std::move(node.name), {});
  const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
  for (const ValueId output : node.outputs) {
    if (output.valid()) graph_.values[output].producer = id;
  }
  return graph_.nodes.push_back(std::move(node));
}

void FileNode::set_input(std::size_t i, ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1);
  node.inputs[i] = value;
}

const Constant* FileNode::constant_input(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto& constant = writer.graph().values[node.inputs[i]].constant;
  return constant ? &*constant : nullptr;
}

tl::unexpected<Error> FileNode::wrong_type(std::string_view attribute) const {
  return invalid_model(
      fmt::format("{}: attribute {} has the wrong type", to_string(node.op), quote(attribute)),
      node.name);
}

tl::unexpected<Error> FileNode::refuse(std::string message) const {
  return unsupported(fmt::format("{}: {}", to_string(node.op), message), node.name);
}

Status FileNode::attribute_to_input(std::string_view name, std::size_t i) {
  PX_ASSIGN(const auto list, take<std::vector<std::int64_t>>(name));
  if (!list) return {};
  if (has_input(i)) {
    return invalid_model(
        fmt::format("{}: {} is both an attribute and an input", to_string(node.op), name),
        node.name);
  }
  set_input(i, constant(name, make_i64(*list)));
  return {};
}

Status FileNode::drop_outputs(std::size_t first, std::string_view what) {
  for (std::size_t i = first; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return refuse(fmt::format("{} is not supported", what));
  }
  if (node.outputs.size() > first) node.outputs.resize(first);
  return {};
}

}  // namespace parallax
