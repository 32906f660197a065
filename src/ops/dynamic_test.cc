#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(DynamicTest, Shapes) {
  check_rows({
      {"input x bool [b, 3]\ny = NonZero(x)\noutput y", "int64 2xNonZero_0.0"},
      {"input x f32 []\ny = NonZero(x)\noutput y", "int64 0xNonZero_0.0"},
      {"input x f32 [b, s, 4]\ninput c f32 [b, 80, s]\nconst n i64 [1] = [300]\n"
       "const t f32 [] = [0.5]\ny = NonMaxSuppression(x, c, n, t) {center_point_box = 1}\noutput y",
       "int64 NonMaxSuppression_0.0x3"},
      {"input x f32 [b, s, 4]\ninput c f32 [b, 80, s]\ny = NonMaxSuppression(x, c)\noutput y",
       "int64 NonMaxSuppression_0.0x3"},
      // The new size is a symbol like any other.
      {"input x f32 [b, 3]\ni = NonZero(x)\nt = Transpose(i)\ny = GatherND(x, t)\nd = Shape(y)\n"
       "output y, d",
       "float32 NonZero_0.0; int64 1 = [NonZero_0.0]"},
      {"input x u8 [b, 3]\ninput c bool [s]\ny = Compress(x, c) {axis = 1}\nz = Compress(y, c)\n"
       "output y, z",
       "uint8 bxCompress_0.0; uint8 Compress_1.0"},
      {"input x f32 [b, 3]\ny, i, j, n = Unique(x) {axis = -1}\noutput y, i, j, n",
       "float32 bxUnique_0.0; int64 Unique_0.0; int64 Unique_0.1; int64 Unique_0.0"},
      {"input x bool [b, 3]\ny = Unique(x) {sorted = 0}\noutput y", "bool Unique_0.0"},
  });
}

TEST(DynamicTest, Refusals) {
  check_refusals({
      {"input x f32 [3]\ninput c bool [1, 3]\ny = Compress(x, c)\noutput y", "rank 1"},
      {"input x f32 [3]\ninput c i64 [3]\ny = Compress(x, c)\noutput y", "may not be int64"},
      {"input x f32 [3]\ninput c bool [3]\ny = Compress(x, c) {axis = 1}\noutput y",
       "outside rank 1"},
      {"input x f32 [3]\ny = Unique(x) {axis = 1}\noutput y", "outside rank 1"},
      {"input x f32 [3]\ny = Unique(x) {sorted = 2}\noutput y", "0 or 1"},
      {"input x f32 [b, s, 5]\ninput c f32 [b, 80, s]\ny = NonMaxSuppression(x, c)\noutput y",
       "4 coordinates"},
      {"input x f32 [1, s, 4]\ninput c f32 [2, 80, s]\ny = NonMaxSuppression(x, c)\noutput y",
       "do not match"},
      {"input x f32 [s, 4]\ninput c f32 [2, 80, s]\ny = NonMaxSuppression(x, c)\noutput y",
       "rank 3"},
      {"input x f32 [b, s, 4]\ninput c f32 [b, 80, s]\nconst n f32 [1] = [300]\n"
       "y = NonMaxSuppression(x, c, n)\noutput y",
       "may not be float32"},
      {"input x f32 [b, s, 4]\ninput c f32 [b, 80, s]\nconst n i64 [2] = [1, 2]\n"
       "y = NonMaxSuppression(x, c, n)\noutput y",
       "one number"},
  });
}

}  // namespace
}  // namespace parallax
