// The attribute `axis`, whose default differs between operators.
#pragma once

#include "ops/params/params.h"

namespace parallax {

template <std::int64_t Default>
struct AxisParams {
  std::int64_t axis = Default;  ///< negative: counted from the last

  template <class Visitor>
  void visit(Visitor& v) {
    v("axis", axis);
  }
};

/// The axis of operators that must have one, or that do something else without.
struct OptionalAxisParams {
  std::optional<std::int64_t> axis;  ///< negative: counted from the last

  template <class Visitor>
  void visit(Visitor& v) {
    v("axis", axis);
  }
};

}  // namespace parallax
