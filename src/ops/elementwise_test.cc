#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ElementwiseTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\ny = Exp(x)\noutput y", "float32 bx3"},
      {"input x i8 []\ny = Abs(x)\noutput y", "int8 scalar"},
      {"input x f32 [0, 3]\ny = Gelu(x) {approximate = \"tanh\"}\noutput y", "float32 0x3"},
      {"input x f32 [b]\ny = HardSwish(x)\noutput y", "float32 b"},
      {"input x bool [b]\ny = Not(x)\noutput y", "bool b"},
      {"input x f32 [b, 2]\ny = IsNaN(x)\noutput y", "bool bx2"},
      {"input x f8e5m2 [2]\ny = IsNaN(x)\noutput y", "bool 2"},
      {"input x f32 [2]\nconst lo f32 [] = [0]\ny = Clip(x, lo)\noutput y", "float32 2"},
      {"input x f32 [2]\nconst lo f32 [1, 1] = [0]\ny = Clip(x, lo)\noutput y", "float32 2"},
      {"input x f32 [2]\nconst hi f32 [1] = [6]\ny = Clip(x, _, hi)\noutput y", "float32 2"},
      {"input x f32 [b, 2]\ny = Cast(x) {to = 9}\noutput y", "bool bx2"},
      {"input x bool [b, 2]\ny = Cast(x) {to = 1, saturate = 1}\noutput y", "float32 bx2"},
      {"input x f16 [b, 2]\ny = Cast(x) {to = 22}\noutput y", "int4 bx2"},
      {"input x i4 [b]\ny = Cast(x) {to = 24, round_mode = \"nearest\"}\noutput y",
       "float8_e8m0fnu b"},
      {"input x f32 [b, 2]\ninput t bf16 []\ny = CastLike(x, t)\noutput y", "bfloat16 bx2"},
      {"input x f32 [b, 2]\ny = BitCast(x) {to = 6}\noutput y", "int32 bx2"},
  });
}

TEST(ElementwiseTest, Broadcasting) {
  check_rows({
      {"input x f32 [b, 1, s]\ninput y f32 [4, 1]\nz = Add(x, y)\noutput z", "float32 bx4xs"},
      {"input x f32 [b, s]\ninput y f32 []\nz = Mul(x, y)\noutput z", "float32 bxs"},
      {"input x f32 [1]\ninput y f32 [0]\nz = Mul(x, y)\noutput z", "float32 0"},
      {"input x f32 [s]\ninput y f32 [5]\nz = Sub(x, y)\noutput z", "float32 5"},
      {"input x f32 [s]\ninput y f32 [w]\nz = Sub(x, y)\noutput z", "float32 broadcast(s, w)"},
      {"input x f32 [s]\ninput y f32 [w]\ninput v f32 [h]\nz = Max(v, x, y)\nu = Max(y, v, x)\n"
       "output z, u",
       "float32 broadcast(s, broadcast(h, w)); float32 broadcast(s, broadcast(h, w))"},
      {"input c bool [b]\ninput x f32 [s]\ninput y f32 [1]\nz = Where(c, x, y)\noutput z",
       "float32 broadcast(b, s)"},
      {"input x f32 [b, 4]\ninput y f32 [s, 4]\nz = Add(x, y)\nv = Shape(z)\noutput v",
       "int64 2 = [broadcast(b, s), 4]"},
      {"input x i32 [2, 1]\ninput y f32 [3]\nz = Pow(x, y)\noutput z", "int32 2x3"},
      {"input x f32 [3, 1]\ninput y f32 [4]\ninput v f32 [2, 1, 1]\nz = Max(x, y, v)\noutput z",
       "float32 2x3x4"},
      {"input x u8 [3]\nz = Min(x)\noutput z", "uint8 3"},
      {"input x f32 [b, 1]\ninput y f32 [1, s]\nz = LessOrEqual(x, y)\noutput z", "bool bxs"},
      {"input c bool [b, 1]\ninput x f32 [s]\ninput y f32 []\nz = Where(c, x, y)\noutput z",
       "float32 bxs"},
      {"input x f32 [2]\ninput y f32 [2]\nz = Mod(x, y) {fmod = 1}\noutput z", "float32 2"},
  });
}

TEST(ElementwiseTest, ContentIsCalculatedAsExpressions) {
  check_rows({
      {"symbolic x i64 [2] = [s, 4]\nconst y i64 [] = [2]\nz = Mul(x, y)\noutput z",
       "int64 2 = [2*s, 8]"},
      {"symbolic x i64 [2] = [s, 4]\nconst y i64 [2, 1] = [1, 2]\nz = Add(x, y)\noutput z",
       "int64 2x2 = [s + 1, 5, s + 2, 6]"},
      {"symbolic x i64 [1] = [4*s]\nconst y i64 [1] = [2]\nz = Div(x, y)\noutput z",
       "int64 1 = [2*s]"},
      // Div truncates: -7 / 2 is -3, and s - 1 may be negative.
      {"const x i64 [2] = [-7, 7]\nconst y i64 [] = [2]\nz = Div(x, y)\noutput z",
       "int64 2 = [-3, 3]"},
      {"symbolic x i64 [1] = [s - 1]\nconst y i64 [1] = [2]\nz = Div(x, y)\noutput z", "int64 1"},
      {"const x i64 [1] = [1]\nconst y i64 [1] = [0]\nz = Div(x, y)\noutput z", "int64 1"},
      {"const x i64 [2] = [-7, 7]\nconst y i64 [] = [3]\nz = Mod(x, y)\noutput z",
       "int64 2 = [2, 1]"},
      {"const x i64 [2] = [-7, 7]\nconst y i64 [] = [3]\nz = Mod(x, y) {fmod = 1}\noutput z",
       "int64 2 = [-1, 1]"},
      {"symbolic x i64 [1] = [s]\nz = Neg(x)\nv = Abs(z)\noutput z, v",
       "int64 1 = [-s]; int64 1 = [s]"},
      {"symbolic x i64 [1] = [s]\nconst y i64 [1] = [-1]\nz = Max(x, y)\nv = Min(x, y)\n"
       "output z, v",
       "int64 1 = [s]; int64 1 = [-1]"},
      {"symbolic x i64 [2] = [s, 3]\ny = Cast(x) {to = 6}\noutput y", "int32 2 = [s, 3]"},
      {"const x i64 [1] = [3000000000]\ny = Cast(x) {to = 6}\noutput y", "int32 1"},
      {"symbolic x i64 [3] = [s + 1, 0, 7]\ny = Cast(x) {to = 9}\noutput y", "bool 3 = [1, 0, 1]"},
      {"symbolic x i64 [1] = [s]\ny = Cast(x) {to = 9}\noutput y", "bool 1"},
      // Sums that leave 63 bits are not known rather than wrapped.
      {"const x i64 [1] = [9223372036854775807]\nz = Add(x, x)\noutput z", "int64 1"},
  });
}

TEST(ElementwiseTest, ComparisonsAreDecidedWhereProvable) {
  check_rows({
      {"symbolic x i64 [3] = [s, 4, -1]\nconst y i64 [1] = [-1]\nz = Equal(x, y)\noutput z",
       "bool 3 = [0, 0, 1]"},
      {"symbolic x i64 [1] = [s]\nconst y i64 [1] = [3]\nz = Equal(x, y)\noutput z", "bool 1"},
      {"symbolic x i64 [1] = [s + 1]\nsymbolic y i64 [1] = [s]\nz = Less(x, y)\nv = Greater(x, y)\n"
       "output z, v",
       "bool 1 = [0]; bool 1 = [1]"},
      {"symbolic x i64 [1] = [s]\nconst y i64 [1] = [0]\nz = GreaterOrEqual(x, y)\n"
       "v = LessOrEqual(x, y)\noutput z, v",
       "bool 1 = [1]; bool 1"},
      {"const x bool [2] = [1, 0]\nconst y bool [1] = [1]\nz = And(x, y)\nv = Or(x, y)\n"
       "u = Not(x)\noutput z, v, u",
       "bool 2 = [1, 0]; bool 2 = [1, 1]; bool 2 = [0, 1]"},
      {"const c bool [2] = [1, 0]\nsymbolic x i64 [2] = [s, s]\nconst y i64 [1] = [1]\n"
       "z = Where(c, x, y)\noutput z",
       "int64 2 = [s, 1]"},
  });
}

TEST(ElementwiseTest, Refusals) {
  check_refusals({
      {"input x i64 [2]\ny = Exp(x)\noutput y", "input 0 may not be int64"},
      {"input x u8 [2]\ny = Neg(x)\noutput y", "input 0 may not be uint8"},
      {"input x bool [2]\ninput y bool [2]\nz = Add(x, y)\noutput z", "may not be bool"},
      {"input x f32 [2]\ninput y f32 [2]\nz = And(x, y)\noutput z", "may not be float32"},
      {"input x f32 [2]\ninput y i64 [2]\nz = Add(x, y)\noutput z", "input 1 is int64"},
      {"input x bool [2]\ninput y bool [2]\nz = Less(x, y)\noutput z", "may not be bool"},
      {"input x f32 [2]\ninput y f32 [3]\nz = Add(x, y)\noutput z", "(inputs: float32 2"},
      {"input x f32 [0]\ninput y f32 [3]\nz = Add(x, y)\noutput z", "do not broadcast"},
      {"input x i64 [2]\ninput y i64 [2]\nz = Mod(x, y) {fmod = 2}\noutput z", "0 or 1"},
      {"input x bool [2]\ninput y f32 [2]\nz = Pow(x, y)\noutput z", "may not be bool"},
      {"input x f32 [2]\ninput y i64 []\nz = Clip(x, y)\noutput z", "input 1 is int64"},
      {"input x f32 [2]\ninput y f32 [2]\nz = Clip(x, y)\noutput z", "one number"},
      {"input x f32 [2]\nz = Cast(x) {to = 14}\noutput z", "element type 14"},
      {"input x f32 [2]\nz = Cast(x)\noutput z", "element type 0"},
      {"input x f32 [2]\nz = Cast(x) {to = 24, round_mode = \"odd\"}\noutput z", "round_mode"},
      {"input x f32 [2]\nz = BitCast(x) {to = 7}\noutput z", "no bits of int64"},
      {"input x i4 [2]\nz = BitCast(x) {to = 2}\noutput z", "no bits of uint8"},
      {"input x f32 [2]\nz = Gelu(x) {approximate = \"fast\"}\noutput z", "'fast'"},
      {"input x i32 [2]\nz = HardSwish(x)\noutput z", "may not be int32"},
      {"input c f32 [2]\nz = Where(c, c, c)\noutput z", "may not be float32"},
      {"input c bool [2]\ninput x f32 [2]\ninput y i64 [2]\nz = Where(c, x, y)\noutput z",
       "one dtype"},
  });
}

}  // namespace
}  // namespace parallax
