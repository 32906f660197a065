#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ReduceTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3, s]\nconst a i64 [1] = [-1]\ny = ReduceMean(x, a)\noutput y",
       "float32 bx3x1"},
      {"input x f32 [b, 3, s]\nconst a i64 [2] = [0, 2]\ny = ReduceSum(x, a) {keepdims = 0}\n"
       "output y",
       "float32 3"},
      {"input x f32 [b, 3]\ny = ReduceMax(x)\noutput y", "float32 1x1"},
      {"input x f32 [b, 3]\ny = ReduceL2(x) {keepdims = 0}\noutput y", "float32 scalar"},
      {"input x i32 [b, 3]\nconst a i64 [1] = [-1]\ny = ReduceSumSquare(x, a)\noutput y",
       "int32 bx1"},
      {"input x f32 [b, 3]\nconst a i64 [0] = []\ny = ReduceSum(x, a) {noop_with_empty_axes = 1}\n"
       "output y",
       "float32 bx3"},
      {"input x f32 [0, 3]\nconst a i64 [1] = [0]\ny = ReduceSum(x, a)\noutput y", "float32 1x3"},
      {"input x f32 []\ny = ReduceSum(x)\noutput y", "float32 scalar"},
      {"input x bool [b, 3]\nconst a i64 [1] = [1]\ny = ReduceMax(x, a)\noutput y", "bool bx1"},
      {"input x f32 [b, 3]\ninput a i64 [1]\ny = ReduceSum(x, a)\noutput y",
       "float32 ReduceSum_0.0xReduceSum_0.1"},
      {"input x f32 [b, 3]\ninput a i64 [1]\ny = ReduceSum(x, a) {keepdims = 0}\noutput y",
       "float32 ReduceSum_0.0"},
      {"input x f32 [b, 3, s]\ny = ArgMax(x) {axis = -1}\noutput y", "int64 bx3x1"},
      {"input x f32 [b, 3, s]\ny = ArgMax(x) {axis = 1, keepdims = 0, select_last_index = 1}\n"
       "output y",
       "int64 bxs"},
  });
}

TEST(ReduceTest, Content) {
  check_rows({
      {"symbolic x i64 [3] = [s, 4, b]\ny = ReduceSum(x) {keepdims = 0}\noutput y",
       "int64 scalar = [b + s + 4]"},
      {"const x i64 [2, 2] = [1, 9, 3, 4]\nconst a i64 [1] = [0]\ny = ReduceMax(x, a)\noutput y",
       "int64 1x2 = [3, 9]"},
      {"const x i64 [2, 2] = [1, 9, 3, 4]\nconst a i64 [1] = [1]\n"
       "y = ReduceSum(x, a) {keepdims = 0}\noutput y",
       "int64 2 = [10, 7]"},
      {"const x i64 [2] = [3, 4]\ny = ReduceL2(x)\noutput y", "int64 1"},
  });
}

TEST(TopKTest, Shapes) {
  check_rows({
      {"input x f32 [b, s]\nconst k i64 [1] = [5]\nv, i = TopK(x, k)\noutput v, i",
       "float32 bx5; int64 bx5"},
      {"input x i32 [b, 4]\nsymbolic k i64 [1] = [s]\nv, i = TopK(x, k) {axis = 0}\noutput v, i",
       "int32 sx4; int64 sx4"},
      {"input x f32 [b, 9]\ninput k i64 [1]\nv, i = TopK(x, k)\noutput v, i",
       "float32 bxTopK_0.0; int64 bxTopK_0.0"},
      {"input x f32 [9]\nconst k i64 [1] = [0]\n_, i = TopK(x, k) {largest = 0}\noutput i",
       "int64 0"},
  });
}

TEST(ReduceTest, Refusals) {
  check_refusals({
      {"input x u8 [3]\ny = ReduceSum(x)\noutput y", "may not be uint8"},
      {"input x u8 [3]\ny = ReduceSumSquare(x)\noutput y", "may not be uint8"},
      {"input x bool [3]\ny = ReduceMean(x)\noutput y", "may not be bool"},
      {"input x f32 [3]\nconst a i64 [1] = [1]\ny = ReduceSum(x, a)\noutput y",
       "axis 1 is outside rank 1"},
      {"input x f32 [3, 3]\nconst a i64 [2] = [1, -1]\ny = ReduceSum(x, a)\noutput y", "twice"},
      {"input x f32 [3]\nconst a i32 [1] = [0]\ny = ReduceSum(x, a)\noutput y", "may not be int32"},
      {"input x f32 [3]\nconst a i64 [] = [0]\ny = ReduceSum(x, a)\noutput y", "rank 1"},
      {"input x f32 [3]\ny = ReduceSum(x) {keepdims = -1}\noutput y", "0 or 1"},
      {"input x f32 [3]\ninput a i64 [s]\ny = ReduceSum(x, a) {keepdims = 0}\noutput y",
       "number of axes"},
      {"input x f32 [3, 0]\ny = ArgMax(x) {axis = 1}\noutput y", "no elements"},
      {"input x f32 []\ny = ArgMax(x)\noutput y", "outside rank 0"},
      {"input x f32 [3]\nconst k i64 [1] = [4]\ny = TopK(x, k)\noutput y", "more than the axis"},
      {"input x f32 [3]\nconst k i64 [1] = [-1]\ny = TopK(x, k)\noutput y", "negative"},
      {"input x f32 [3]\nconst k i64 [2] = [1, 1]\ny = TopK(x, k)\noutput y", "one number"},
      {"input x bool [3]\nconst k i64 [1] = [1]\ny = TopK(x, k)\noutput y", "may not be bool"},
  });
}

}  // namespace
}  // namespace parallax
