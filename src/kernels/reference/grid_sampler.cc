#include "kernels/reference/grid_sampler.h"

#include <algorithm>
#include <cmath>

namespace parallax {
namespace {

/// Coefficient of GridSample's cubic convolution.
constexpr double kGridCubic = -0.75;

/// Returns `x` mirrored at `low` and `high` until it lies between them; `low` for NaN.
double reflected(double x, double low, double high) {
  const double range = high - low;
  const double beyond = x < low ? low - x : x - high;
  if (!(beyond > 0) || !(range > 0)) return range > 0 && x >= low ? x : low;
  const double turns = std::floor(beyond / range);
  const double rest = std::clamp(beyond - turns * range, 0.0, range);
  const bool from_low = (x < low) == (std::fmod(turns, 2.0) == 0.0);
  return from_low ? low + rest : high - rest;
}

}  // namespace

std::array<double, 4> cubic_weights(double fraction, double a) {
  const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

GridTaps GridSampler::taps(double at, std::int64_t size) const {
  GridTaps taps;
  if (size < 1) return taps;
  const auto length = static_cast<double>(size);
  const double low = align_corners ? 0 : -0.5, high = align_corners ? length - 1 : length - 0.5;
  double x = align_corners ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
  if (mode == GridMode::kNearest) x = std::nearbyint(x);
  if (!(x >= low && x <= high)) {
    if (padding == GridPadding::kBorder) x = x > 0 ? std::min(x, length - 1) : 0;
    if (padding == GridPadding::kReflection) x = reflected(x, low, high);
  }
  // All elements farther outside are zeros.
  x = x > -4 ? std::min(x, length + 4) : -4;
  const double below = std::floor(x), fraction = x - below;
  const std::array<double, 4> weights = mode == GridMode::kNearest ? std::array<double, 4>{1}
                                        : mode == GridMode::kLinear
                                            ? std::array<double, 4>{1 - fraction, fraction}
                                            : cubic_weights(fraction, kGridCubic);
  const auto first = static_cast<std::int64_t>(below) - (mode == GridMode::kCubic ? 1 : 0);
  for (int i = 0; i < count(); ++i) {
    GridTap& tap = taps[static_cast<std::size_t>(i)];
    std::int64_t index = first + i;
    if (padding == GridPadding::kBorder) index = std::clamp<std::int64_t>(index, 0, size - 1);
    if (padding == GridPadding::kReflection)
      index = static_cast<std::int64_t>(reflected(static_cast<double>(index), low, high));
    tap.index = index < 0 || index >= size ? -1 : index;
    tap.weight = weights[static_cast<std::size_t>(i)];
  }
  return taps;
}

GridSampler grid_sampler(const Attributes& attributes) {
  return {params_of<GridSampleParams>(attributes)};
}

}  // namespace parallax
