#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(MatMulTest, Shapes) {
  check_rows({
      {"input x f32 [b, s, 8]\ninput y f32 [8, 4]\nz = MatMul(x, y)\noutput z", "float32 bxsx4"},
      {"input x f32 [b, 1, s, 8]\ninput y f32 [3, 8, w]\nz = MatMul(x, y)\noutput z",
       "float32 bx3xsxw"},
      {"input x f32 [b, s, 8]\ninput y f32 [w, 8, 4]\nz = MatMul(x, y)\noutput z",
       "float32 broadcast(b, w)xsx4"},
      {"input x f32 [8]\ninput y f32 [8]\nz = MatMul(x, y)\noutput z", "float32 scalar"},
      {"input x f32 [8]\ninput y f32 [b, 8, 4]\nz = MatMul(x, y)\noutput z", "float32 bx4"},
      {"input x f32 [b, 4, 8]\ninput y f32 [8]\nz = MatMul(x, y)\noutput z", "float32 bx4"},
      {"input x i32 [2, 0]\ninput y i32 [0, 3]\nz = MatMul(x, y)\noutput z", "int32 2x3"},
      {"input x f32 [b, 8]\ninput y f32 [8, 4]\ninput c f32 [4]\n"
       "z = MatMul(x, y, c) then Gelu\noutput z",
       "float32 bx4"},
      {"input x f32 [b, 6, s, 8]\ninput y f32 [w, 6, 8]\n"
       "z = MatMul(x, y) {b_perm = [1, 2, 0]}\noutput z",
       "float32 bx6xsxw"},
      {"input x f32 [8, b]\ninput y f32 [4, 8]\ninput c f32 [1]\n"
       "z = Gemm(x, y, c) {transA = 1, transB = 1, alpha = 0.5}\noutput z",
       "float32 bx4"},
      {"input x f32 [b, 8]\ninput y f32 [8, 4]\ninput c f32 [b, 1]\nz = Gemm(x, y, c)\noutput z",
       "float32 bx4"},
  });
}

TEST(MatMulTest, Refusals) {
  check_refusals({
      {"input x f32 [2, 3]\ninput y f32 [4, 5]\nz = MatMul(x, y)\noutput z", "inner dimensions"},
      {"input x f32 []\ninput y f32 [4, 5]\nz = MatMul(x, y)\noutput z", "scalar"},
      {"input x f32 [2, 3, 4]\ninput y f32 [3, 4, 5]\nz = MatMul(x, y)\noutput z",
       "do not broadcast"},
      {"input x u8 [2, 3]\ninput y u8 [3, 5]\nz = MatMul(x, y)\noutput z", "may not be uint8"},
      {"input x f32 [2, 3]\ninput y f32 [3, 5]\ninput c f32 [4]\nz = MatMul(x, y, c)\noutput z",
       "bias"},
      {"input x i32 [2, 3]\ninput y i32 [3, 5]\nz = MatMul(x, y) then Relu\noutput z",
       "may not be int32"},
      {"input x f32 [2, 3]\ninput y f32 [3, 5]\nz = MatMul(x, y) {b_perm = [1, 0]}\noutput z",
       "inner dimensions"},
      {"input x f32 [2, 3]\ninput y f32 [3, 5]\nz = MatMul(x, y) {b_perm = [0]}\noutput z",
       "is not a permutation"},
      {"input x f32 [2, 3, 4]\ninput y f32 [4, 5]\nz = Gemm(x, y)\noutput z", "rank 2"},
      {"input x f32 [2, 3]\ninput y f32 [3, 5]\ninput c f32 [2, 2]\nz = Gemm(x, y, c)\noutput z",
       "input 2 does not broadcast"},
      {"input x f32 [2, 3]\ninput y f32 [3, 5]\nz = Gemm(x, y) {transA = 3}\noutput z", "0 or 1"},
  });
}

}  // namespace
}  // namespace parallax
