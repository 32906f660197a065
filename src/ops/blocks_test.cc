#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(BlocksTest, Shapes) {
  check_rows({
      {"input x f32 [b, 8, h, w]\ny = DepthToSpace(x) {blocksize = 2}\noutput y",
       "float32 bx2x2*hx2*w"},
      {"input x u8 [1, 3, 4, 6]\ny = SpaceToDepth(x) {blocksize = 2, mode = \"CRD\"}\noutput y",
       "uint8 1x12x2x3"},
      {"input x f32 [0, 4, 2, 2]\ny = DepthToSpace(x) {blocksize = 2, mode = \"CRD\"}\noutput y",
       "float32 0x1x4x4"},
      {"input x f32 [b, 8, 5]\nconst i i64 [2] = [1, 9]\nconst k i64 [2] = [1, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "error: Col2Im: 5 does not divide 8 (inputs: float32 bx8x5, int64 2, int64 2)"},
      {"input x f32 [b, 10, 5]\nconst i i64 [2] = [1, 9]\nconst k i64 [2] = [1, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "float32 bx2x1x9"},
      {"input x f32 [b, 10, 5]\ninput i i64 [2]\nconst k i64 [2] = [1, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "float32 bxCol2Im_0.1xCol2Im_0.2xCol2Im_0.3"},
      {"input x f32 [s, b, 3]\ninput n i64 [b]\ny = ReverseSequence(x, n)\noutput y",
       "float32 sxbx3"},
      {"input x bool [b, s]\ninput n i64 [b]\n"
       "y = ReverseSequence(x, n) {batch_axis = 0, time_axis = 1}\noutput y",
       "bool bxs"},
  });
}

TEST(BlocksTest, Refusals) {
  check_refusals({
      {"input x f32 [1, 4, 2, 2]\ny = DepthToSpace(x)\noutput y", "blocksize 0"},
      {"input x f32 [1, 4, 2, 2]\ny = DepthToSpace(x) {blocksize = -2}\noutput y", "blocksize -2"},
      {"input x f32 [1, 4, 2, 2]\ny = DepthToSpace(x) {blocksize = 4294967296}\noutput y",
       "not possible"},
      {"input x f32 [1, 6, 2, 2]\ny = DepthToSpace(x) {blocksize = 2}\noutput y",
       "4 does not divide 6"},
      {"input x f32 [1, 6, 3, 2]\ny = SpaceToDepth(x) {blocksize = 2}\noutput y",
       "2 does not divide 3"},
      {"input x f32 [1, 4, 4]\ny = SpaceToDepth(x) {blocksize = 2}\noutput y", "rank 4"},
      {"input x f32 [1, 4, 2, 2]\ny = DepthToSpace(x) {blocksize = 2, mode = \"RCD\"}\noutput y",
       "'RCD'"},
      {"input x f32 [1, 5, 4]\nconst i i64 [2] = [1, 9]\nconst k i64 [2] = [1, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "number of columns"},
      {"input x f32 [1, 5, 4]\nconst i i64 [2] = [1, 4]\nconst k i64 [2] = [1, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "larger than the image"},
      {"input x f32 [1, 5, 4]\nconst i i64 [2] = [1, 9]\nconst k i64 [2] = [0, 5]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "impossible size"},
      {"input x f32 [1, 5, 4]\nconst i i64 [1] = [9]\nconst k i64 [1] = [5]\n"
       "y = Col2Im(x, i, k) {strides = [0]}\noutput y",
       "strides has an element 0 outside"},
      {"input x f32 [1, 5, 4]\nconst i i64 [1] = [9]\nconst k i64 [2] = [5, 1]\n"
       "y = Col2Im(x, i, k)\noutput y",
       "differ in length"},
      {"input x f32 [3]\ninput n i64 [3]\ny = ReverseSequence(x, n)\noutput y", "rank 2"},
      {"input x f32 [3, 2]\ninput n i64 [3]\ny = ReverseSequence(x, n)\noutput y", "one length"},
      {"input x f32 [3, 2]\ninput n i64 [2]\ny = ReverseSequence(x, n) {time_axis = 1}\noutput y",
       "must be 0 and 1"},
  });
}

}  // namespace
}  // namespace parallax
