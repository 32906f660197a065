// Attributes of sequences and optionals. Inference is in ops/sequences.cc, kernels are in
// kernels/objects. SequenceAt, Construct, Erase, Insert, Length and the operators that read
// optionals have no attributes.
#pragma once

#include "ops/params/axis.h"

namespace parallax {

/// SequenceEmpty (since operator set 11): a sequence without tensors.
struct SequenceEmptyParams {
  /// ONNX `dtype`: the type of tensors that may join it, as ONNX numbers types; 1 is f32. Types
  /// other than those of kAllTypes and string are kUnsupported.
  std::int64_t dtype = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
  }
};

/// SplitToSequence (since operator set 11): parts of a tensor along the axis. Input 1 has their
/// lengths, or one length for all; without it each part has length 1.
struct SplitToSequenceParams : AxisParams<0> {
  /// ONNX `keepdims`: parts keep the axis, with size 1. Read without input 1 only.
  bool keepdims = true;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("keepdims", keepdims);
  }
};

/// ConcatFromSequence (since operator set 11): the tensors of a sequence along the axis, which must
/// be given.
struct ConcatFromSequenceParams : OptionalAxisParams {
  /// ONNX `new_axis`: the tensors are stacked along an axis that they lack; `axis` counts it too.
  bool new_axis = false;

  template <class Visitor>
  void visit(Visitor& v) {
    OptionalAxisParams::visit(v);
    v("new_axis", new_axis);
  }
};

/// Optional (since operator set 15): wraps its input, or without one is empty and of this type.
struct OptionalParams {
  /// The loader's form of ONNX's `type`, a TypeProto: ONNX's element type, then the types around
  /// it, outermost first, as numbers of ObjectType: 1 sequence, 2 optional. Others, or too many of
  /// them (kMaxContainers): kUnsupported. Empty, and no input: kInvalidModel.
  std::vector<std::int64_t> type;

  template <class Visitor>
  void visit(Visitor& v) {
    v("type", type);
  }
};

}  // namespace parallax
