// Pooling, normalisation, Dropout, Softmax and Cast.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"
#include "load/onnx/tensor.h"
#include "ops/params/axis.h"

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

/// Before operator set 7 an attribute tells inference from training.
Status check_is_test(FileNode& file) {
  if (file.opset >= 7) return {};
  PX_ASSIGN(const auto is_test, file.take<std::int64_t>("is_test"));
  return is_test.value_or(0) != 0 ? Status() : file.refuse("training is not supported");
}

/// Between operator sets 7 and 13 the outputs tell: one is inference, all five are training, also
/// where nothing reads the other four.
bool trains_by_outputs(const FileNode& file) {
  if (file.opset < 7 || file.opset > 13) return false;
  for (std::size_t i = 1; i < file.outputs.size(); ++i)
    if (file.names_output(i)) return true;
  return false;
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, all of them of the shape of a sample.
Status normalize_per_element(FileNode& file) {
  Rewriting to(file);
  const float epsilon = to.take_float("epsilon", 1e-5F);
  to.take_float("momentum", 0);
  const ValueId x = to.need(0), scale = to.need(1), bias = to.need(2), mean = to.need(3);
  const ValueId deviation = to.op(OpKind::kSqrt, {to.add(to.need(4), epsilon)});
  const ValueId normal = to.div(to.sub(x, mean), deviation);
  to.result(OpKind::kAdd, {to.mul(normal, scale), bias});
  return to.finish();
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

/// Operator sets before 7 say whether they train, those before 9 may normalise per element, those
/// from 7 to 13 train where they have more outputs, read or not.
Status rewrite_batch_normalization(FileNode& file) {
  PX_RETURN_IF_ERROR(check_is_test(file));
  const bool trains = trains_by_outputs(file);
  if (file.opset < 9) {
    PX_ASSIGN(const auto spatial, file.take<std::int64_t>("spatial"));
    if (spatial.value_or(1) != 1)
      return trains ? file.refuse("training per element is not supported")
                    : normalize_per_element(file);
  }
  if (trains) {
    file.node.attributes.set("training_mode", std::int64_t{1});
    return file.drop_outputs(3, "the mean or variance of the batch as an output");
  }
  if (file.opset >= 14 && file.node.attributes.get_int("training_mode", 0) != 0) return {};
  return file.drop_outputs(1, "training");
}

Status check_cast(const FileNode& file) {
  const auto to = onnx_dtype(file.node.attributes.get_int("to", 0), "the result of Cast");
  return to ? Status() : tl::unexpected(to.error());
}

Status rewrite_dropout(FileNode& file) {
  Node& node = file.node;
  if (node.inputs.empty() || !file.has_input(0) || node.inputs.size() > 3 ||
      node.outputs.size() > 2) {
    return invalid_model("Dropout: wrong number of inputs or outputs", node.name);
  }
  PX_RETURN_IF_ERROR(check_is_test(file));
  if (!is_inference(file)) return {};
  node.op = OpKind::kIdentity;
  PX_RETURN_IF_ERROR(file.take<float>("ratio"));
  PX_RETURN_IF_ERROR(file.take<std::int64_t>("seed"));
  node.inputs.resize(1);
  if (node.outputs.size() == 2 && node.outputs[1].valid()) {
    PX_RETURN_IF_ERROR(write_mask(file, node.outputs[1]));
  }
  node.outputs.resize(1);
  return {};
}

/// Leaves out the mean and the deviation where nothing reads them.
Status rewrite_layer_normalization(FileNode& file) {
  auto& outputs = file.node.outputs;
  while (outputs.size() > 1 && !outputs.back().valid()) outputs.pop_back();
  return {};
}

/// Leaves out the indices where nothing reads them, and storage_order, which concerns them only.
Status rewrite_max_pool(FileNode& file) {
  if (file.names_output(2)) return file.refuse("a third output is not supported");
  if (file.node.outputs.size() == 2 && file.node.outputs[1].valid()) return {};
  PX_RETURN_IF_ERROR(file.drop_outputs(1, "indices"));
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
  if (!params_of<OptionalAxisParams>(file.node).axis) {
    set_param(file.node.attributes, &AxisParams<0>::axis, 1);
  }
  return {};
}

}  // namespace parallax
