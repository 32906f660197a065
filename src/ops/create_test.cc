#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ShapeTest, ListsDimensions) {
  check_rows({
      {"input x f32 [b, 3, s]\ny = Shape(x)\noutput y", "int64 3 = [b, 3, s]"},
      {"input x f32 [b, 3, s]\ny = Shape(x) {start = -2}\noutput y", "int64 2 = [3, s]"},
      {"input x f32 [b, 3, s]\ny = Shape(x) {start = 0, end = -1}\noutput y", "int64 2 = [b, 3]"},
      {"input x f32 [b, 3, s]\ny = Shape(x) {start = 2, end = 1}\noutput y", "int64 0 = []"},
      {"input x f32 [b, 3, s]\ny = Shape(x) {start = -9223372036854775807, end = 99}\noutput y",
       "int64 3 = [b, 3, s]"},
      {"input x f32 []\ny = Shape(x)\noutput y", "int64 0 = []"},
  });
}

TEST(SizeTest, CountsElements) {
  check_rows({
      {"input x f32 [b, 3, s]\ny = Size(x)\noutput y", "int64 scalar = [3*b*s]"},
      {"input x f32 []\ny = Size(x)\noutput y", "int64 scalar = [1]"},
  });
}

TEST(ConstantOfShapeTest, Shapes) {
  check_rows({
      {"symbolic t i64 [2] = [b, 3]\ny = ConstantOfShape(t)\noutput y", "float32 bx3"},
      {"const t i64 [1] = [3]\ny = ConstantOfShape(t) {value = tensor i64 [1] [7]}\noutput y",
       "int64 3 = [7, 7, 7]"},
      {"const t i64 [0] = []\ny = ConstantOfShape(t) {value = tensor bool [1] [1]}\noutput y",
       "bool scalar = [1]"},
      {"input t i64 [2]\ny = ConstantOfShape(t) {value = tensor i32 [1] [7]}\noutput y",
       "int32 ConstantOfShape_0.0xConstantOfShape_0.1"},
      {"const t i64 [2] = [2000, 0]\ny = ConstantOfShape(t)\noutput y", "float32 2000x0"},
  });
}

TEST(RangeTest, Shapes) {
  check_rows({
      {"const a i64 [] = [2]\nconst l i64 [] = [9]\nconst d i64 [] = [3]\ny = Range(a, l, d)\n"
       "output y",
       "int64 3 = [2, 5, 8]"},
      {"const a i64 [] = [9]\nconst l i64 [] = [2]\nconst d i64 [] = [-3]\ny = Range(a, l, d)\n"
       "output y",
       "int64 3 = [9, 6, 3]"},
      {"const a i64 [] = [9]\nconst l i64 [] = [2]\nconst d i64 [] = [1]\ny = Range(a, l, d)\n"
       "output y",
       "int64 0 = []"},
      {"const a i64 [] = [0]\nsymbolic l i64 [] = [s]\nconst d i64 [] = [1]\ny = Range(a, l, d)\n"
       "output y",
       "int64 s"},
      {"symbolic a i32 [] = [s]\nsymbolic l i32 [] = [s + 2]\nconst d i32 [] = [1]\n"
       "y = Range(a, l, d)\noutput y",
       "int32 2 = [s, s + 1]"},
      {"const a f32 [] = [0]\nconst l f32 [] = [1]\nconst d f32 [] = [0.3]\ny = Range(a, l, d)\n"
       "output y",
       "float32 4"},
      {"const a i64 [] = [0]\ninput l i64 []\nconst d i64 [] = [1]\ny = Range(a, l, d)\noutput y",
       "int64 Range_0.0"},
      {"const a i64 [] = [0]\nconst l i64 [] = [1000000000000]\nconst d i64 [] = [1]\n"
       "y = Range(a, l, d)\noutput y",
       "int64 1000000000000"},
  });
}

TEST(CreateTest, Refusals) {
  check_refusals({
      {"const t i32 [1] = [3]\ny = ConstantOfShape(t)\noutput y", "may not be int32"},
      {"const t i64 [1] = [-1]\ny = ConstantOfShape(t)\noutput y", "negative"},
      {"const t i64 [1] = [2]\ny = ConstantOfShape(t) {value = tensor i64 [2] [1, 2]}\noutput y",
       "one element"},
      {"const t i64 [9] = fill 1\ny = ConstantOfShape(t)\noutput y", "too large"},
      {"const t i64 [2] = fill 4000000000\ny = ConstantOfShape(t)\noutput y", "too large"},
      {"const a i64 [] = [0]\nconst d i64 [] = [0]\ny = Range(a, a, d)\noutput y", "delta is 0"},
      {"const a f32 [] = [0]\nconst d f32 [] = [0]\ny = Range(a, a, d)\noutput y", "no end"},
      {"const a f32 [] = [0]\nconst l f32 [] = [inf]\nconst d f32 [] = [1]\ny = Range(a, l, d)\n"
       "output y",
       "no end"},
      {"const a i64 [] = [0]\nconst d i64 [2] = [1, 1]\ny = Range(a, a, d)\noutput y",
       "one number"},
      {"const a u8 [] = [0]\ny = Range(a, a, a)\noutput y", "may not be uint8"},
      {"const a i64 [] = [-9223372036854775807]\nconst l i64 [] = [9223372036854775807]\n"
       "const d i64 [] = [1]\ny = Range(a, l, d)\noutput y",
       "too large"},
  });
}

}  // namespace
}  // namespace parallax
