// The attribute `axis`, whose default differs between operators. Inference makes it non-negative
// with checked_axis() (ops/common.h), which refuses axes outside [-rank, rank) with kInvalidModel;
// kernels and passes do the same without a check. The rank is that of input 0 unless the operator
// makes an axis: OneHot and ConcatFromSequence count the new one too.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// The axis of operators that have a default. `Default` is that of the operator: a struct with
/// another one would misread a node that leaves the attribute out. Structs with more attributes
/// derive from it.
template <std::int64_t Default>
struct AxisParams {
  /// ONNX `axis`; negative: counted from the last, -1 being the last itself.
  std::int64_t axis = Default;

  template <class Visitor>
  void visit(Visitor& v) {
    v("axis", axis);
  }
};

/// The axis of operators that must have one (Concat, ConcatFromSequence) or that do something else
/// without: Compress and Unique then read their input as a flat list.
struct OptionalAxisParams {
  /// ONNX `axis`; negative: counted from the last. Absent: as the operator has it; Concat and
  /// ConcatFromSequence refuse nodes without one (kInvalidModel).
  std::optional<std::int64_t> axis;

  template <class Visitor>
  void visit(Visitor& v) {
    v("axis", axis);
  }
};

}  // namespace parallax
