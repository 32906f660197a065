// Limits of results, which micro-kernels apply in registers. Thread-safe.
#pragma once

#include <limits>

#include "kernels/cpu/elementwise/unary_loops.h"

namespace parallax {

/// Results below `low` become `low`, then those above `high` become `high`; NaN stays. Has the bits
/// of ReLU with a low of 0, and of Clip. By default nothing changes.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool has_low() const { return low > -std::numeric_limits<float>::infinity(); }
  bool has_high() const { return high < std::numeric_limits<float>::infinity(); }
  bool any() const { return has_low() || has_high(); }
};

/// Returns what ReLU and Clip limit to; of other functions nothing, which callers apply themselves.
inline Bounds bounds_of(const Unary& activation) {
  if (activation == UnaryFunction::kRelu) return {.low = 0};
  if (activation == UnaryFunction::kClip) return {activation.p0, activation.p1};
  return {};
}

/// Returns whether bounds_of() is all that the function does.
inline bool is_bounds(const Unary& activation) {
  return activation == UnaryFunction::kNone || activation == UnaryFunction::kRelu ||
         activation == UnaryFunction::kClip;
}

}  // namespace parallax
