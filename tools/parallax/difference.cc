#include "difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "parallax/elements.h"

namespace parallax::cli {
namespace {

/// Elements that are looked at together.
constexpr std::int64_t kChunk = 1024;

Difference apart() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return {true, kInfinite, kInfinite, 0};
}

/// Returns the magnitude below which a difference is not made relative: of integers of 8 bits and
/// fewer, in which quantised models return numbers, half their range. Wider integers are indices,
/// others are no numbers: they have none.
std::optional<double> least_scale(const DTypeInfo& type) {
  if (type.kind == DTypeClass::kFloat) return 1e-6;
  const bool integer = type.kind == DTypeClass::kSigned || type.kind == DTypeClass::kUnsigned;
  if (!integer || type.bits > 8) return std::nullopt;
  return std::exp2(type.bits - 1);
}

}  // namespace

Difference difference(const TensorView& ours, const TensorView& oracle) {
  if (!(ours.dims == oracle.dims)) return apart();
  const auto least = least_scale(info_of(ours.dtype));
  if (ours.dtype != oracle.dtype || !least) {
    const bool same = ours.dtype == oracle.dtype && ours.bytes.size() == oracle.bytes.size() &&
                      std::ranges::equal(ours.bytes, oracle.bytes);
    return same ? Difference{} : apart();
  }
  Difference result;
  double scale = *least, product = 0, own = 0, other = 0;
  std::array<double, kChunk> ours_there, oracle_there;
  const std::int64_t count = ours.dims.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kChunk == 0) {
      const auto size = static_cast<std::size_t>(std::min(kChunk, count - i));
      read_elements(ours.dtype, ours.bytes.data(), i, std::span(ours_there).first(size));
      read_elements(oracle.dtype, oracle.bytes.data(), i, std::span(oracle_there).first(size));
    }
    const auto at = static_cast<std::size_t>(i % kChunk);
    const double a = ours_there[at], b = oracle_there[at];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b && !(std::isnan(a) && std::isnan(b))) return apart();
      continue;
    }
    result.largest = std::max(result.largest, std::abs(a - b));
    scale = std::max(scale, std::abs(b));
    product += a * b;
    own += a * a;
    other += b * b;
  }
  result.relative = result.largest / scale;
  if (own > 0 && other > 0) result.cosine = product / std::sqrt(own) / std::sqrt(other);
  return result;
}

std::string to_string(const Difference& difference) {
  if (difference.apart) return "other shapes, elements or places of NaN and infinities";
  return fmt::format("largest {:.1e}, {:.1e} of the largest magnitude, cosine {:.6f}",
                     difference.largest, difference.relative, difference.cosine);
}

}  // namespace parallax::cli
