// Attributes of operators that make, convert or combine numbers. Types in attributes are ONNX's
// numbers of TensorProto.DataType, the column of parallax/dtypes.def: 1 is f32, 7 i64.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// How Cast rounds scales of 8 bits (float8e8m0, powers of two) that lie between two: away from
/// zero, towards zero, or to the nearest, ties away from zero.
enum class ScaleRounding : std::uint8_t { kUp, kDown, kNearest };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ScaleRounding> = {"up", "down",
                                                                            "nearest"};

/// CastLike (since operator set 15), whose second input gives the type, and the part of Cast's
/// attributes that says how to round. Narrowing of parallax/elements.h has the rules.
struct CastLikeParams {
  /// ONNX `saturate`: a number beyond the greatest finite float of 8 bits becomes that one;
  /// otherwise infinity, or NaN if the type has no infinity. Other types do not read it.
  bool saturate = true;
  /// ONNX `round_mode`: read for results of float8e8m0. Another string is refused with
  /// kUnsupported.
  ScaleRounding round_mode = ScaleRounding::kUp;

  template <class Visitor>
  void visit(Visitor& v) {
    v("saturate", saturate);
    v("round_mode", round_mode);
  }
};

/// BitCast (since operator set 26): the same bits as elements of another type, which must have as
/// many. Also reads the target of a Cast alone.
struct TargetParams {
  /// ONNX `to`: ONNX's number of a type, must be given; 0 and types that the operator lacks are
  /// refused with kUnsupported. Cast alone also has that of strings, 8.
  std::int64_t to = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("to", to);
  }
};

/// Cast: elements as numbers of another type; from and to strings too (infer_string_cast() of
/// ops/objects.h).
struct CastParams : CastLikeParams {
  /// ONNX `to`, as TargetParams::to.
  std::int64_t to = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    CastLikeParams::visit(v);
    v("to", to);
  }
};

/// CumSum (since operator set 11) and CumProd (26): each element is the sum or product of those
/// before it along the axis of input 1, with its own. Integers wrap around; floats are summed in
/// f64 by the reference kernel.
struct CumulativeParams {
  /// ONNX `exclusive`: the element itself is left out, so that the first result is 0 or 1. ONNX
  /// `reverse`: counted from the end of the axis.
  bool exclusive = false, reverse = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

/// Mod (since operator set 10): the remainder of a division.
struct ModParams {
  /// ONNX `fmod`: the result has the sign of the dividend, as C's fmod(); otherwise that of the
  /// divisor, as Python's %.
  bool fmod = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("fmod", fmod);
  }
};

/// kLeft multiplies by powers of two, kRight divides and rounds down.
enum class ShiftDirection : std::uint8_t { kLeft, kRight };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<ShiftDirection> = {"LEFT", "RIGHT"};

/// BitShift (since operator set 11) of integers: input 0 by the number of bits in input 1.
struct BitShiftParams {
  /// ONNX `direction`, required: inference refuses a node without it (kInvalidModel).
  std::optional<ShiftDirection> direction;

  template <class Visitor>
  void visit(Visitor& v) {
    v("direction", direction);
  }
};

/// IsInf (since operator set 10): a bool for each element of a tensor of floats.
struct IsInfParams {
  /// ONNX `detect_negative` and `detect_positive`: whether -inf and +inf give true. With neither
  /// all results are false.
  bool detect_negative = true, detect_positive = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("detect_negative", detect_negative);
    v("detect_positive", detect_positive);
  }
};

/// EyeLike (since operator set 9): ones on a diagonal of a matrix as large as the input, zeros
/// elsewhere.
struct EyeLikeParams {
  /// ONNX `dtype`: ONNX's number of the result's type, a number or bool. Absent: that of the input.
  /// Errors: kInvalidModel if there is no such type, kUnsupported for others.
  std::optional<std::int64_t> dtype;
  /// ONNX `k`: the diagonal, above the main one if positive, below if negative.
  std::int64_t k = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
    v("k", k);
  }
};

/// Trilu (since operator set 14) of matrices [.., rows, columns]: the elements on one side of a
/// diagonal, whose number is input 1, and zeros on the other.
struct TriluParams {
  /// ONNX `upper`: keeps the diagonal and what is above it; otherwise what is below.
  bool upper = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("upper", upper);
  }
};

/// ConstantOfShape (since operator set 9): a tensor of one value, whose dimensions are input 0.
struct ConstantOfShapeParams {
  /// ONNX `value`: one element, which also gives the type; otherwise kInvalidModel. Absent: 0 as
  /// f32.
  std::optional<Constant> value;

  template <class Visitor>
  void visit(Visitor& v) {
    v("value", value);
  }
};

}  // namespace parallax
