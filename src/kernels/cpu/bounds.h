// Limits of results, which micro-kernels apply in registers. Thread-safe.
#pragma once

#include <limits>

#include "kernels/cpu/elementwise/unary_loops.h"

namespace parallax {

/// Results below zero are multiplied by `slope`; then those below `low` become `low`, and those
/// above `high` become `high`; NaN stays. Has the bits of LeakyReLU, of ReLU with a low of 0, and
/// of Clip. By default nothing changes.
struct Bounds {
  float slope = 1;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool has_low() const { return low > -std::numeric_limits<float>::infinity(); }
  bool has_high() const { return high < std::numeric_limits<float>::infinity(); }
  bool has_slope() const { return slope != 1; }
  bool any() const { return has_slope() || has_low() || has_high(); }
};

/// Returns what ReLU, LeakyReLU and Clip do; of other functions nothing, which callers apply
/// themselves.
inline Bounds bounds_of(const Unary& activation) {
  if (activation == UnaryFunction::kRelu) return {.low = 0};
  if (activation == UnaryFunction::kLeakyRelu) return {.slope = activation.p0};
  if (activation == UnaryFunction::kClip) return {.low = activation.p0, .high = activation.p1};
  return {};
}

/// Returns whether bounds_of() is all that the function does.
inline bool is_bounds(const Unary& activation) {
  return activation == UnaryFunction::kNone || activation == UnaryFunction::kRelu ||
         activation == UnaryFunction::kLeakyRelu || activation == UnaryFunction::kClip;
}

}  // namespace parallax
