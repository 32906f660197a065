// Attributes of operators whose indices choose elements. Gather (GatherParams of
// ops/params/movement.h) and GatherElements have an axis alone. Indices are i32 or i64; GatherND,
// ScatterND and TensorScatter have i64 only. Negative indices count from the end. Indices outside
// the data are found by kernels: kOutOfRange during the run.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

/// GatherND (since operator set 11): each row of the indices, [.., k], names the slice data[.., i1,
/// .., ik]. Inference needs to know k, the last dimension of the indices: otherwise kUnsupported.
struct GatherNDParams {
  /// ONNX `batch_dims`: leading axes that data and indices share, at least 0 and less than both
  /// ranks.
  std::int64_t batch_dims = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("batch_dims", batch_dims);
  }
};

/// How a scatter combines the old element with the update: kNone writes the update, kAdd and kMul
/// compute, kMax and kMin choose. All but kNone need numbers (kNumericTypes).
enum class ScatterReduction : std::uint8_t { kNone, kAdd, kMul, kMax, kMin };
template <>
inline constexpr std::array<std::string_view, 5> kChoices<ScatterReduction> = {"none", "add", "mul",
                                                                               "max", "min"};

/// ScatterND (since operator set 11): a copy of the data in which the slices that indices name are
/// replaced by updates, or combined with them.
struct ScatterNDParams {
  /// ONNX `reduction`. Another string is refused with kUnsupported.
  ScatterReduction reduction = ScatterReduction::kNone;

  template <class Visitor>
  void visit(Visitor& v) {
    v("reduction", reduction);
  }
};

/// ScatterElements (since operator set 11): each index chooses one element along the axis, for the
/// update at the same place. Updates are applied in order, so that the last of several for one
/// element wins.
struct ScatterElementsParams : AxisParams<0>, ScatterNDParams {
  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    ScatterNDParams::visit(v);
  }
};

/// The treatment of updates that reach beyond the end of the cache. kLinear: they are an error
/// (kOutOfRange). kCircular: they go on at the beginning.
enum class CacheMode : std::uint8_t { kLinear, kCircular };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<CacheMode> = {"linear", "circular"};

/// TensorScatter (since operator set 24): a cache in which, for each sample (axis 0), the update
/// replaces rows along `axis` from the index of input 2 on, or from 0 on if that is left out. The
/// axis is not 0.
struct TensorScatterParams : AxisParams<-2> {
  /// ONNX `mode`. kCircular reads an index modulo the length of the axis.
  CacheMode mode = CacheMode::kLinear;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("mode", mode);
  }
};

/// Unique (since operator set 11): the elements, or the slices along the axis, that differ. Sizes
/// of all outputs are known only during a run.
struct UniqueParams : OptionalAxisParams {
  /// ONNX `sorted`: results ascend; otherwise they have the order in which the input has them
  /// first.
  bool sorted = true;

  template <class Visitor>
  void visit(Visitor& v) {
    OptionalAxisParams::visit(v);
    v("sorted", sorted);
  }
};

/// NonMaxSuppression (since operator set 10): boxes [batch, boxes, 4] and scores [batch, classes,
/// boxes], both f32, give rows (batch, class, box) of i64. The limit per class, input 2, is 0 if
/// left out: no box is kept.
struct NonMaxSuppressionParams {
  /// ONNX `center_point_box`: a box is (x of its centre, y of its centre, width, height) instead of
  /// two opposite corners (y1, x1, y2, x2).
  bool center_point_box = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("center_point_box", center_point_box);
  }
};

}  // namespace parallax
