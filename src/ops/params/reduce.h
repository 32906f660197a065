// Attributes of reductions: ReduceSum and its kin, ArgMax, ArgMin, TopK. ReduceMax and ReduceMin
// give NaN if an element is NaN, ArgMax and ArgMin choose it, and TopK counts it as larger than any
// number.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

/// ReduceL1, L2, LogSum, LogSumExp, Max, Mean, Min, Prod, Sum and SumSquare. Axes are input 1
/// (i64): loaders make a constant input of the attribute that older operator sets have. Axes out of
/// range or repeated: kInvalidModel.
struct ReduceParams {
  /// ONNX `keepdims`: reduced axes stay with size 1; otherwise they are removed. Then the number of
  /// axes must be known before a run, or inference refuses the node (kUnsupported).
  bool keepdims = true;
  /// ONNX `noop_with_empty_axes`: an empty or absent input 1 means no axes instead of all.
  bool noop_with_empty_axes = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("keepdims", keepdims);
    v("noop_with_empty_axes", noop_with_empty_axes);
  }
};

/// ArgMax and ArgMin: i64 indices along the axis, which must have elements (kInvalidModel).
struct ArgParams : AxisParams<0> {
  /// ONNX `keepdims`: the axis stays with size 1.
  bool keepdims = true;
  /// ONNX `select_last_index` (since operator set 12): the last of equal elements instead of the
  /// first.
  bool select_last_index = false;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("keepdims", keepdims);
    v("select_last_index", select_last_index);
  }
};

/// TopK: the k greatest or smallest elements along the axis, and their indices (i64); k is input 1,
/// between 0 and the size of the axis. Among equal elements the lower index comes first.
struct TopKParams : AxisParams<-1> {
  /// ONNX `largest`: the greatest elements, in descending order; otherwise the smallest, ascending.
  /// ONNX `sorted` is not read: results always are.
  bool largest = true, sorted = true;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("largest", largest);
    v("sorted", sorted);
  }
};

}  // namespace parallax
