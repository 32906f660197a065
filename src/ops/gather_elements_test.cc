#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(GatherElementsTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\ninput i i32 [2, 2]\ny = GatherElements(x, i) {axis = -1}\noutput y",
       "float32 2x2"},
      {"input x bool [3]\ninput i i64 [s]\ny = GatherElements(x, i)\noutput y", "bool s"},
      {"input x f32 [b, 3]\ninput i i64 [0, 3]\ninput u f32 [0, 3]\n"
       "y = ScatterElements(x, i, u) {reduction = \"max\"}\noutput y",
       "float32 bx3"},
      {"input x bool [3]\ninput i i64 [2]\ninput u bool [2]\n"
       "y = ScatterElements(x, i, u) {reduction = \"add\"}\noutput y",
       "bool 3"},
      {"input x f32 [b, 2, 9, 4]\ninput u f32 [b, 2, 1, 4]\ninput i i64 [b]\n"
       "y = TensorScatter(x, u, i) {mode = \"circular\"}\noutput y",
       "float32 bx2x9x4"},
      {"input x u8 [1, 9, 4]\ninput u u8 [1, s, 4]\ny = TensorScatter(x, u)\noutput y",
       "uint8 1x9x4"},
  });
}

TEST(GatherElementsTest, Refusals) {
  check_refusals({
      {"input x f32 [2, 3]\ninput i i64 [3]\ny = GatherElements(x, i)\noutput y", "differ in rank"},
      {"input x f32 [2, 3]\ninput i i64 [5, 4]\ny = GatherElements(x, i)\noutput y",
       "more indices than elements on axis 1"},
      {"input x f32 [2, 3]\ninput i f32 [2, 3]\ny = GatherElements(x, i)\noutput y",
       "may not be float32"},
      {"input x f32 []\ninput i i64 []\ny = GatherElements(x, i)\noutput y", "outside rank 0"},
      {"input x f32 [3]\ninput i i64 [2]\ninput u f32 [3]\ny = ScatterElements(x, i, u)\noutput y",
       "differ in shape"},
      {"input x f32 [3]\ninput i i64 [2]\ninput u i64 [2]\ny = ScatterElements(x, i, u)\noutput y",
       "input 2 is int64"},
      {"input x f32 [3]\ninput i i64 [2]\ninput u f32 [2]\n"
       "y = ScatterElements(x, i, u) {reduction = \"mean\"}\noutput y",
       "'mean'"},
      {"input x f32 [2, 3]\ninput u f32 [2, 3]\ny = TensorScatter(x, u)\noutput y",
       "axis 0 is that of the samples"},
      {"input x f32 [2, 3, 4]\ninput u f32 [2, 5, 4]\ny = TensorScatter(x, u)\noutput y",
       "does not fit on axis 1"},
      {"input x f32 [2, 3, 4]\ninput u f32 [2, 1, 4]\ninput i i64 [3]\n"
       "y = TensorScatter(x, u, i)\noutput y",
       "one index for each sample"},
  });
}

}  // namespace
}  // namespace parallax
