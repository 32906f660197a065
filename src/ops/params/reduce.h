// Attributes of reductions: ReduceSum and its kin, ArgMax, ArgMin, TopK.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

struct ReduceParams {
  bool keepdims = true;
  bool noop_with_empty_axes = false;  ///< no axes mean none instead of all

  template <class Visitor>
  void visit(Visitor& v) {
    v("keepdims", keepdims);
    v("noop_with_empty_axes", noop_with_empty_axes);
  }
};

/// ArgMax and ArgMin.
struct ArgParams : AxisParams<0> {
  bool keepdims = true;
  bool select_last_index = false;  ///< the last of equal elements

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("keepdims", keepdims);
    v("select_last_index", select_last_index);
  }
};

struct TopKParams : AxisParams<-1> {
  bool largest = true, sorted = true;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("largest", largest);
    v("sorted", sorted);
  }
};

}  // namespace parallax
