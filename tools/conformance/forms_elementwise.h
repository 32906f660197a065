// Forms of operators that compute one element from one or a few. Internal to forms.cc.
#pragma once

#include "forms.h"

namespace parallax::conformance {

inline constexpr Form kUnaryForms[] = {
    {"", "input $L $T $S\ny = $O($L)$A"},
};

inline constexpr Form kBinaryForms[] = {
    {"", "input $L $T $S\ninput $R $T $S\ny = $O($L, $R)$A"},
    {"a value and itself", "input $R $T [3, 5]\ny = $O($R, $R)$A"},
    {"broadcast scalar", "input $L $T [3, 5]\ninput $R $T []\ny = $O($L, $R)$A"},
    {"broadcast scalar, left", "input $L $T []\ninput $R $T [3, 5]\ny = $O($L, $R)$A"},
    {"broadcast row", "input $L $T [3, 5, 7]\ninput $R $T [7]\ny = $O($L, $R)$A"},
    {"broadcast column", "input $L $T [3, 5]\ninput $R $T [3, 1]\ny = $O($L, $R)$A"},
    {"broadcast both", "input $L $T [3, 1, 7]\ninput $R $T [5, 1]\ny = $O($L, $R)$A"},
    {"constant scalar", "input $L $T [3, 5]\nconst $R $T [] = fill 1\ny = $O($L, $R)$A"},
    {"constant channels",
     "input $L $T [2, 8, 5, 3]\nconst $R $T [8, 1, 1] = fill 1\ny = $O($L, $R)$A"},
    {"constant, left", "const $L $T [5] = fill 1\ninput $R $T [3, 5]\ny = $O($L, $R)$A"},
    {"free rows", "symbols n m\ninput $L $T [n, m]\ninput $R $T [m]\ny = $O($L, $R)$A"},
    {"free, broadcast both", "symbols n\ninput $L $T [n, 1]\ninput $R $T [1, n]\ny = $O($L, $R)$A"},
};

inline constexpr Form kVariadicForms[] = {
    {"one operand", "input $L $T [3, 5]\ny = $O($L)"},
    {"three operands",
     "input $L $T [3, 5]\ninput $R $T [5]\nconst w $T [] = fill 1\ny = $O($L, $R, w)"},
};

inline constexpr Form kPowForms[] = {
    {"square", "input x $T [3, 5]\nconst c2 $T [] = [2]\ny = Pow(x, c2)"},
    {"cube", "input x $T [33]\nconst c3 $T [] = [3]\ny = Pow(x, c3)"},
    {"root", "input p $T [3, 5]\nconst c2 f32 [] = [0.5]\ny = Pow(p, c2)"},
};

inline constexpr Form kModForms[] = {
    {"as C has it", "input x $T [3, 5]\ninput d $T [5]\ny = Mod(x, d) {fmod = 1}"},
};

inline constexpr Form kClipForms[] = {
    {"", "input x $T $S\nconst c1 $T [] = [1]\nconst c5 $T [] = [5]\ny = Clip(x, c1, c5)"},
    {"below", "input x $T [3, 5]\nconst c1 $T [] = [1]\ny = Clip(x, c1)"},
    {"above", "input x $T [3, 5]\nconst c1 $T [] = [1]\ny = Clip(x, _, c1)"},
    {"no bound", "input x $T [3, 5]\ny = Clip(x)"},
    {"a bound of the run", "input x $T [3, 5]\ninput x2 $T []\ny = Clip(x, x2)"},
};

inline constexpr Form kCastForms[] = {
    {"to f32", "input p $T $S\ny = Cast(p) {to = 1}"},
    {"to u8", "input p $T [3, 5]\ny = Cast(p) {to = 2}"},
    {"to i8", "input p $T [3, 5]\ny = Cast(p) {to = 3}"},
    {"to i32", "input x $T [3, 5]\ny = Cast(x) {to = 6}"},
    {"to i64", "input x $T [3, 5]\ny = Cast(x) {to = 7}"},
    {"to bool", "input q $T [3, 5]\ny = Cast(q) {to = 9}"},
    {"free", "symbols n\ninput x $T [n, 5]\ny = Cast(x) {to = 1}"},
};

inline constexpr Form kWhereForms[] = {
    {"", "input b bool $S\ninput x $T $S\ninput x2 $T $S\ny = Where(b, x, x2)"},
    {"broadcast",
     "input b bool [3, 1]\ninput x $T [5]\ninput x2 $T [2, 1, 1]\ny = Where(b, x, x2)"},
    {"constant scalar",
     "input b bool [3, 5]\ninput x $T [3, 5]\nconst w $T [] = fill 1\ny = Where(b, x, w)"},
    {"free",
     "symbols n\ninput b bool [n, 1]\ninput x $T [n, 5]\ninput x2 $T [5]\n"
     "y = Where(b, x, x2)"},
};

inline constexpr Form kIsInfForms[] = {
    {"infinities", "input d $T [33]\ninput q $T [33]\na = Div(d, q)\ny = IsInf(a)"},
    {"only one",
     "input d $T [33]\ninput q $T [33]\na = Div(d, q)\ny = IsInf(a) {detect_negative = 0}"},
};
inline constexpr Form kBitShiftForms[] = {
    {"to the right",
     "input x $T [3, 5]\ninput k $T [5]\ny = BitShift(x, k) {direction = \"RIGHT\"}"},
};
inline constexpr Form kBitCastForms[] = {
    {"to f32", "input x $T [3, 5]\na = $W(x)\ny = BitCast(a) {to = 1}"},
    {"to u8", "input x $T [3, 5]\na = $W(x)\ny = BitCast(a) {to = 2}"},
    {"to i8", "input x $T [3, 5]\na = $W(x)\ny = BitCast(a) {to = 3}"},
    {"to i32", "symbols n\ninput x $T [n, 5]\na = $W(x)\ny = BitCast(a) {to = 6}"},
};
inline constexpr Form kCastLikeForms[] = {
    {"f32", "input p $T $S\ninput x2 f32 []\ny = CastLike(p, x2)"},
    {"i32", "input x $T [3, 5]\ninput x2 i32 [2]\ny = CastLike(x, x2)"},
    {"bool", "input q $T [3, 5]\ninput b bool []\ny = CastLike(q, b)"},
};
/// A slope broadcasts to x alone.
inline constexpr Form kPReluForms[] = {
    {"one slope", "input x $T [3, 5]\nconst w $T [] = fill 1\ny = PRelu(x, w)"},
    {"channels", "input x $T [2, 8, 5, 3]\nconst w $T [8, 1, 1] = fill 1\ny = PRelu(x, w)"},
    {"a slope of the run", "input x $T [3, 5]\ninput x2 $T [3, 5]\ny = PRelu(x, x2)"},
    {"free", "symbols n\ninput x $T [n, 5]\nconst w $T [5] = fill 1\ny = PRelu(x, w)"},
};
inline constexpr Form kCumulativeForms[] = {
    {"", "input x $T [3, 5]\nconst c i64 [] = [1]\ny = $O(x, c)"},
    {"exclusive, backwards",
     "input x $T [5, 3, 2]\nconst c i32 [1] = [-3]\ny = $O(x, c) {exclusive = 1, reverse = 1}"},
    {"long rows", "input x $T [2, 1537]\nconst c i64 [] = [1]\ny = $O(x, c)"},
    {"free", "symbols n\ninput x $T [n, 5]\nconst c i64 [] = [1]\ny = $O(x, c)"},
};

inline constexpr Form kGeluForms[] = {
    {"tanh", "input x $T [3, 5]\ny = Gelu(x) {approximate = \"tanh\"}"},
};
inline constexpr Form kSiluForms[] = {
    {"alpha", "input x $T [3, 5]\ny = Silu(x) {alpha = 1.702}"},
};

inline constexpr OperatorRow kElementwiseRows[] = {
    {OpKind::kBitCast, kBitCastForms},
    {OpKind::kBitShift, kBinaryForms, kBitShiftForms, "x", "k", " {direction = \"LEFT\"}"},
    {OpKind::kCast, kCastForms},
    {OpKind::kCastLike, kCastLikeForms},
    {OpKind::kClip, kClipForms},
    {OpKind::kCumProd, kCumulativeForms},
    {OpKind::kCumSum, kCumulativeForms},
    {OpKind::kGelu, kUnaryForms, kGeluForms},
    {OpKind::kIsInf, kUnaryForms, kIsInfForms},
    {OpKind::kMax, kBinaryForms, kVariadicForms},
    {OpKind::kMin, kBinaryForms, kVariadicForms},
    {OpKind::kMod, kBinaryForms, kModForms, "x", "d"},
    {OpKind::kPRelu, kPReluForms},
    {OpKind::kPow, kBinaryForms, kPowForms, "p", "p2"},
    {OpKind::kSilu, kUnaryForms, kSiluForms},
    {OpKind::kWhere, kWhereForms},
};

}  // namespace parallax::conformance
