#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ResizeTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3, 4, 5]\nconst k f32 [4] = [1, 1, 2, 2.5]\ny = Resize(x, _, k)\noutput y",
       "float32 bx3x8x12"},
      {"input x f32 [b, 3, h, w]\nconst k f32 [4] = [1, 1, 2, 0.5]\ny = Resize(x, _, k)\noutput y",
       "float32 bx3x2*hxfloor_div(w, 2)"},
      {"input x f32 [b, 3, h]\nconst k f32 [3] = [1, 1, 1.3]\ny = Resize(x, _, k)\noutput y",
       "float32 bx3xResize_0.0"},
      {"input x f32 [b, 3, 4, 5]\nsymbolic z i64 [4] = [b, 3, h, 7]\nconst n f32 [0] = []\n"
       "y = Resize(x, n, n, z) {mode = \"linear\"}\noutput y",
       "float32 bx3xhx7"},
      {"input x f32 [b, 3, 4, 5]\nconst z i64 [2] = [8, 9]\n"
       "y = Resize(x, _, _, z) {axes = [2, -1]}\noutput y",
       "float32 bx3x8x9"},
      {"input x u8 [b, 4, 5, 3]\nconst k f32 [4] = [1, 1, 2, 3]\n"
       "y = Resize(x, _, k) {layout = \"NHWC\"}\noutput y",
       "uint8 bx8x15x3"},
      {"input x f32 [b, 3, 4, 5]\nconst z i64 [2] = [8, 5]\n"
       "y = Resize(x, _, _, z) {axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\"}\noutput "
       "y",
       "float32 bx3x4x5"},
      {"input x f32 [2, 3]\nconst z i64 [2] = [7, 8]\n"
       "y = Resize(x, _, _, z) {keep_aspect_ratio_policy = \"not_smaller\", mode = \"cubic\"}\n"
       "output y",
       "float32 7x11"},
      {"input x f32 [s]\nconst z i64 [1] = [7]\n"
       "y = Resize(x, _, _, z) {keep_aspect_ratio_policy = \"not_larger\"}\noutput y",
       "float32 Resize_0.0"},
      {"input x f32 [1, 5]\nconst r f32 [4] = [0, 0.2, 1, 0.8]\nconst k f32 [2] = [1, 2]\n"
       "y = Resize(x, r, k) {coordinate_transformation_mode = \"tf_crop_and_resize\"}\noutput y",
       "float32 1x6"},
      {"input x f32 [b, 3, 4]\ninput k f32 [3]\ny = Resize(x, _, k)\noutput y",
       "float32 Resize_0.0xResize_0.1xResize_0.2"},
  });
}

TEST(ResizeTest, Refusals) {
  check_refusals({
      {"input x f32 [4]\nconst k f32 [1] = [2]\ny = Resize(x, _, k) {mode = \"area\"}\noutput y",
       "'area'"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\n"
       "y = Resize(x, _, k) {coordinate_transformation_mode = \"tf_crop_and_resize\"}\noutput y",
       "needs a region"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\nconst r f32 [3] = [0, 1, 1]\n"
       "y = Resize(x, r, k) {coordinate_transformation_mode = \"tf_crop_and_resize\"}\noutput y",
       "3 numbers for 1 axes"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\nconst r f32 [2] = [1, 0]\n"
       "y = Resize(x, r, k) {coordinate_transformation_mode = \"tf_crop_and_resize\"}\noutput y",
       "gives no size"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\nconst r f32 [2] = [nan, inf]\n"
       "y = Resize(x, r, k) {coordinate_transformation_mode = \"tf_crop_and_resize\"}\noutput y",
       "gives no size"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\n"
       "y = Resize(x, _, k) {keep_aspect_ratio_policy = \"none\"}\noutput y",
       "'none'"},
      {"input x f32 [0]\nconst z i64 [1] = [2]\n"
       "y = Resize(x, _, _, z) {keep_aspect_ratio_policy = \"not_larger\"}\noutput y",
       "has no ratio"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\ny = Resize(x, _, k) {antialias = 2}\noutput y",
       "antialias"},
      {"input x f32 [4]\ny = Resize(x)\noutput y", "exactly one"},
      {"input x f32 [4]\nconst k f32 [1] = [2]\nconst z i64 [1] = [2]\ny = Resize(x, _, k, z)\n"
       "output y",
       "exactly one"},
      {"input x f32 [4]\nconst k f32 [2] = [2, 2]\ny = Resize(x, _, k)\noutput y", "2 numbers"},
      {"input x f32 [4]\nconst k f32 [1] = [0]\ny = Resize(x, _, k)\noutput y", "positive"},
      {"input x f32 [4]\nconst k f32 [1] = [nan]\ny = Resize(x, _, k)\noutput y", "positive"},
      {"input x f32 [4]\nconst k f32 [1] = [inf]\ny = Resize(x, _, k)\noutput y", "positive"},
      {"input x f32 [4]\nconst k f32 [1] = [3e38]\ny = Resize(x, _, k)\noutput y", "too large"},
      {"input x f32 [4]\nconst z i64 [1] = [-1]\ny = Resize(x, _, _, z)\noutput y", "negative"},
      {"input x f32 [0]\nconst z i64 [1] = [2]\ny = Resize(x, _, _, z)\noutput y", "cannot grow"},
      {"input x f32 [4]\nconst z i64 [1] = [2]\ny = Resize(x, _, _, z) {axes = [1]}\noutput y",
       "outside rank"},
      {"input x bool [4]\nconst z i64 [1] = [2]\ny = Resize(x, _, _, z) {mode = \"linear\"}\n"
       "output y",
       "may not be bool"},
      {"input x f32 []\nconst z i64 [0] = []\ny = Resize(x, _, _, z)\noutput y", "scalar"},
  });
}

}  // namespace
}  // namespace parallax
