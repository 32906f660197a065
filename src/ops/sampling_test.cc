// MaxUnpool, regions of interest, GridSample, DeformConv and ImageDecoder.
#include "ops/infer_testing.h"

namespace parallax {
namespace {

std::string unpool(std::string_view more) {
  return "input x f32 [1, 2, 3]\ninput i i64 [1, 2, 3]\n" + std::string(more) + "\noutput y";
}

TEST(UnpoolTest, ShapesAndRefusals) {
  EXPECT_EQ(inferred(unpool("y = MaxUnpool(x, i) {kernel_shape = [2], strides = [2]}")),
            "float32 1x2x6");
  EXPECT_EQ(inferred(unpool("const z i64 [3] = [1, 2, 9]\n"
                            "y = MaxUnpool(x, i, z) {kernel_shape = [2], strides = [2]}")),
            "float32 1x2x9");
  EXPECT_EQ(inferred(unpool("input z i64 [3]\ny = MaxUnpool(x, i, z) {kernel_shape = [2]}")),
            "float32 MaxUnpool_0.0xMaxUnpool_0.1xMaxUnpool_0.2");
  const std::vector<std::pair<std::string, std::string>> refusals = {
      {"y = MaxUnpool(x, i)", "kernel_shape must have 1"},
      {"y = MaxUnpool(x, i) {kernel_shape = [2], pads = [9, 9]}", "larger than spatial axis"},
      {"const z i64 [2] = [1, 2]\ny = MaxUnpool(x, i, z) {kernel_shape = [2]}", "2 elements"},
      {"const z i64 [3] = [1, 2, 1]\ny = MaxUnpool(x, i, z) {kernel_shape = [2]}", "too small"},
      {"input j i64 [1, 2, 4]\ny = MaxUnpool(x, j) {kernel_shape = [2]}", "shape of input 0"},
  };
  for (const auto& [text, expected] : refusals) {
    const std::string graph = unpool(text);
    check_refusals({{graph, expected}});
  }
}

TEST(RegionsTest, ShapesAndRefusals) {
  check_rows({
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 5]\n"
       "y = MaxRoiPool(x, r) {pooled_shape = [2, 4]}\noutput y",
       "float32 sx3x2x4"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 4]\ninput b i64 [s]\n"
       "y = RoiAlign(x, r, b) {output_height = 5, output_width = 6}\noutput y",
       "float32 sx3x5x6"},
  });
  check_refusals({
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 4]\n"
       "y = MaxRoiPool(x, r) {pooled_shape = [2, 4]}\noutput y",
       "a region must have 5 numbers"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 5]\ny = MaxRoiPool(x, r)\noutput y",
       "pooled_shape must have 2"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 5]\n"
       "y = MaxRoiPool(x, r) {pooled_shape = [0, 4611686018427387904]}\noutput y",
       "outside"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [s, 4]\ninput b i64 [s]\n"
       "y = RoiAlign(x, r, b) {sampling_ratio = 4611686018427387904}\noutput y",
       "sampling_ratio"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [2, 4]\ninput b i64 [3]\ny = RoiAlign(x, r, b)\n"
       "output y",
       "index of its image"},
      {"input x f32 [1, 3, h, w]\ninput r f32 [2, 4]\ninput b i64 [2]\n"
       "y = RoiAlign(x, r, b) {mode = \"sum\"}\noutput y",
       "'sum'"},
  });
}

TEST(SamplingTest, ShapesAndRefusals) {
  check_rows({
      {"input x f32 [b, 3, h, w]\ninput g f32 [b, 5, 6, 2]\ny = GridSample(x, g)\noutput y",
       "float32 bx3x5x6"},
      {"input x u8 [b, 3, 2, 2, 2]\ninput g f32 [b, 5, 6, 7, 3]\n"
       "y = GridSample(x, g) {mode = \"cubic\"}\noutput y",
       "uint8 bx3x5x6x7"},
      {"input x f32 [b, 4, 5, 5]\nconst w f32 [6, 2, 2, 2] = fill 1\ninput o f32 [b, 16, 4, 4]\n"
       "input m f32 [b, 8, 4, 4]\nconst c f32 [6] = fill 1\n"
       "y = DeformConv(x, w, o, c, m) {group = 2, offset_group = 2}\noutput y",
       "float32 bx6x4x4"},
  });
  check_refusals({
      {"input x f32 [b, 3, h, w]\ninput g f32 [b, 5, 6, 3]\ny = GridSample(x, g)\noutput y",
       "2 coordinates"},
      {"input x f32 [b, 3, h, w]\ninput g f32 [b, 5, 2]\ny = GridSample(x, g)\noutput y",
       "2 coordinates"},
      {"input x f32 [b, 3]\ninput g f32 [b, 0]\ny = GridSample(x, g)\noutput y", "rank 3"},
      {"input x f32 [b, 3, 4, 4]\ninput g f32 [b, 5, 6, 2]\n"
       "y = GridSample(x, g) {padding_mode = \"wrap\"}\noutput y",
       "'wrap'"},
      {"input x f32 [b, 4, 5, 5]\nconst w f32 [6, 4, 2, 2] = fill 1\ninput o f32 [b, 7, 4, 4]\n"
       "y = DeformConv(x, w, o)\noutput y",
       "input 2 does not fit"},
      {"input x f32 [b, 4, 5, 5]\nconst w f32 [6, 4, 2, 2] = fill 1\ninput o f32 [b, 8, 4, 4]\n"
       "y = DeformConv(x, w, o) {offset_group = 3}\noutput y",
       "do not match the channels"},
      {"input x f32 [b, 4, 5, 5]\nconst w f32 [6, 4, 2, 2] = fill 1\ninput o f32 [b, 8, 4, 4]\n"
       "y = DeformConv(x, w, o) {group = 0}\noutput y",
       "positive"},
  });
}

TEST(ImageDecoderTest, ShapesAndRefusals) {
  check_rows({
      {"input x u8 [s]\ny = ImageDecoder(x)\noutput y",
       "uint8 ImageDecoder_0.0xImageDecoder_0.1x3"},
      {"input x u8 [s]\ny = ImageDecoder(x) {pixel_format = \"Grayscale\"}\noutput y",
       "uint8 ImageDecoder_0.0xImageDecoder_0.1x1"},
  });
  check_refusals({
      {"input x f32 [s]\ny = ImageDecoder(x)\noutput y", "may not be float32"},
      {"input x u8 [s, 2]\ny = ImageDecoder(x)\noutput y", "rank 1"},
      {"input x u8 [s]\ny = ImageDecoder(x) {pixel_format = \"CMYK\"}\noutput y", "'CMYK'"},
  });
}

}  // namespace
}  // namespace parallax
