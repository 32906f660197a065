#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(OneHotTest, Shapes) {
  check_rows({
      {"input i i64 [b, 2]\nconst d i64 [] = [5]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "float32 bx2x5"},
      {"input i f32 [b]\nconst d f32 [1] = [3.0]\ninput v u8 [2]\n"
       "y = OneHot(i, d, v) {axis = 0}\noutput y",
       "uint8 3xb"},
      {"input i i64 [b]\nconst d f16 [] = [5.5]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "float32 bx5"},
      {"input i i32 []\nsymbolic d i64 [1] = [s]\ninput v bool [2]\ny = OneHot(i, d, v)\noutput y",
       "bool s"},
      {"input i i32 [2]\ninput d i64 []\ninput v f32 [2]\ny = OneHot(i, d, v) {axis = -2}\noutput "
       "y",
       "float32 OneHot_0.0x2"},
  });
}

TEST(EyeLikeTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\ny = EyeLike(x) {k = -1}\noutput y", "float32 bx3"},
      {"input x bool [2, 3]\ny = EyeLike(x) {dtype = 7}\noutput y", "int64 2x3"},
      {"input x i8 [b, 3, s]\nz = Trilu(x) {upper = 0}\noutput z", "int8 bx3xs"},
      {"input x f32 [0, 3]\ninput k i64 []\nz = Trilu(x, k)\noutput z", "float32 0x3"},
  });
}

TEST(OneHotTest, Refusals) {
  check_refusals({
      {"input i i64 [2]\nconst d i64 [] = [-1]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "depth is negative"},
      {"input i i64 [2]\nconst d f32 [] = [nan]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "depth must be a number"},
      {"input i i64 [2]\nconst d i64 [2] = [1, 2]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "one number"},
      {"input i i64 [2]\nconst d i64 [] = [1]\ninput v f32 [3]\ny = OneHot(i, d, v)\noutput y",
       "what is off and what is on"},
      {"input i i64 [2]\nconst d i64 [] = [1]\ninput v f32 [2]\n"
       "y = OneHot(i, d, v) {axis = 2}\noutput y",
       "outside rank 2"},
      {"input i bool [2]\nconst d i64 [] = [1]\ninput v f32 [2]\ny = OneHot(i, d, v)\noutput y",
       "may not be bool"},
      {"input x f32 [2]\ny = EyeLike(x)\noutput y", "rank 2"},
      {"input x f32 [2, 2]\ny = EyeLike(x) {dtype = 99}\noutput y", "dtype 99"},
      {"input x f32 [2, 2]\ny = EyeLike(x) {dtype = 8}\noutput y", "may not be string"},
      {"input x f32 [2]\ny = Trilu(x)\noutput y", "rank 2 or more"},
      {"input x f32 [2, 2]\ninput k i32 []\ny = Trilu(x, k)\noutput y", "may not be int32"},
  });
}

}  // namespace
}  // namespace parallax
