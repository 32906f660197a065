// Index checks and reductions of the Gather and Scatter operators. Pure. Indices come from tensors,
// so each is checked while the kernel runs.
#pragma once

#include <fmt/core.h>

#include <string>

#include "kernels/reference/common.h"
#include "ops/params/indexing.h"

namespace parallax {

/// Returns `index`, counted from the end if negative, as one in [0, dim). `axis` is for the message
/// alone. An empty axis, `dim` 0, has no valid index. The message does not name the node, which the
/// executor adds. Errors: kOutOfRange, stage kRun, naming index, axis and dimension.
inline Result<std::int64_t> checked_index(std::int64_t index, int axis, std::int64_t dim) {
  if (index < -dim || index >= dim) {
    return run_error(
        ErrorCode::kOutOfRange,
        fmt::format("index {} is out of range for axis {} of {} elements", index, axis, dim));
  }
  return index < 0 ? index + dim : index;
}

/// Returns the new element. Sums and products of integers wrap; an update of NaN wins kMin and
/// kMax, and so does an old NaN. kAdd and kMax "or" bools, kMul and kMin "and" them. `old` is
/// the element in the output, which several updates may name; callers apply them one after the
/// other in row-major order of the updates. The attribute `reduction` chooses the function: kNone
/// returns the update.
template <class T>
T reduce(ScatterReduction reduction, T old, T update) {
  switch (reduction) {
    case ScatterReduction::kNone:
      return update;
    case ScatterReduction::kAdd:
      if constexpr (!std::is_same_v<T, BoolByte>) return wrap_add(old, update);
      [[fallthrough]];
    case ScatterReduction::kMax:
      // x != x is true for NaN alone.
      return old < update || update != update ? update : old;
    case ScatterReduction::kMul:
      if constexpr (!std::is_same_v<T, BoolByte>) return wrap_mul(old, update);
      [[fallthrough]];
    case ScatterReduction::kMin:
      return update < old || update != update ? update : old;
  }
  return update;
}

}  // namespace parallax
