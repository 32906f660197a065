#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(GatherTest, Shapes) {
  check_rows({
      {"input x f32 [100, 8]\ninput i i64 [b, s]\ny = Gather(x, i)\noutput y", "float32 bxsx8"},
      {"input x f32 [b, 9, 8]\nconst i i32 [] = [0]\ny = Gather(x, i) {axis = 1}\noutput y",
       "float32 bx8"},
      {"input x f32 [b, 9]\nconst i i64 [0] = []\ny = Gather(x, i) {axis = -1}\noutput y",
       "float32 bx0"},
      {"symbolic x i64 [3] = [b, 3, s]\nconst i i64 [] = [-1]\ny = Gather(x, i)\noutput y",
       "int64 scalar = [s]"},
      {"symbolic x i64 [3] = [b, 3, s]\nconst i i64 [2] = [2, 0]\ny = Gather(x, i)\noutput y",
       "int64 2 = [s, b]"},
      {"const x i64 [2, 3] = [1, 2, 3, 4, 5, 6]\nconst i i64 [1, 2] = [0, 2]\n"
       "y = Gather(x, i) {axis = 1}\noutput y",
       "int64 2x1x2 = [1, 3, 4, 6]"},
      // Out of range: what the kernel will report, not what inference may invent.
      {"symbolic x i64 [3] = [b, 3, s]\nconst i i64 [] = [3]\ny = Gather(x, i)\noutput y",
       "int64 scalar"},
  });
}

TEST(GatherNDTest, Shapes) {
  check_rows({
      {"input x f32 [b, s, 8]\ninput i i64 [h, 2]\ny = GatherND(x, i)\noutput y", "float32 hx8"},
      {"input x f32 [b, s, 8]\ninput i i64 [h, 3]\ny = GatherND(x, i)\noutput y", "float32 h"},
      {"input x f32 [b, s, 8]\ninput i i64 [2, h, 1]\ny = GatherND(x, i) {batch_dims = 1}\noutput "
       "y",
       "float32 2xhx8"},
      {"input x f32 [4]\ninput i i64 [1]\ny = GatherND(x, i)\noutput y", "float32 scalar"},
  });
}

TEST(ScatterNDTest, Shapes) {
  check_rows({
      {"input x f32 [b, 8]\ninput i i64 [h, 1]\ninput u f32 [h, 8]\ny = ScatterND(x, i, u)\noutput "
       "y",
       "float32 bx8"},
      {"input x bool [b, 8]\ninput i i64 [3, 2]\ninput u bool [3]\ny = ScatterND(x, i, u)\noutput "
       "y",
       "bool bx8"},
  });
}

TEST(GatherTest, Refusals) {
  check_refusals({
      {"input x f32 []\ninput i i64 [2]\ny = Gather(x, i)\noutput y", "outside rank 0"},
      {"input x f32 [2]\ninput i f32 [2]\ny = Gather(x, i)\noutput y", "may not be float32"},
      {"input x f32 [2, 2, 2, 2, 2]\ninput i i64 [2, 2, 2, 2, 2]\ny = Gather(x, i)\noutput y",
       "rank 9"},
      {"input x f32 [2]\ninput i i32 [2, 1]\ny = GatherND(x, i)\noutput y", "may not be int32"},
      {"input x f32 [2]\ninput i i64 [2, 2]\ny = GatherND(x, i)\noutput y", "index of 2"},
      {"input x f32 [2]\ninput i i64 [2, s]\ny = GatherND(x, i)\noutput y", "must be known"},
      {"input x f32 [2]\ninput i i64 [2, 1]\ny = GatherND(x, i) {batch_dims = 1}\noutput y",
       "batch_dims 1"},
      {"input x f32 [3, 2]\ninput i i64 [2, 1]\ny = GatherND(x, i) {batch_dims = 1}\noutput y",
       "batch axis 0"},
      {"input x f32 [3, 2]\ninput i i64 [2, 1]\ninput u f32 [2, 3]\ny = ScatterND(x, i, u)\n"
       "output y",
       "updates"},
      {"input x f32 [3]\ninput i i64 [2, 1]\ninput u f32 [2]\n"
       "y = ScatterND(x, i, u) {reduction = \"div\"}\noutput y",
       "'div'"},
      {"input x f32 [3]\ninput i i64 [2, 1]\ninput u i64 [2]\ny = ScatterND(x, i, u)\noutput y",
       "input 2 is int64"},
  });
}

}  // namespace
}  // namespace parallax
