#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "expected.h"

namespace parallax::fuzz {

std::optional<std::string> difference(const TensorView& ours, const TensorView& expected,
                                      double tolerance, Stable compared) {
  const bool same_shape = compared == Stable::kType ? ours.dims.rank() == expected.dims.rank()
                                                    : ours.dims == expected.dims;
  if (ours.dtype != expected.dtype || !same_shape) {
    return fmt::format("{} {} instead of {} {}", to_string(ours.dtype), ours.dims.to_string(),
                       to_string(expected.dtype), expected.dims.to_string());
  }
  if (compared != Stable::kElements || ours.bytes.empty() ||
      std::memcmp(ours.bytes.data(), expected.bytes.data(), ours.bytes.size()) == 0) {
    return std::nullopt;
  }
  if (ours.dtype != DType::kF32 || tolerance == 0) {
    const auto at = std::ranges::mismatch(ours.bytes, expected.bytes).in1 - ours.bytes.begin();
    return fmt::format("other bits at element {} of {} {}", at / size_of(ours.dtype),
                       to_string(ours.dtype), ours.dims.to_string());
  }
  double scale = 1e-6;
  const auto element = [](const TensorView& tensor, std::int64_t i) {
    float value = 0;
    std::memcpy(&value, tensor.bytes.data() + static_cast<std::size_t>(i) * sizeof(float),
                sizeof(float));
    return static_cast<double>(value);
  };
  for (std::int64_t i = 0; i < ours.dims.elements(); ++i) {
    const double b = element(expected, i);
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
  }
  for (std::int64_t i = 0; i < ours.dims.elements(); ++i) {
    const double a = element(ours, i), b = element(expected, i);
    const bool same = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) <= tolerance * scale
                                                           : a == b || (a != a && b != b);
    if (same) continue;
    return fmt::format("{} instead of {} at element {} of {}, largest magnitude {}", a, b, i,
                       ours.dims.to_string(), scale);
  }
  return std::nullopt;
}

}  // namespace parallax::fuzz
