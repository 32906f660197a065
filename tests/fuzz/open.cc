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

/// Whether a float is beyond what integers of this type hold.
bool leaves_range(std::span<const Constant* const> inputs, DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBool) return false;
  const bool is_signed = dtype != DType::kU8;
  const double values = std::exp2(8.0 * static_cast<double>(size_of(dtype)));
  const double least = is_signed ? -values / 2 : 0;
  return any_float(
      inputs, [&](float x) { return !(std::trunc(x) >= least && std::trunc(x) < least + values); });
}

/// Paddings that ONNX Runtime sees differently, and images that are smaller than the window, where
/// it rounds a negative quotient up.
bool is_open_window(const CaseNode& node, const Constant& output) {
  const bool same = node.attributes.get_string("auto_pad", "NOTSET").starts_with("SAME");
  const bool spread =
      node.attributes.find("dilations") != nullptr || node.attributes.find("strides") != nullptr;
  return spread && (same || std::ranges::find(output.dims.begin() + 2, output.dims.end(), 0) !=
                                output.dims.end());
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
      return has_wild(inputs) || is_open_window(node, outputs[0]);
    case OpKind::kMaxPool:
      return has_nan(inputs) || is_open_window(node, outputs[0]);
    case OpKind::kClip:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kNonMaxSuppression:
    case OpKind::kRelu:
    case OpKind::kTopK:
      return has_nan(inputs);
    case OpKind::kCast:
      return leaves_range(inputs, outputs[0].dtype);
    case OpKind::kResize:
      return has_wild(inputs.first(1)) || inputs[0]->dims == outputs[0].dims ||
             outputs[0].dtype != DType::kF32;
    default:
      return false;
  }
}

}  // namespace parallax::fuzz
