#include "disturb.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "ops/op.h"
#include "random.h"

namespace parallax::fuzz {
namespace {

/// The elements; none of other types.
std::vector<float> floats_of(const Constant& tensor) {
  if (tensor.dtype != DType::kF32) return {};
  std::vector<float> elements(tensor.bytes.size() / sizeof(float));
  if (!elements.empty()) std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

}  // namespace

bool is_exact(OpKind op) {
  static const std::set<OpKind> kExact = {
      OpKind::kAbs,       OpKind::kBitShift,        OpKind::kBitwiseAnd, OpKind::kBitwiseNot,
      OpKind::kBitwiseOr, OpKind::kBitwiseXor,      OpKind::kCast,       OpKind::kCeil,
      OpKind::kClip,      OpKind::kFloor,           OpKind::kHardmax,    OpKind::kLeakyRelu,
      OpKind::kMax,       OpKind::kMaxPool,         OpKind::kMin,        OpKind::kPRelu,
      OpKind::kReduceMax, OpKind::kReduceMin,       OpKind::kRelu,       OpKind::kRound,
      OpKind::kSign,      OpKind::kThresholdedRelu, OpKind::kTopK,       OpKind::kWhere};
  static const auto moves = op_def(OpKind::kIdentity).macs;
  return kExact.contains(op) || op_def(op).macs == moves;
}

bool cancels(OpKind op) {
  static const std::set<OpKind> kCancels = {OpKind::kAdd,
                                            OpKind::kSub,
                                            OpKind::kMatMul,
                                            OpKind::kGemm,
                                            OpKind::kConv,
                                            OpKind::kGelu,
                                            OpKind::kMod,
                                            OpKind::kReduceLogSum,
                                            OpKind::kReduceLogSumExp,
                                            OpKind::kLogSoftmax,
                                            OpKind::kCumSum,
                                            OpKind::kSin,
                                            OpKind::kCos,
                                            OpKind::kSoftplus,
                                            OpKind::kReduceSum,
                                            OpKind::kReduceMean,
                                            OpKind::kAveragePool,
                                            OpKind::kErf,
                                            OpKind::kTanh,
                                            OpKind::kResize,
                                            OpKind::kLog,
                                            OpKind::kLayerNormalization};
  return kCancels.contains(op);
}

bool sums(OpKind op) {
  static const std::set<OpKind> kSums = {
      OpKind::kMatMul,     OpKind::kGemm,         OpKind::kConv,
      OpKind::kReduceSum,  OpKind::kReduceLogSum, OpKind::kCumSum,
      OpKind::kReduceMean, OpKind::kAveragePool,  OpKind::kLayerNormalization};
  return kSums.contains(op);
}

bool spreads_nan(const CaseNode& node, std::span<const Constant* const> inputs) {
  if (node.op != OpKind::kConv || inputs[1]->dims[inputs[1]->dims.rank() - 1] != 3) return false;
  return std::ranges::any_of(inputs.first(2), [](const Constant* input) {
    const auto elements = floats_of(*input);
    return !std::ranges::all_of(elements, [](float x) { return std::isfinite(x); });
  });
}

Constant all_nan(const Constant& tensor) {
  if (tensor.dtype != DType::kF32) return tensor;
  std::vector<float> elements(tensor.bytes.size() / sizeof(float),
                              std::numeric_limits<float>::quiet_NaN());
  return make_constant(DType::kF32, tensor.dims, std::as_bytes(std::span(elements)));
}

float largest_magnitude(const Constant& tensor) {
  float largest = 0;
  for (const float element : floats_of(tensor)) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  return largest;
}

Constant disturbed(const Constant& tensor, const Noise& noise, float largest) {
  if (tensor.dtype != DType::kF32 || noise.size == 0) return tensor;
  std::vector<float> elements = floats_of(tensor);
  std::uint64_t place = 0;
  for (float& element : elements) {
    if (noise.flushes) {
      if (std::abs(element) < noise.size * largest) element = 0;
      continue;
    }
    if (noise.by_place) place += std::uint64_t{1} << 32U;
    const std::uint64_t bits = std::bit_cast<std::uint32_t>(element);
    const double way = Random((noise.seed * 0x100000001B3U) ^ (place | bits)).unit() * 2 - 1;
    const double change = noise.shifts ? std::copysign(static_cast<double>(largest), way)
                                       : static_cast<double>(element) * way;
    element = static_cast<float>(element + noise.size * change);
  }
  return make_constant(DType::kF32, tensor.dims, std::as_bytes(std::span(elements)));
}

}  // namespace parallax::fuzz
