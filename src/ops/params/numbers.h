// Attributes of operators that make, convert or combine numbers.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// How Cast rounds scales of 8 bits (float8e8m0) that lie between two.
enum class ScaleRounding : std::uint8_t { kUp, kDown, kNearest };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ScaleRounding> = {"up", "down",
                                                                            "nearest"};

/// CastLike.
struct CastLikeParams {
  bool saturate = true;
  ScaleRounding round_mode = ScaleRounding::kUp;

  template <class Visitor>
  void visit(Visitor& v) {
    v("saturate", saturate);
    v("round_mode", round_mode);
  }
};

/// BitCast.
struct TargetParams {
  std::int64_t to = 0;  ///< ONNX's number of a type; Cast alone also has that of strings

  template <class Visitor>
  void visit(Visitor& v) {
    v("to", to);
  }
};

struct CastParams : CastLikeParams {
  std::int64_t to = 0;  ///< as TargetParams::to

  template <class Visitor>
  void visit(Visitor& v) {
    CastLikeParams::visit(v);
    v("to", to);
  }
};

/// CumSum and CumProd.
struct CumulativeParams {
  bool exclusive = false, reverse = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("exclusive", exclusive);
    v("reverse", reverse);
  }
};

struct ModParams {
  bool fmod = false;  ///< the result has the sign of the dividend, as C's fmod()

  template <class Visitor>
  void visit(Visitor& v) {
    v("fmod", fmod);
  }
};

enum class ShiftDirection : std::uint8_t { kLeft, kRight };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<ShiftDirection> = {"LEFT", "RIGHT"};

struct BitShiftParams {
  std::optional<ShiftDirection> direction;  ///< required

  template <class Visitor>
  void visit(Visitor& v) {
    v("direction", direction);
  }
};

struct IsInfParams {
  bool detect_negative = true, detect_positive = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("detect_negative", detect_negative);
    v("detect_positive", detect_positive);
  }
};

struct EyeLikeParams {
  std::optional<std::int64_t> dtype;  ///< ONNX's number; absent: that of the input
  std::int64_t k = 0;                 ///< diagonal, above the main one if positive

  template <class Visitor>
  void visit(Visitor& v) {
    v("dtype", dtype);
    v("k", k);
  }
};

struct TriluParams {
  bool upper = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("upper", upper);
  }
};

struct ConstantOfShapeParams {
  std::optional<Constant> value;  ///< one element; absent: 0 as f32

  template <class Visitor>
  void visit(Visitor& v) {
    v("value", value);
  }
};

}  // namespace parallax
