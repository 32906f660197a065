#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(NormalizationTest, Shapes) {
  check_rows({
      {"input x f32 [b, s]\ny = Softmax(x)\noutput y", "float32 bxs"},
      {"input x f32 [b, s, 8]\ny = LpNormalization(x) {axis = -2, p = 1}\noutput y",
       "float32 bxsx8"},
      {"input x f32 [b, s, 8]\nconst w f32 [8] = fill 1\n"
       "y, m, d = LayerNormalization(x, w) {axis = -1, epsilon = 0.1}\noutput y, m, d",
       "float32 bxsx8; float32 bxsx1; float32 bxsx1"},
      {"input x f32 [b, 4, 8]\nconst w f32 [4, 8] = fill 1\n"
       "y, m = LayerNormalization(x, w, w) {axis = 1}\noutput y, m",
       "float32 bx4x8; float32 bx1x1"},
      {"input x f32 [b, 4, 8]\nconst w f32 [4, 8] = fill 1\n"
       "y = RMSNormalization(x, w) {axis = 1, epsilon = 0.1}\noutput y",
       "float32 bx4x8"},
      {"input x f32 [b, 4, h, w]\nconst p f32 [4] = fill 1\n"
       "y = BatchNormalization(x, p, p, p, p) {momentum = 0.5}\noutput y",
       "float32 bx4xhxw"},
      {"input x f32 [b, 4, h]\nconst p f32 [4] = fill 1\n"
       "y, m, v = BatchNormalization(x, p, p, p, p) {training_mode = 1}\noutput y, m, v",
       "float32 bx4xh; float32 4; float32 4"},
      {"input x f32 [b, 4, h]\nconst p f32 [4] = fill 1\ny = InstanceNormalization(x, p, "
       "p)\noutput y",
       "float32 bx4xh"},
      {"input x f32 [b, 4, h]\nconst p f32 [4] = fill 1\n"
       "y = GroupNormalization(x, p, p) {num_groups = 2}\noutput y",
       "float32 bx4xh"},
      {"input x f32 [b, 4, h]\nconst p f32 [2] = fill 1\n"
       "y = GroupNormalization(x, p, p) {num_groups = 2}\noutput y",
       "float32 bx4xh"},
      {"input x f32 [b, 4]\ny = LRN(x) {size = 3}\noutput y", "float32 bx4"},
  });
}

TEST(NormalizationTest, Refusals) {
  check_refusals({
      {"input x f32 [b, 4]\ny = LRN(x)\noutput y", "size must be positive, is 0"},
      {"input x f32 [4]\ny = LRN(x) {size = 1}\noutput y", "channel axis"},
      {"input x f32 [b, 4]\nconst p f32 [4] = fill 1\ny = InstanceNormalization(x, p, p)\noutput y",
       "rank 3 or more"},
      {"input x f32 [b, 4, h]\nconst p f32 [3] = fill 1\ny = InstanceNormalization(x, p, p)\n"
       "output y",
       "one element per channel"},
      {"input x f32 [b, 4, h]\nconst p f32 [4] = fill 1\n"
       "y = GroupNormalization(x, p, p) {num_groups = 3}\noutput y",
       "not a multiple of num_groups 3"},
      {"input x f32 [b, 4, h]\nconst p f32 [4] = fill 1\ny = GroupNormalization(x, p, p)\noutput y",
       "num_groups 0 is not positive"},
      {"input x i64 [3]\ny = Softmax(x)\noutput y", "may not be int64"},
      {"input x f32 [3]\ny = Softmax(x) {axis = 1}\noutput y", "axis 1 is outside rank 1"},
      {"input x f32 []\ny = Softmax(x)\noutput y", "outside rank 0"},
      {"input x i32 [3]\ny = LpNormalization(x)\noutput y", "may not be int32"},
      {"input x f32 [3]\ny = LpNormalization(x) {axis = -2}\noutput y", "outside rank 1"},
      {"input x f32 [3]\ny = LpNormalization(x) {p = 3}\noutput y", "p must be 1 or 2, is 3"},
      {"input x f32 [b, 8]\nconst w f32 [7] = fill 1\ny = LayerNormalization(x, w)\noutput y",
       "does not broadcast"},
      {"input x f32 [8]\nconst w f32 [1, 8] = fill 1\ny = LayerNormalization(x, w)\noutput y",
       "too many axes"},
      {"input x f32 [b, 8]\nconst w f32 [7] = fill 1\ny = RMSNormalization(x, w)\noutput y",
       "does not broadcast"},
      {"input x f32 [8]\nconst w f32 [8] = fill 1\ny = RMSNormalization(x, w) {axis = 1}\noutput y",
       "outside rank 1"},
      {"input x f32 [8]\nconst w f32 [8] = fill 1\n"
       "y = LayerNormalization(x, w) {stash_type = 10}\noutput y",
       "stash_type"},
      {"input x f32 [b, 4]\nconst p f32 [3] = fill 1\ny = BatchNormalization(x, p, p, p, p)\n"
       "output y",
       "one element per channel"},
      {"input x f32 [b, 4]\nconst p f32 [4] = fill 1\n"
       "y, m, v = BatchNormalization(x, p, p, p, p)\noutput y, m",
       "only training"},
  });
}

}  // namespace
}  // namespace parallax
