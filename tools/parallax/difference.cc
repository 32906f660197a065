#include "difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace parallax::cli {
namespace {

Difference apart() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return {true, kInfinite, kInfinite, 0};
}

}  // namespace

Difference difference(const TensorView& ours, const TensorView& oracle) {
  if (!(ours.dims == oracle.dims)) return apart();
  if (ours.dtype != DType::kF32) {
    const bool same = ours.bytes.empty() ||
                      std::memcmp(ours.bytes.data(), oracle.bytes.data(), ours.bytes.size()) == 0;
    return same ? Difference{} : apart();
  }
  Difference result;
  double scale = 1e-6, product = 0, own = 0, other = 0;
  for (std::int64_t i = 0; i < ours.dims.elements(); ++i) {
    const double a = ours.as<float>()[i], b = oracle.as<float>()[i];
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
