#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(ReshapeTest, Shapes) {
  check_rows({
      {"input x f32 [b, s, 12]\nconst t i64 [4] = [0, 0, 3, 4]\ny = Reshape(x, t)\noutput y",
       "float32 bxsx3x4"},
      {"input x f32 [b, s, 12]\nconst t i64 [3] = [0, -1, 4]\ny = Reshape(x, t)\noutput y",
       "float32 bx3*sx4"},
      {"input x f32 [b, s, 12]\nsymbolic t i64 [4] = [b, s, -1, 4]\ny = Reshape(x, t)\noutput y",
       "float32 bxsx3x4"},
      {"input x f32 [b, s, 12]\nconst t i64 [1] = [-1]\ny = Reshape(x, t)\noutput y",
       "float32 12*b*s"},
      {"input x f32 [b, s]\nsymbolic t i64 [2] = [-1, s + b]\ny = Reshape(x, t)\noutput y",
       "float32 floor_div(b*s, b + s)x(b + s)"},
      {"input x f32 [0, 3]\nconst t i64 [2] = [3, 0]\ny = Reshape(x, t) {allowzero = 1}\noutput y",
       "float32 3x0"},
      {"input x f32 [1]\nconst t i64 [0] = []\ny = Reshape(x, t)\noutput y", "float32 scalar"},
      {"input x f32 [b, 4]\ninput t i64 [3]\ny = Reshape(x, t)\noutput y",
       "float32 Reshape_0.0xReshape_0.1xReshape_0.2"},
      {"symbolic x i64 [2] = [b, s]\nconst t i64 [2] = [2, 1]\ny = Reshape(x, t)\noutput y",
       "int64 2x1 = [b, s]"},
  });
}

TEST(ReshapeTest, SqueezeUnsqueezeFlattenIdentity) {
  check_rows({
      {"input x f32 [b, 1]\ninput a i64 [1]\ny = Squeeze(x, a)\nz = Unsqueeze(y, a)\noutput y, z",
       "float32 Squeeze_0.0; float32 Unsqueeze_1.0xUnsqueeze_1.1"},
      {"input x f32 [1, b, 1, 3]\ny = Squeeze(x, _)\noutput y",
       "unsupported: Squeeze: without axes the rank of the result depends on dimension 1 of the "
       "input, which only a run knows (ONNX Runtime decides then; Parallax fixes ranks while "
       "loading): list the axes, or give that dimension a size in the file or in "
       "LoadOptions::inputs (--dim, --shape) "
       "(inputs: float32 1xbx1x3, _)"},
      // Never 1, whatever b is.
      {"input x f32 [1, b, 1]\nconst k f32 [1, 2, 1] = fill 1\nc = Concat(x, k) {axis = 1}\n"
       "y = Squeeze(c)\noutput y",
       "float32 (b + 2)"},
      {"input x f32 [b, 3]\nconst t i64 [3] = [1, -1, 1]\nr = Reshape(x, t)\ny = Squeeze(r)\n"
       "output y",
       "unsupported: Squeeze: without axes the rank of the result depends on dimension 1 of the "
       "input, which only a run knows (ONNX Runtime decides then; Parallax fixes ranks while "
       "loading): list the axes, or give that dimension a size in the file or in "
       "LoadOptions::inputs (--dim, --shape) "
       "(inputs: float32 1x3*bx1)"},
      {"input x f32 [1, 2, 1]\ny = Squeeze(x)\noutput y", "float32 2"},
      {"input x f32 [1, b, 1, 3]\nconst a i64 [2] = [0, -2]\ny = Squeeze(x, a)\noutput y",
       "float32 bx3"},
      {"input x f32 [b, s]\nconst a i64 [1] = [0]\ny = Squeeze(x, a)\noutput y", "float32 s"},
      {"input x f32 [b, s]\nconst a i64 [] = [0]\ny = Squeeze(x, a)\nz = Unsqueeze(y, a)\noutput z",
       "float32 1xs"},
      {"input x f32 [b, 3]\nconst a i64 [2] = [-1, 0]\ny = Unsqueeze(x, a)\noutput y",
       "float32 1xbx3x1"},
      {"symbolic x i64 [] = [b]\nconst a i64 [1] = [0]\ny = Unsqueeze(x, a)\nz = Squeeze(y, a)\n"
       "output y, z",
       "int64 1 = [b]; int64 scalar = [b]"},
      {"input x f32 [b, 3, s]\ny = Flatten(x)\noutput y", "float32 bx3*s"},
      {"input x f32 [b, 3, s]\ny = Flatten(x) {axis = -1}\noutput y", "float32 3*bxs"},
      {"input x f32 [b, 3]\ny = Flatten(x) {axis = 0}\nz = Flatten(x) {axis = 2}\noutput y, z",
       "float32 1x3*b; float32 3*bx1"},
      {"input x f32 []\ny = Flatten(x) {axis = 0}\noutput y", "float32 1x1"},
      {"symbolic x i64 [1] = [b]\ny = Identity(x)\noutput y", "int64 1 = [b]"},
  });
}

TEST(ReshapeTest, Refusals) {
  check_refusals({
      {"input x f32 [2, 3]\nconst t i64 [2] = [4, -1]\ny = Reshape(x, t)\noutput y", "divide"},
      {"input x f32 [2, 3]\nconst t i64 [1] = [5]\ny = Reshape(x, t)\noutput y",
       "another number of elements"},
      {"input x f32 [2, 3]\nconst t i64 [2] = [-1, -1]\ny = Reshape(x, t)\noutput y", "-1 twice"},
      {"input x f32 [2, 3]\nconst t i64 [1] = [-2]\ny = Reshape(x, t)\noutput y", "negative"},
      {"input x f32 [6]\nconst t i64 [2] = [6, 0]\ny = Reshape(x, t)\noutput y", "missing dim"},
      {"input x f32 [0]\nconst t i64 [2] = [0, -1]\ny = Reshape(x, t)\noutput y", "any number"},
      {"input x f32 [6]\nconst t i64 [9] = fill 1\ny = Reshape(x, t)\noutput y", "rank 9"},
      {"input x f32 [6]\ninput t i64 [s]\ny = Reshape(x, t)\noutput y", "rank of the result"},
      {"input x f32 [6]\nconst t i32 [1] = [6]\ny = Reshape(x, t)\noutput y", "may not be int32"},
      {"input x f32 [6]\nconst t i64 [] = [6]\ny = Reshape(x, t)\noutput y", "rank 1"},
      {"input x f32 [2]\nconst t i64 [2] = [9223372036854775807, 3]\ny = Reshape(x, t)\noutput y",
       "Reshape"},
      {"input x f32 [2, 3]\nconst a i64 [1] = [0]\ny = Squeeze(x, a)\noutput y", "axis 0 is not 1"},
      {"input x f32 [2, 3]\nconst a i64 [1] = [2]\ny = Squeeze(x, a)\noutput y", "outside rank"},
      {"input x f32 [2, 3]\ninput a i64 [s]\ny = Squeeze(x, a)\noutput y", "must be known"},
      {"input x f32 [2, 3]\ninput a i64 [3]\ny = Squeeze(x, a)\noutput y", "too many axes"},
      {"input x f32 [2, 3]\ninput a i64 [7]\ny = Unsqueeze(x, a)\noutput y", "too many axes"},
      {"input x f32 [2]\nconst a i64 [2] = [0, -3]\ny = Unsqueeze(x, a)\noutput y", "twice"},
      {"input x f32 [2]\nconst a i64 [8] = fill 0\ny = Unsqueeze(x, a)\noutput y", "rank 9"},
      {"input x f32 [2]\ny = Flatten(x) {axis = 2}\noutput y", "outside rank"},
  });
}

}  // namespace
}  // namespace parallax
