// Attributes of sequences and optionals.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

struct SequenceEmptyParams {
  std::int64_t dtype = 1;  ///< as ONNX numbers types

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
  }
};

struct SplitToSequenceParams : AxisParams<0> {
  bool keepdims = true;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("keepdims", keepdims);
  }
};

struct ConcatFromSequenceParams : OptionalAxisParams {
  bool new_axis = false;

  template <class Visitor>
  void visit(Visitor& v) {
    OptionalAxisParams::visit(v);
    v("new_axis", new_axis);
  }
};

struct OptionalParams {
  /// The loader's form of a TypeProto: ONNX's element type, then the types around it.
  std::vector<std::int64_t> type;

  template <class Visitor>
  void visit(Visitor& v) {
    v("type", type);
  }
};

}  // namespace parallax
