#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(InferQuantised, GivesTheTypesThatScalesAndZeroPointsSay) {
  check_rows({
      {"input x f32 [b, 4]\nconst s f32 [] = [0.5]\ny = QuantizeLinear(x, s)\noutput y",
       "uint8 bx4"},
      {"input x f32 [b, 4]\nconst s f32 [] = [0.5]\nconst z i8 [] = [1]\n"
       "y = QuantizeLinear(x, s, z)\noutput y",
       "int8 bx4"},
      {"input x u8 [b, 2]\nconst s f32 [2] = [0.5, 1.0]\ny = DequantizeLinear(x, s)\noutput y",
       "float32 bx2"},
      {"input x u8 [b, 5]\ninput s f32 [b, 3]\n"
       "y = DequantizeLinear(x, s) {block_size = 2}\noutput y",
       "float32 bx5"},
      {"input x f32 [b, 4]\ny, s, z = DynamicQuantizeLinear(x)\noutput y, s, z",
       "uint8 bx4; float32 scalar; uint8 scalar"},
      {"input a u8 [b, 4]\ninput w i8 [4, s]\ny = MatMulInteger(a, w)\noutput y", "int32 bxs"},
      // A run tells that the vector holds one number.
      {"input a u8 [s]\ninput w i8 [s]\ninput z u8 [h]\ny = MatMulInteger(a, w, z)\noutput y",
       "int32 scalar"},
      {"input a u8 [b, 4]\ninput w i8 [4, 3]\ninput z u8 [b, h]\n"
       "y = MatMulInteger(a, w, z)\noutput y",
       "int32 bx3"},
      {"input x u8 [b, 2, 4, 4]\ninput w i8 [3, 2, 3, 3]\ny = ConvInteger(x, w)\noutput y",
       "int32 bx3x2x2"},
      {"input a u8 [b, 4]\ninput w i8 [4, 3]\ninput s f32 []\ninput c f32 [3]\n"
       "y = MatMulInteger(a, w, _, _, s, c)\noutput y",
       "float32 bx3"},
  });
}

TEST(InferQuantised, RefusesWhatDoesNotFit) {
  check_refusals({
      {"input x f32 [b, 4]\ny = QuantizeLinear(x)\noutput y", "scale"},
      {"input x u8 [b, 4]\nconst s f32 [] = [0.5]\ny = QuantizeLinear(x, s)\noutput y", "uint8"},
      {"input x f32 [b, 4]\nconst s f32 [3] = [1.0, 1.0, 1.0]\ny = QuantizeLinear(x, s)\noutput y",
       "axis"},
      {"input x f32 [b, 4]\nconst s f32 [4] = [1.0, 1.0, 1.0, 1.0]\n"
       "y = QuantizeLinear(x, s) {axis = 2}\noutput y",
       "outside rank"},
      {"input x f32 [b, 4]\nconst s f32 [] = [0.5]\n"
       "y = QuantizeLinear(x, s) {output_dtype = 1}\noutput y",
       "output_dtype"},
      {"input x u8 [b, 4]\ninput s f32 [b, 3]\n"
       "y = DequantizeLinear(x, s) {block_size = 2}\noutput y",
       "blocks of 2"},
      {"input x u8 [b, 4]\ninput s f32 [b, 4]\n"
       "y = DequantizeLinear(x, s) {block_size = -1}\noutput y",
       "block_size"},
      {"input x u8 [b, 4]\ninput s f32 []\ninput z i8 []\ny = DequantizeLinear(x, s, z)\noutput y",
       "input 2"},
      {"input a u8 [b, 4]\ninput w i8 [5, 3]\ny = MatMulInteger(a, w)\noutput y", "inner"},
      {"input a u8 [b, 4]\ninput w i8 [4, 3]\ninput z u8 [7, 2]\n"
       "y = MatMulInteger(a, w, z)\noutput y",
       "does not fit"},
      {"input a f32 [b, 4]\ninput w i8 [4, 3]\ny = MatMulInteger(a, w)\noutput y", "float32"},
      {"input a u8 [b, 4]\ninput w i8 [4, 3]\ninput s f32 []\n"
       "y = MatMulInteger(a, w, _, _, s)\noutput y",
       "scale is missing"},
      {"input x u8 [b, 2, 4, 4]\ninput w i8 [3, 2, 3, 3]\ninput z i8 [2]\n"
       "y = ConvInteger(x, w, _, z)\noutput y",
       "one per filter"},
  });
}

}  // namespace
}  // namespace parallax
