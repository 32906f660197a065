#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(TransposeTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3, s]\ny = Transpose(x)\noutput y", "float32 sx3xb"},
      {"input x f32 [b, 3, s]\ny = Transpose(x) {perm = [0, 2, 1]}\noutput y", "float32 bxsx3"},
      {"input x f32 []\ny = Transpose(x)\noutput y", "float32 scalar"},
      {"const x i64 [2, 3] = [1, 2, 3, 4, 5, 6]\ny = Transpose(x)\noutput y",
       "int64 3x2 = [1, 4, 2, 5, 3, 6]"},
  });
}

TEST(ConcatTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\ninput y f32 [b, s]\nz = Concat(x, y) {axis = -1}\noutput z",
       "float32 bx(s + 3)"},
      {"input x f32 [b, 3]\ninput y f32 [2, 0]\nz = Concat(x, y) {axis = 1}\noutput z",
       "float32 2x3"},
      {"symbolic x i64 [1] = [b]\nconst y i64 [2] = [3, -1]\nz = Concat(x, y) {axis = 0}\noutput z",
       "int64 3 = [b, 3, -1]"},
      {"const x i64 [2, 1] = [1, 2]\nconst y i64 [2, 2] = [3, 4, 5, 6]\n"
       "z = Concat(x, y) {axis = 1}\noutput z",
       "int64 2x3 = [1, 3, 4, 2, 5, 6]"},
      {"const x i64 [0, 2] = []\nz = Concat(x, x) {axis = 1}\noutput z", "int64 0x4 = []"},
  });
}

TEST(ExpandTest, Shapes) {
  check_rows({
      {"input x f32 [3, 1]\nconst t i64 [3] = [2, 1, 6]\ny = Expand(x, t)\noutput y",
       "float32 2x3x6"},
      {"input x f32 [b, 1]\nsymbolic t i64 [2] = [1, s]\ny = Expand(x, t)\noutput y",
       "float32 bxs"},
      {"input x f32 [1]\nconst t i64 [1] = [0]\ny = Expand(x, t)\noutput y", "float32 0"},
      {"input x f32 [b, 4, 1]\ninput t i64 [2]\ny = Expand(x, t)\noutput y",
       "float32 bx4xExpand_0.0"},
      {"symbolic x i64 [1] = [s]\nconst t i64 [2] = [2, 2]\ny = Expand(x, t)\noutput y",
       "int64 2x2 = [s, s, s, s]"},
  });
}

TEST(TileTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\nconst r i64 [2] = [2, 3]\ny = Tile(x, r)\noutput y", "float32 2*bx9"},
      {"input x f32 [b, 3]\ninput r i64 [2]\ny = Tile(x, r)\noutput y",
       "float32 Tile_0.0xTile_0.1"},
      {"input x f32 [3]\nconst r i64 [1] = [0]\ny = Tile(x, r)\noutput y", "float32 0"},
      {"symbolic x i64 [2] = [s, 1]\nconst r i64 [1] = [2]\ny = Tile(x, r)\noutput y",
       "int64 4 = [s, 1, s, 1]"},
      {"const x i64 [0] = []\nconst r i64 [1] = [2]\ny = Tile(x, r)\noutput y", "int64 0 = []"},
  });
}

TEST(PadTest, Shapes) {
  check_rows({
      {"input x f32 [b, 3]\nconst p i64 [4] = [0, 1, 0, 2]\ny = Pad(x, p)\noutput y",
       "float32 bx6"},
      {"input x f32 [b, 3]\nconst p i64 [2] = [1, 1]\nconst v f32 [] = [0]\nconst a i64 [1] = "
       "[-2]\n"
       "y = Pad(x, p, v, a)\noutput y",
       "float32 (b + 2)x3"},
      {"input x f32 [5]\nconst p i64 [2] = [-1, -2]\ny = Pad(x, p)\noutput y", "float32 2"},
      {"input x f32 [5]\nconst p i64 [2] = [4, 4]\ny = Pad(x, p) {mode = \"reflect\"}\noutput y",
       "float32 13"},
      {"input x f32 [s]\nconst p i64 [2] = [1, 2]\ny = Pad(x, p) {mode = \"wrap\"}\noutput y",
       "float32 (s + 3)"},
      {"input x f32 [1]\nconst p i64 [2] = [4, 4]\ny = Pad(x, p) {mode = \"edge\"}\noutput y",
       "float32 9"},
      {"input x f32 [0]\nconst p i64 [2] = [4, 4]\ny = Pad(x, p)\noutput y", "float32 8"},
      {"input x f32 [s]\nsymbolic p i64 [2] = [0, 8 - s]\ny = Pad(x, p)\noutput y", "float32 8"},
      {"input x f32 [s, 2]\ninput p i64 [4]\ny = Pad(x, p)\noutput y", "float32 Pad_0.0xPad_0.1"},
  });
}

TEST(LayoutTest, Refusals) {
  check_refusals({
      {"input x f32 [2, 3]\ny = Transpose(x) {perm = [0, 0]}\noutput y", "twice"},
      {"input x f32 [2, 3]\ny = Transpose(x) {perm = [0]}\noutput y", "permutation"},
      {"input x f32 [2, 3]\ny = Transpose(x) {perm = [0, -1]}\noutput y", "permutation"},
      {"input x f32 [2, 3]\ny = Transpose(x) {perm = [0, 2]}\noutput y", "outside rank"},
      {"input x f32 [2]\ny = Concat(x)\noutput y", "axis is missing"},
      {"input x f32 [2]\ninput y f32 [2, 2]\nz = Concat(x, y) {axis = 0}\noutput z", "rank"},
      {"input x f32 [2, 3]\ninput y f32 [2, 4]\nz = Concat(x, y) {axis = 0}\noutput z", "axis 1"},
      {"input x f32 [2]\ninput y i64 [2]\nz = Concat(x, y) {axis = 0}\noutput z", "is int64"},
      {"input x f32 []\nz = Concat(x) {axis = 0}\noutput z", "outside rank 0"},
      {"input x f32 [2]\nconst t i64 [1] = [3]\ny = Expand(x, t)\noutput y", "do not broadcast"},
      {"input x f32 [2]\nconst t i64 [1] = [-1]\ny = Expand(x, t)\noutput y", "negative"},
      {"input x f32 [2]\ninput t i64 [s]\ny = Expand(x, t)\noutput y", "rank of the result"},
      {"input x f32 [1]\nconst t i64 [9] = fill 1\ny = Expand(x, t)\noutput y", "too large"},
      {"input x f32 [2]\nconst r i64 [2] = [1, 1]\ny = Tile(x, r)\noutput y", "per axis"},
      {"input x f32 [2]\nconst r i64 [1] = [-1]\ny = Tile(x, r)\noutput y", "negative"},
      {"input x f32 [2]\nconst r i64 [1] = [9223372036854775807]\ny = Tile(x, r)\noutput y",
       "too large"},
      {"input x f32 [2]\nconst p i64 [3] = [0, 0, 0]\ny = Pad(x, p)\noutput y", "3 pads"},
      {"input x f32 [2]\nconst p i64 [2] = [-1, -2]\ny = Pad(x, p)\noutput y", "remove more"},
      {"input x f32 [2]\nconst p i64 [2] = [2, 0]\ny = Pad(x, p) {mode = \"reflect\"}\noutput y",
       "smaller than the axis"},
      {"input x f32 [0]\nconst p i64 [2] = [1, 0]\ny = Pad(x, p) {mode = \"edge\"}\noutput y",
       "no edge"},
      {"input x f32 [0]\nconst p i64 [2] = [1, 0]\ny = Pad(x, p) {mode = \"wrap\"}\noutput y",
       "no edge"},
      {"input x f32 [2]\nconst p i64 [2] = [9223372036854775807, 0]\ny = Pad(x, p)\noutput y",
       "too large"},
      {"input x f32 [2]\nconst p i64 [2] = [1, 0]\nconst v i64 [] = [0]\ny = Pad(x, p, v)\noutput "
       "y",
       "input 2 is int64"},
  });
}

}  // namespace
}  // namespace parallax
