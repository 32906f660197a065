// Pooling, normalisation, Dropout, Softmax and Cast.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/status.h"
#include "load/onnx/names.h"
#include "load/onnx/normalize.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

/// Whether training_mode, input 2 of Dropout, certainly says no.
bool is_inference(const FileNode& file) {
  if (!file.has_input(2)) return true;
  const Constant* mode = file.constant_input(2);
  const auto values = mode == nullptr ? std::nullopt : integers(*mode, 1);
  return values && values->size() == 1 && values->front() == 0;
}

Constant true_element() {
  constexpr std::array<std::byte, 1> kTrue = {std::byte{1}};
  return make_constant(DType::kBool, Dims{1}, kTrue);
}

/// A node with one fresh output, written before the node that is being rewritten.
Result<ValueId> write_before(FileNode& file, OpKind op, std::vector<ValueId> inputs,
                             Attributes attributes) {
  const std::string name = fmt::format("{}/{}", file.node.name, to_string(op));
  const ValueId output = file.writer.result(file.writer.fresh_value_name(name));
  PX_RETURN_IF_ERROR(
      file.writer.node({name, op, std::move(attributes), std::move(inputs), {output}}));
  return output;
}

/// The mask of a Dropout that drops nothing: true everywhere.
Status write_mask(FileNode& file, ValueId mask) {
  if (file.opset < 10) return file.refuse("a mask of numbers is not supported");
  PX_ASSIGN(const ValueId shape, write_before(file, OpKind::kShape, {file.node.inputs[0]}, {}));
  Attributes fill;
  fill.set("value", true_element());
  PX_RETURN_IF_ERROR(file.writer.node(
      {file.node.name + "/mask", OpKind::kConstantOfShape, std::move(fill), {shape}, {mask}}));
  return {};
}

}  // namespace

/// Operator sets before 9 may normalise per element, those before 14 have training outputs.
Status rewrite_batch_normalization(FileNode& file) {
  if (file.opset < 9) {
    PX_ASSIGN(const auto spatial, file.take<std::int64_t>("spatial"));
    if (spatial.value_or(1) != 1) return file.refuse("spatial = 0 is not supported");
  }
  return file.drop_outputs(1, "training");
}

/// Unchanged; refuses other element types by name.
Status rewrite_cast(FileNode& file) {
  const auto to = onnx_dtype(file.node.attributes.get_int("to", 0), "the result of Cast");
  return to ? Status() : tl::unexpected(to.error());
}

Status rewrite_dropout(FileNode& file) {
  Node& node = file.node;
  if (node.inputs.empty() || !file.has_input(0) || node.inputs.size() > 3 ||
      node.outputs.size() > 2) {
    return invalid_model("Dropout: wrong number of inputs or outputs", node.name);
  }
  if (!is_inference(file)) return file.refuse("Dropout in training is not supported");
  PX_RETURN_IF_ERROR(file.take<float>("ratio"));
  PX_RETURN_IF_ERROR(file.take<std::int64_t>("seed"));
  node.inputs.resize(1);
  if (node.outputs.size() == 2 && node.outputs[1].valid()) {
    PX_RETURN_IF_ERROR(write_mask(file, node.outputs[1]));
  }
  node.outputs.resize(1);
  return {};
}

Status rewrite_layer_normalization(FileNode& file) {
  return file.drop_outputs(1, "the mean or deviation as an output");
}

/// storage_order concerns the indices only.
Status rewrite_max_pool(FileNode& file) {
  PX_RETURN_IF_ERROR(file.drop_outputs(1, "the indices as an output"));
  PX_ASSIGN(const auto order, file.take<std::int64_t>("storage_order"));
  if (order.value_or(0) != 0 && *order != 1) {
    return invalid_model("MaxPool: storage_order must be 0 or 1", file.node.name);
  }
  return {};
}

/// Before 13, Softmax normalised all axes from `axis`, by default 1, as one.
Status rewrite_softmax(FileNode& file) {
  if (file.opset >= 13) return {};
  file.softmax_block = true;
  if (file.node.attributes.find("axis") == nullptr) {
    file.node.attributes.set("axis", std::int64_t{1});
  }
  return {};
}

}  // namespace parallax
