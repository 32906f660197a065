#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(CumulativeTest, ShapesAndContent) {
  check_rows({
      {"input x f32 [b, 3]\nconst a i64 [] = [-1]\ny = CumSum(x, a)\noutput y", "float32 bx3"},
      {"input x i32 [b, 3]\ninput a i32 [1]\ny = CumProd(x, a) {reverse = 1}\noutput y",
       "int32 bx3"},
      {"symbolic x i64 [3] = [s, 2, 3]\nconst a i64 [] = [0]\ny = CumSum(x, a)\n"
       "z = CumSum(x, a) {exclusive = 1, reverse = 1}\nv = CumProd(x, a) {exclusive = 1}\n"
       "output y, z, v",
       "int64 3 = [s, s + 2, s + 5]; int64 3 = [5, 3, 0]; int64 3 = [1, s, 2*s]"},
      {"input x f32 [b, s]\ny = LogSoftmax(x)\nz = Hardmax(y) {axis = 0}\noutput z", "float32 bxs"},
  });
}

TEST(CumulativeTest, Refusals) {
  check_refusals({
      {"input x f32 [2]\nconst a i64 [] = [1]\ny = CumSum(x, a)\noutput y", "outside rank 1"},
      {"input x f32 [2]\nconst a i64 [2] = [0, 0]\ny = CumSum(x, a)\noutput y", "one number"},
      {"input x f32 [2]\ninput a f32 []\ny = CumSum(x, a)\noutput y", "may not be float32"},
      {"input x u8 [2]\ninput a i64 []\ny = CumProd(x, a)\noutput y", "may not be uint8"},
      {"input x f32 [2]\ninput a i64 []\ny = CumSum(x, a) {reverse = 3}\noutput y", "0 or 1"},
      {"input x i64 [2]\ny = LogSoftmax(x)\noutput y", "may not be int64"},
      {"input x f32 [2]\ny = Hardmax(x) {axis = 1}\noutput y", "outside rank 1"},
  });
}

}  // namespace
}  // namespace parallax
