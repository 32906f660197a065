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
  });
}

TEST(DynamicTest, Refusals) {
  check_refusals({
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
