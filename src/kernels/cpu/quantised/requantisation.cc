#include "kernels/cpu/quantised/requantisation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/quantised.h"

namespace parallax {
namespace {

/// Arrays are readable up to a multiple of any vector.
constexpr std::int64_t kColumnGranule = 64;

/// Returns the zero point of the weights as signed bytes; nullopt if there are several, or if it is
/// not known at plan time.
std::optional<std::int32_t> zero_of_weights(const KernelRequest& request) {
  const bool is_signed = request.inputs[kProductW].dtype == DType::kI8;
  if (!request.has(kProductWZero)) return is_signed ? 0 : -128;
  const TensorDesc& zero = request.inputs[kProductWZero];
  if (zero.data == nullptr || zero.elements() == 0) return std::nullopt;
  const std::int32_t first = weight_byte(zero.data, is_signed, 0);
  for (std::int64_t i = 1; i < zero.elements(); ++i)
    if (weight_byte(zero.data, is_signed, i) != first) return std::nullopt;
  return first;
}

bool is_one(const KernelRequest& request, ProductInput input) {
  return !request.has(input) || request.inputs[input].elements() == 1;
}

/// Returns true for activations that bounds on bytes express.
bool bounds(const Activation& activation) {
  return !activation || activation.op == OpKind::kRelu || activation.op == OpKind::kClip;
}

}  // namespace

Result<std::optional<Requantisation>> Requantisation::make(const KernelRequest& request,
                                                           std::int64_t columns,
                                                           const std::string& layout,
                                                           SumColumns sum) {
  const Node& node = request.node;
  const auto unary = fused_activation(node);
  Requantisation to;
  to.scaled_ = has_scales(node);
  to.bytes_ = is_requantised(node);
  to.has_bias_ = request.has(kProductBias);
  const std::int64_t scales = to.scaled_ ? request.inputs[kProductWScale].elements() : 1;
  const auto w_zero = zero_of_weights(request);
  if (!w_zero || !is_one(request, kProductXZero) || !is_one(request, kProductXScale) ||
      (scales != 1 && scales != columns) || !unary ||
      (to.bytes_ && !bounds(node.epilogue.activation)))
    return std::nullopt;
  to.w_zero_ = *w_zero;
  to.x_signed_ = request.inputs[kProductX].dtype == DType::kI8;
  to.has_zero_ = request.has(kProductXZero);
  to.scale_each_ = scales != 1;
  to.activation_ = node.epilogue.activation;
  to.unary_ = *unary;
  if (to.bytes_) to.y_signed_ = request.inputs[kProductYZero].dtype == DType::kI8;
  const auto table = byte_table(node).value_or(Constant{});
  if (std::ssize(table.bytes) == kByteTableSize) {
    to.table_.emplace();
    std::memcpy(to.table_->data(), table.bytes.data(), to.table_->size());
  }
  const auto pack = [sum = std::move(sum)](std::byte* bytes) {
    sum(reinterpret_cast<std::int32_t*>(bytes));
  };
  PX_ASSIGN(to.sums_, request.packed.get(request.inputs[kProductW].data, "byte sums " + layout,
                                         columns * kStepBytes, pack));
  return std::optional(std::move(to));
}

std::uint8_t Requantisation::x_zero(const KernelArgs& args) const {
  const std::uint8_t zero = has_zero_ ? args.in<std::uint8_t>(kProductXZero)[0] : 0;
  return x_signed_ ? zero ^ 0x80U : zero;
}

void Requantisation::start_rows(const KernelArgs& args, std::int64_t depth,
                                std::span<std::int32_t> sums) const {
  // As unsigned numbers, which wrap.
  const std::uint32_t zeros = static_cast<std::uint32_t>(depth) * x_zero(args);
  for (std::int32_t& sum : sums)
    sum = static_cast<std::int32_t>((zeros - static_cast<std::uint32_t>(sum)) *
                                    static_cast<std::uint32_t>(w_zero_));
}

std::int64_t Requantisation::scratch_bytes(std::int64_t columns) {
  return 3 * rounded_up(columns, kColumnGranule) * kStepBytes;
}

/// Sets the zero point of y = x / scale + zero, and the bounds of x / scale that follow from the
/// activation and the type.
void Requantisation::bound_bytes(const KernelArgs& args, float y_scale, Requantise& to) const {
  const auto byte = args.in<std::uint8_t>(kProductYZero)[0];
  to.zero = y_signed_ ? static_cast<std::int8_t>(byte) : byte;
  to.bytes = true;
  to.low = static_cast<float>((y_signed_ ? -128 : 0) - to.zero);
  to.high = static_cast<float>((y_signed_ ? 127 : 255) - to.zero);
  if (activation_.op == OpKind::kRelu) to.low = std::clamp(0.0F, to.low, to.high);
  if (activation_.op != OpKind::kClip) return;
  const float low = std::clamp(activation_.low / y_scale, to.low, to.high);
  to.high = std::clamp(activation_.high / y_scale, to.low, to.high);
  to.low = std::min(low, to.high);
}

Requantisation::Columns Requantisation::prepare(const KernelArgs& args, std::int64_t begin,
                                                std::int64_t end, std::byte* scratch) const {
  const std::int64_t n = end - begin, padded = rounded_up(n, kColumnGranule);
  auto* start = reinterpret_cast<std::int32_t*>(scratch);
  auto* scale = reinterpret_cast<float*>(start + padded);
  float* offset = scale + padded;
  std::memset(scratch, 0, to_size(scratch_bytes(n)));
  const auto* sums = reinterpret_cast<const std::int32_t*>(sums_->data()) + begin;
  const std::int32_t zero = x_zero(args);
  // As unsigned numbers, which wrap.
  for (std::int64_t j = 0; j < n; ++j)
    start[j] = static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(zero) *
                                                  static_cast<std::uint32_t>(sums[j]));
  Columns columns{{}, start};
  if (!scaled_) return columns;
  Requantise& to = columns.requantise;
  const float y_scale = bytes_ ? args.in<float>(kProductYScale)[0] : 1.0F;
  if (bytes_) bound_bytes(args, y_scale, to);
  const float x_scale = args.in<float>(kProductXScale)[0] / y_scale;
  const float* w_scale = args.in<float>(kProductWScale);
  for (std::int64_t j = 0; j < n; ++j) scale[j] = x_scale * w_scale[scale_each_ ? begin + j : 0];
  const float* bias = has_bias_ ? args.in<float>(kProductBias) + begin : nullptr;
  for (std::int64_t j = 0; j < n; ++j) offset[j] = bias == nullptr ? 0.0F : bias[j] / y_scale;
  // NaN becomes the zero point.
  for (std::int64_t j = 0; bytes_ && j < n; ++j) {
    if (!std::isnan(scale[j] + offset[j])) continue;
    scale[j] = offset[j] = 0;
  }
  to.scale = scale;
  to.offset = offset;
  return columns;
}

void Requantisation::finish(void* c, std::int64_t stride, std::int64_t rows,
                            std::int64_t columns) const {
  if (bytes_ && table_)
    apply_byte_table(table_->data(), static_cast<std::uint8_t*>(c), to_size(stride), to_size(rows),
                     to_size(columns));
  if (!bytes_ && scaled_ && !(unary_ == UnaryFunction::kNone))
    apply_unary_rows(unary_, static_cast<float*>(c), to_size(stride), to_size(rows),
                     to_size(columns));
}

}  // namespace parallax
