// Rules of operators of StableHLO, whose shapes are all known and whose operands do not broadcast.
#include <algorithm>
#include <array>

#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

template <OpKind kKind>
void hlo(TfliteOperator& o) {
  o.result(o.op(kKind, o.all_inputs()));
}

/// Takes bools, or integers by their bits.
template <OpKind kOfBools, OpKind kOfBits>
void hlo_logic(TfliteOperator& o) {
  o.result(o.op(o.dtype(o.need(0)) == DType::kBool ? kOfBools : kOfBits, o.all_inputs()));
}

void hlo_rsqrt(TfliteOperator& o) {
  o.result(o.op(OpKind::kReciprocal, {o.op(OpKind::kSqrt, {o.need(0)})}));
}

/// The root of the size, with the sign.
void hlo_cbrt(TfliteOperator& o) {
  const ValueId x = o.need(0);
  const ValueId root = o.op(OpKind::kPow, {o.op(OpKind::kAbs, {x}), o.number(1.0 / 3.0, x)});
  o.result(o.mul(o.op(OpKind::kSign, {x}), root));
}

/// The remainder has the sign of the dividend.
void hlo_remainder(TfliteOperator& o) {
  o.result(o.op(OpKind::kMod, o.all_inputs(), attributes_of({{"fmod", std::int64_t{1}}})));
}

/// Inputs are the lower limit, x, the upper limit.
void hlo_clamp(TfliteOperator& o) {
  o.result(o.op(OpKind::kMin, {o.op(OpKind::kMax, {o.need(1), o.need(0)}), o.need(2)}));
}

void hlo_convert(TfliteOperator& o) {
  const auto dtype = o.output_type(0);
  if (!dtype) return o.refuse("the type of the result is not supported");
  o.result(o.cast_to(o.need(0), *dtype));
}

void hlo_compare(TfliteOperator& o) {
  using Direction = schema::StablehloComparisonDirection;
  const ValueId x = o.need(0), y = o.need(1);
  switch (o.options_2<schema::StablehloCompareOptions>().comparison_direction()) {
    case Direction::STABLEHLO_COMPARISON_DIRECTION_EQ:
      return o.result(o.op(OpKind::kEqual, {x, y}));
    case Direction::STABLEHLO_COMPARISON_DIRECTION_NE:
      return o.result(o.op(OpKind::kNot, {o.op(OpKind::kEqual, {x, y})}));
    case Direction::STABLEHLO_COMPARISON_DIRECTION_GE:
      return o.result(o.op(OpKind::kGreaterOrEqual, {x, y}));
    case Direction::STABLEHLO_COMPARISON_DIRECTION_GT:
      return o.result(o.op(OpKind::kGreater, {x, y}));
    case Direction::STABLEHLO_COMPARISON_DIRECTION_LE:
      return o.result(o.op(OpKind::kLessOrEqual, {x, y}));
    case Direction::STABLEHLO_COMPARISON_DIRECTION_LT:
      return o.result(o.op(OpKind::kLess, {x, y}));
  }
  o.invalid("there is no such comparison");
}

void hlo_concatenate(TfliteOperator& o) {
  o.result(
      o.concat(o.all_inputs(), o.options_2<schema::StablehloConcatenateOptions>().dimension()));
}

void hlo_transpose(TfliteOperator& o) {
  o.result(o.transpose(o.need(0),
                       longs_of(o.options_2<schema::StablehloTransposeOptions>().permutation())));
}

void hlo_reshape(TfliteOperator& o) {
  o.result(o.op(OpKind::kReshape, {o.need(0), o.ints(o.output_shape(0))},
                attributes_of({{"allowzero", std::int64_t{1}}})));
}

/// Axis i of x becomes axis broadcast_dimensions[i] of the result.
void hlo_broadcast(TfliteOperator& o) {
  const Ints axes =
      longs_of(o.options_2<schema::StablehloBroadcastInDimOptions>().broadcast_dimensions());
  const Ints shape = o.output_shape(0);
  const ValueId x = o.need(0);
  const bool ascend = std::ranges::adjacent_find(axes, std::greater_equal{}) == axes.end();
  if (o.failed()) return;
  if (std::ssize(axes) != o.rank(x) || !ascend) return o.refuse("axes must ascend");
  Ints spread(shape.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= std::ssize(shape)) return o.invalid("there is no such axis");
    spread[static_cast<std::size_t>(axes[i])] = o.dimension(x, static_cast<int>(i));
  }
  o.result(o.op(OpKind::kExpand, {o.reshape(x, spread), o.ints(shape)}));
}

void hlo_slice(TfliteOperator& o) {
  const auto& options = o.options_2<schema::StablehloSliceOptions>();
  Ints axes(length_of(options.start_indices()));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  o.result(o.op(OpKind::kSlice, {o.need(0), o.ints(longs_of(options.start_indices())),
                                 o.ints(longs_of(options.limit_indices())), o.ints(axes),
                                 o.ints(longs_of(options.strides()))}));
}

constexpr std::array kStablehloRules = {
    TfliteRule{Code::STABLEHLO_ABS, hlo<OpKind::kAbs>},
    TfliteRule{Code::STABLEHLO_ADD, hlo<OpKind::kAdd>},
    TfliteRule{Code::STABLEHLO_AND, hlo_logic<OpKind::kAnd, OpKind::kBitwiseAnd>},
    TfliteRule{Code::STABLEHLO_BROADCAST_IN_DIM, hlo_broadcast},
    TfliteRule{Code::STABLEHLO_CBRT, hlo_cbrt},
    TfliteRule{Code::STABLEHLO_CLAMP, hlo_clamp},
    TfliteRule{Code::STABLEHLO_COMPARE, hlo_compare},
    TfliteRule{Code::STABLEHLO_CONCATENATE, hlo_concatenate},
    TfliteRule{Code::STABLEHLO_CONVERT, hlo_convert},
    TfliteRule{Code::STABLEHLO_COSINE, hlo<OpKind::kCos>},
    TfliteRule{Code::STABLEHLO_DIVIDE, hlo<OpKind::kDiv>},
    TfliteRule{Code::STABLEHLO_EXPONENTIAL, hlo<OpKind::kExp>},
    TfliteRule{Code::STABLEHLO_FLOOR, hlo<OpKind::kFloor>},
    TfliteRule{Code::STABLEHLO_LOG, hlo<OpKind::kLog>},
    TfliteRule{Code::STABLEHLO_LOGISTIC, hlo<OpKind::kSigmoid>},
    TfliteRule{Code::STABLEHLO_MAXIMUM, hlo<OpKind::kMax>},
    TfliteRule{Code::STABLEHLO_MINIMUM, hlo<OpKind::kMin>},
    TfliteRule{Code::STABLEHLO_MULTIPLY, hlo<OpKind::kMul>},
    TfliteRule{Code::STABLEHLO_NEGATE, hlo<OpKind::kNeg>},
    TfliteRule{Code::STABLEHLO_OR, hlo_logic<OpKind::kOr, OpKind::kBitwiseOr>},
    TfliteRule{Code::STABLEHLO_POWER, hlo<OpKind::kPow>},
    TfliteRule{Code::STABLEHLO_REMAINDER, hlo_remainder},
    TfliteRule{Code::STABLEHLO_RESHAPE, hlo_reshape},
    TfliteRule{Code::STABLEHLO_RSQRT, hlo_rsqrt},
    TfliteRule{Code::STABLEHLO_SELECT, hlo<OpKind::kWhere>},
    TfliteRule{Code::STABLEHLO_SLICE, hlo_slice},
    TfliteRule{Code::STABLEHLO_SUBTRACT, hlo<OpKind::kSub>},
    TfliteRule{Code::STABLEHLO_TANH, hlo<OpKind::kTanh>},
    TfliteRule{Code::STABLEHLO_TRANSPOSE, hlo_transpose},
};

}  // namespace

std::span<const TfliteRule> tflite_stablehlo_rules() { return kStablehloRules; }

}  // namespace parallax
