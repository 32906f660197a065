#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ActivationsTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\ny = LeakyRelu(x) {alpha = 0.1}\noutput y", "float32 bx3"},
      {"input x f32 [0]\ny = Elu(x)\nz = Celu(y)\nv = Selu(z) {gamma = 2.0}\noutput v",
       "float32 0"},
      {"input x f32 []\ny = HardSigmoid(x) {beta = 0.1}\nz = Mish(y)\noutput z", "float32 scalar"},
      {"input x f32 [s]\ny = Softplus(x)\nz = Softsign(y)\nv = ThresholdedRelu(z)\noutput v",
       "float32 s"},
      {"input x i8 [2]\ny = Shrink(x) {lambd = 1.5, bias = 1.0}\noutput y", "int8 2"},
      {"input x f32 [b, 4, s]\ninput a f32 [4, 1]\ny = PRelu(x, a)\noutput y", "float32 bx4xs"},
      {"input x i64 [3]\nconst a i64 [] = [2]\ny = PRelu(x, a)\noutput y", "int64 3"},
  });
}

TEST(RoundingTest, ShapesAndContent) {
  check_rows({
      {"input x f32 [b]\ny = Sin(x)\nz = Acosh(y)\nv = Floor(z)\nu = Round(v)\noutput u",
       "float32 b"},
      {"input x u8 [b]\ny = Sign(x)\noutput y", "uint8 b"},
      {"symbolic x i64 [3] = [s + 1, -3, 0]\ny = Sign(x)\noutput y", "int64 3 = [1, -1, 0]"},
      {"symbolic x i64 [1] = [s - 3]\ny = Sign(x)\noutput y", "int64 1"},
      {"input x f32 [b]\ny = IsInf(x) {detect_negative = 0}\noutput y", "bool b"},
      {"input x f8e4m3fnuz [b]\ny = IsInf(x)\noutput y", "bool b"},
  });
}

TEST(BitsTest, ShapesAndContent) {
  check_rows({
      {"symbolic x i64 [2] = [s, 5]\ny = BitwiseNot(x)\noutput y", "int64 2 = [-s - 1, -6]"},
      {"input x u8 [b, 1]\ninput y u8 [3]\nz = BitwiseAnd(x, y)\nv = BitwiseOr(z, y)\n"
       "u = BitwiseXor(v, y)\noutput u",
       "uint8 bx3"},
      {"input x i32 [b]\nconst y i32 [] = [1]\nz = BitShift(x, y) {direction = \"LEFT\"}\n"
       "output z",
       "int32 b"},
      {"const x bool [2] = [1, 0]\nconst y bool [2] = [1, 1]\nz = Xor(x, y)\noutput z",
       "bool 2 = [0, 1]"},
  });
}

TEST(ActivationsTest, Refusals) {
  check_refusals({
      {"input x i32 [2]\ny = Elu(x)\noutput y", "may not be int32"},
      {"input x f32 [2]\ny = Elu(x) {alpha = 1}\noutput y", "must be a float"},
      {"input x f32 [2]\ny = Elu(x) {beta = 1.0}\noutput y", "'beta' is not known"},
      {"input x bool [2]\ny = Shrink(x)\noutput y", "may not be bool"},
      {"input x i8 [2]\ny = PRelu(x, x)\noutput y", "may not be int8"},
      {"input x f32 [2]\ninput a f32 [3]\ny = PRelu(x, a)\noutput y", "do not broadcast"},
      {"input x i64 [2]\ny = Cos(x)\noutput y", "may not be int64"},
      {"input x bool [2]\ny = Sign(x)\noutput y", "may not be bool"},
      {"input x f32 [2]\ny = IsInf(x) {detect_positive = 2}\noutput y", "0 or 1"},
      {"input x i32 [2]\ny = IsInf(x)\noutput y", "may not be int32"},
      {"input x f32 [2]\ny = BitwiseNot(x)\noutput y", "may not be float32"},
      {"input x bool [2]\ny = BitwiseAnd(x, x)\noutput y", "may not be bool"},
      {"input x i32 [2]\ny = BitShift(x, x)\noutput y", "direction is missing"},
      {"input x i32 [2]\ny = BitShift(x, x) {direction = \"UP\"}\noutput y", "'UP'"},
      {"input x i32 [2]\ny = Xor(x, x)\noutput y", "may not be int32"},
  });
}

}  // namespace
}  // namespace parallax
