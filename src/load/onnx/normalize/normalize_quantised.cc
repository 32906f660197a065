// QLinearConv and QLinearMatMul: DequantizeLinear of each operand, the product of real numbers,
// QuantizeLinear. Within one unit that is what the standard says of them.
#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/normalize.h"
#include "ops/params/axis.h"

namespace parallax {
namespace {

/// A node before the one that is being rewritten; what it gives.
Result<ValueId> write_part(FileNode& file, std::string_view part, OpKind op,
                           std::vector<ValueId> inputs, Attributes attributes = {}) {
  const std::string name = fmt::format("{}/{}", file.node.name, part);
  const ValueId output = file.writer.result(file.writer.fresh_value_name(name));
  PX_RETURN_IF_ERROR(
      file.writer.node({name, op, std::move(attributes), std::move(inputs), {output}}));
  return output;
}

/// Indices of the operands: each is followed by its scale and zero point.
constexpr std::size_t kLeft = 0, kRight = 3, kResultScale = 6, kResultZero = 7, kBias = 8;

Status check_inputs(const FileNode& file, std::size_t most) {
  bool whole = file.node.inputs.size() > kResultZero && file.node.inputs.size() <= most;
  for (std::size_t i = 0; i <= kResultZero; ++i) whole = whole && file.has_input(i);
  if (whole) return {};
  return invalid_model(fmt::format("QLinear operator with {} inputs", file.node.inputs.size()),
                       file.node.name);
}

/// Operand `i` as real numbers; a list of scales is one for each index along `axis`.
Result<ValueId> real_operand(FileNode& file, std::size_t i, std::int64_t axis) {
  const auto& inputs = file.node.inputs;
  Attributes attributes;
  set_param(attributes, &AxisParams<0>::axis, axis);
  return write_part(file, i == kLeft ? "x" : "w", OpKind::kDequantizeLinear,
                    {inputs[i], inputs[i + 1], inputs[i + 2]}, std::move(attributes));
}

/// The node quantises `product`.
Status quantise_result(FileNode& file, ValueId product) {
  auto& inputs = file.node.inputs;
  inputs = {product, inputs[kResultScale], inputs[kResultZero]};
  return {};
}

}  // namespace

Status rewrite_qlinear_conv(FileNode& file) {
  PX_RETURN_IF_ERROR(check_inputs(file, kBias + 1));
  PX_ASSIGN(const ValueId x, real_operand(file, kLeft, 1));
  PX_ASSIGN(const ValueId w, real_operand(file, kRight, 0));
  std::vector<ValueId> operands = {x, w};
  if (file.has_input(kBias)) {
    const auto& inputs = file.node.inputs;
    PX_ASSIGN(const ValueId scale, write_part(file, "bias_scale", OpKind::kMul,
                                              {inputs[kLeft + 1], inputs[kRight + 1]}));
    Attributes along;
    set_param(along, &AxisParams<0>::axis, 0);
    PX_ASSIGN(const ValueId bias, write_part(file, "bias", OpKind::kDequantizeLinear,
                                             {inputs[kBias], scale}, std::move(along)));
    operands.push_back(bias);
  }
  PX_ASSIGN(const ValueId product, write_part(file, "Conv", OpKind::kConv, std::move(operands),
                                              std::exchange(file.node.attributes, {})));
  return quantise_result(file, product);
}

Status rewrite_qlinear_matmul(FileNode& file) {
  PX_RETURN_IF_ERROR(check_inputs(file, kResultZero + 1));
  PX_ASSIGN(const ValueId a, real_operand(file, kLeft, -2));
  PX_ASSIGN(const ValueId b, real_operand(file, kRight, -1));
  PX_ASSIGN(const ValueId product, write_part(file, "MatMul", OpKind::kMatMul, {a, b}));
  return quantise_result(file, product);
}

}  // namespace parallax
