#include "open.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace parallax::fuzz {
namespace {

template <class Test>
bool any_float(std::span<const Constant* const> inputs, Test test) {
  for (const Constant* input : inputs) {
    if (input == nullptr || input->dtype != DType::kF32) continue;
    for (std::size_t i = 0; i < input->bytes.size(); i += sizeof(float)) {
      float element = 0;
      std::memcpy(&element, input->bytes.data() + i, sizeof(float));
      if (test(element)) return true;
    }
  }
  return false;
}

bool has_nan(std::span<const Constant* const> inputs) {
  return any_float(inputs, [](float x) { return std::isnan(x); });
}
bool has_wild(std::span<const Constant* const> inputs) {
  return any_float(inputs, [](float x) { return !std::isfinite(x); });
}
bool has_empty(std::span<const Constant* const> inputs) {
  return std::ranges::any_of(
      inputs, [](const Constant* input) { return input != nullptr && input->bytes.empty(); });
}

/// Paddings that ONNX Runtime sees differently, and images that are smaller than the window, where
/// it rounds a negative quotient up.
bool is_open_window(const CaseNode& node, const Constant& image, const Constant& output) {
  const bool same = node.attributes.get_string("auto_pad", "NOTSET").starts_with("SAME");
  const bool spread =
      node.attributes.find("dilations") != nullptr || node.attributes.find("strides") != nullptr;
  return (same && spread) || (output.bytes.empty() && image.dims[0] != 0 && image.dims[1] != 0);
}

}  // namespace

bool is_open(const CaseNode& node, std::span<const Constant* const> inputs,
             std::span<const Constant> outputs) {
  switch (node.op) {
    case OpKind::kNonZero:
      return inputs[0]->dims.rank() == 0;
    case OpKind::kGemm:
    case OpKind::kMatMul:
    case OpKind::kReduceL2:
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
      return has_empty(inputs.first(1));
    case OpKind::kArgMax:
    case OpKind::kReduceMax:
      return has_empty(inputs.first(1)) || has_nan(inputs);
    case OpKind::kConv:
    case OpKind::kAveragePool:
      return has_wild(inputs) || is_open_window(node, *inputs[0], outputs[0]);
    case OpKind::kMaxPool:
      return has_nan(inputs) || is_open_window(node, *inputs[0], outputs[0]);
    case OpKind::kClip:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kNonMaxSuppression:
    case OpKind::kRelu:
    case OpKind::kTopK:
      return has_nan(inputs);
    case OpKind::kCast:
      return outputs[0].dtype != DType::kF32 && outputs[0].dtype != DType::kBool &&
             has_wild(inputs);
    case OpKind::kResize:
      return has_wild(inputs.first(1)) || inputs[0]->dims == outputs[0].dims;
    default:
      return false;
  }
}

}  // namespace parallax::fuzz
