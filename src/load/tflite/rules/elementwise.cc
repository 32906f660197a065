// Rules of operators that compute each element by itself.
#include <array>

#include "ir/dtype_sets.h"
#include "load/tflite/rules/rules.h"

namespace parallax {
namespace {

using Code = schema::BuiltinOperator;

template <OpKind kKind>
void same(TfliteOperator& o) {
  o.result(o.op(kKind, o.all_inputs()));
}

/// A binary operator with an activation.
template <OpKind kKind, class Options>
void binary(TfliteOperator& o) {
  o.activated(o.op(kKind, {o.need(0), o.need(1)}),
              o.options<Options>().fused_activation_function());
}

void rsqrt(TfliteOperator& o) {
  o.result(o.op(OpKind::kReciprocal, {o.op(OpKind::kSqrt, {o.need(0)})}));
}

void square(TfliteOperator& o) { o.result(o.mul(o.need(0), o.need(0))); }

void squared_difference(TfliteOperator& o) {
  const ValueId difference = o.sub(o.need(0), o.need(1));
  o.result(o.mul(difference, difference));
}

void relu6(TfliteOperator& o) { o.result(o.clip(o.need(0), 0, 6)); }
void relu_n1_to_1(TfliteOperator& o) { o.result(o.clip(o.need(0), -1, 1)); }
void relu_0_to_1(TfliteOperator& o) { o.result(o.clip(o.need(0), 0, 1)); }

void leaky_relu(TfliteOperator& o) {
  o.result(o.op(OpKind::kLeakyRelu, {o.need(0)},
                attributes_of({{"alpha", o.options<schema::LeakyReluOptions>().alpha()}})));
}

void gelu(TfliteOperator& o) {
  const bool approximate = o.options<schema::GeluOptions>().approximate();
  o.result(o.op(OpKind::kGelu, {o.need(0)},
                attributes_of({{"approximate", std::string(approximate ? "tanh" : "none")}})));
}

/// The remainder has the sign of the divisor.
ValueId floor_mod(TfliteOperator& o, ValueId x, ValueId y) {
  if (!contains(kFloatTypes, o.dtype(x))) return o.op(OpKind::kMod, {x, y});
  const ValueId rest = o.op(OpKind::kMod, {x, y}, attributes_of({{"fmod", std::int64_t{1}}}));
  const ValueId zero = o.number(0, x);
  const ValueId signs_differ =
      o.op(OpKind::kXor, {o.op(OpKind::kLess, {rest, zero}), o.op(OpKind::kLess, {y, zero})});
  const ValueId exact = o.op(OpKind::kEqual, {rest, zero});
  const ValueId wrong = o.op(OpKind::kAnd, {signs_differ, o.op(OpKind::kNot, {exact})});
  return o.op(OpKind::kWhere, {wrong, o.add(rest, y), rest});
}

void floor_mod(TfliteOperator& o) { o.result(floor_mod(o, o.need(0), o.need(1))); }

void floor_div(TfliteOperator& o) {
  const ValueId x = o.need(0), y = o.need(1);
  if (contains(kFloatTypes, o.dtype(x))) return o.result(o.op(OpKind::kFloor, {o.div(x, y)}));
  o.result(o.div(o.sub(x, floor_mod(o, x, y)), y));
}

void not_equal(TfliteOperator& o) {
  o.result(o.op(OpKind::kNot, {o.op(OpKind::kEqual, {o.need(0), o.need(1)})}));
}

/// SELECT takes a condition of rank 1 for the first axis of its operands.
void select(TfliteOperator& o) {
  ValueId condition = o.need(0);
  const int rank = o.rank(o.need(1));
  if (o.rank(condition) == 1 && rank > 1) {
    std::vector<std::int64_t> axes;
    for (int axis = 1; axis < rank; ++axis) axes.push_back(axis);
    condition = o.unsqueeze(condition, axes);
  }
  o.result(o.op(OpKind::kWhere, {condition, o.need(1), o.need(2)}));
}

void select_v2(TfliteOperator& o) {
  o.result(o.op(OpKind::kWhere, {o.need(0), o.need(1), o.need(2)}));
}

void cast(TfliteOperator& o) {
  const auto dtype = o.output_type(0);
  if (!dtype) return o.refuse("the type of the result is not supported");
  o.result(o.cast(o.need(0), *dtype));
}

void zeros_like(TfliteOperator& o) { o.result(o.sub(o.need(0), o.need(0))); }

/// Elements of f16 become f32; quantized ones are real numbers here already.
void dequantize(TfliteOperator& o) { o.result(o.cast_to(o.need(0), DType::kF32)); }

/// The result's scale is applied to every operator's results.
void quantize(TfliteOperator& o) { o.result(o.need(0)); }

void atan2(TfliteOperator& o) {
  const ValueId y = o.need(0), x = o.need(1), zero = o.number(0, x);
  const double pi = 3.14159265358979323846;
  const ValueId plain = o.op(OpKind::kAtan, {o.div(y, x)});
  const ValueId half_turn =
      o.op(OpKind::kWhere, {o.op(OpKind::kLess, {y, zero}), o.number(-pi, x), o.number(pi, x)});
  const ValueId left = o.op(OpKind::kLess, {x, zero});
  const ValueId turned = o.op(OpKind::kWhere, {left, o.add(plain, half_turn), plain});
  const ValueId origin =
      o.op(OpKind::kAnd, {o.op(OpKind::kEqual, {x, zero}), o.op(OpKind::kEqual, {y, zero})});
  o.result(o.op(OpKind::kWhere, {origin, zero, turned}));
}

constexpr std::array kElementwiseRules = {
    TfliteRule{Code::ABS, same<OpKind::kAbs>},
    TfliteRule{Code::ADD, binary<OpKind::kAdd, schema::AddOptions>},
    TfliteRule{Code::ATAN2, atan2},
    TfliteRule{Code::BITWISE_XOR, same<OpKind::kBitwiseXor>},
    TfliteRule{Code::CAST, cast},
    TfliteRule{Code::CEIL, same<OpKind::kCeil>},
    TfliteRule{Code::COS, same<OpKind::kCos>},
    TfliteRule{Code::DEQUANTIZE, dequantize},
    TfliteRule{Code::DIV, binary<OpKind::kDiv, schema::DivOptions>},
    TfliteRule{Code::ELU, same<OpKind::kElu>},
    TfliteRule{Code::EQUAL, same<OpKind::kEqual>},
    TfliteRule{Code::EXP, same<OpKind::kExp>},
    TfliteRule{Code::FLOOR, same<OpKind::kFloor>},
    TfliteRule{Code::FLOOR_DIV, floor_div},
    TfliteRule{Code::FLOOR_MOD, floor_mod},
    TfliteRule{Code::GELU, gelu},
    TfliteRule{Code::GREATER, same<OpKind::kGreater>},
    TfliteRule{Code::GREATER_EQUAL, same<OpKind::kGreaterOrEqual>},
    TfliteRule{Code::HARD_SWISH, same<OpKind::kHardSwish>},
    TfliteRule{Code::LEAKY_RELU, leaky_relu},
    TfliteRule{Code::LESS, same<OpKind::kLess>},
    TfliteRule{Code::LESS_EQUAL, same<OpKind::kLessOrEqual>},
    TfliteRule{Code::LOG, same<OpKind::kLog>},
    TfliteRule{Code::LOGICAL_AND, same<OpKind::kAnd>},
    TfliteRule{Code::LOGICAL_NOT, same<OpKind::kNot>},
    TfliteRule{Code::LOGICAL_OR, same<OpKind::kOr>},
    TfliteRule{Code::LOGISTIC, same<OpKind::kSigmoid>},
    TfliteRule{Code::MAXIMUM, same<OpKind::kMax>},
    TfliteRule{Code::MINIMUM, same<OpKind::kMin>},
    TfliteRule{Code::MUL, binary<OpKind::kMul, schema::MulOptions>},
    TfliteRule{Code::NEG, same<OpKind::kNeg>},
    TfliteRule{Code::NOT_EQUAL, not_equal},
    TfliteRule{Code::POW, same<OpKind::kPow>},
    TfliteRule{Code::PRELU, same<OpKind::kPRelu>},
    TfliteRule{Code::QUANTIZE, quantize},
    TfliteRule{Code::RELU, same<OpKind::kRelu>},
    TfliteRule{Code::RELU6, relu6},
    TfliteRule{Code::RELU_0_TO_1, relu_0_to_1},
    TfliteRule{Code::RELU_N1_TO_1, relu_n1_to_1},
    TfliteRule{Code::ROUND, same<OpKind::kRound>},
    TfliteRule{Code::RSQRT, rsqrt},
    TfliteRule{Code::SELECT, select},
    TfliteRule{Code::SELECT_V2, select_v2},
    TfliteRule{Code::SIGN, same<OpKind::kSign>},
    TfliteRule{Code::SIN, same<OpKind::kSin>},
    TfliteRule{Code::SQRT, same<OpKind::kSqrt>},
    TfliteRule{Code::SQUARE, square},
    TfliteRule{Code::SQUARED_DIFFERENCE, squared_difference},
    TfliteRule{Code::SUB, binary<OpKind::kSub, schema::SubOptions>},
    TfliteRule{Code::TANH, same<OpKind::kTanh>},
    TfliteRule{Code::ZEROS_LIKE, zeros_like},
};

}  // namespace

std::span<const TfliteRule> tflite_elementwise_rules() { return kElementwiseRules; }

}  // namespace parallax
