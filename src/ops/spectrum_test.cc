#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(SpectrumTest, Dft) {
  const std::string x = "input x f32 [b, s, 1]\n";
  check_rows({
      {x + "y = DFT(x)\noutput y", "float32 bxsx2"},
      {x + "const n i64 [] = [7]\ny = DFT(x, n) {onesided = 1}\noutput y", "float32 bx4x2"},
      {x + "const a i64 [] = [0]\ny = DFT(x, _, a) {onesided = 1}\noutput y",
       "float32 (floor_div(b, 2) + 1)xsx2"},
      {"input x f32 [b, 5, 2]\ny = DFT(x) {onesided = 1, inverse = 1}\noutput y", "float32 bx8x1"},
      {"input x f32 [b, 5, 2]\nconst n i32 [] = [9]\n"
       "y = DFT(x, n) {onesided = 1, inverse = 1}\noutput y",
       "float32 bx9x1"},
      {"input x f32 [0, 5, 2]\ny = DFT(x) {inverse = 1}\noutput y", "float32 0x5x2"},
  });
  const auto with = [&](const char* statement) { return x + statement + "\noutput y"; };
  check_refusals({
      {with("const a i64 [] = [-1]\ny = DFT(x, _, a)"), "axis -1"},
      {with("const a i64 [] = [2]\ny = DFT(x, _, a)"), "axis 2"},
      {with("const a i64 [] = [-9223372036854775808]\ny = DFT(x, _, a)"), "axis"},
      {with("const n i64 [] = [0]\ny = DFT(x, n)"), "at least 1"},
      {with("const n i64 [] = [-9223372036854775808]\ny = DFT(x, n)"), "at least 1"},
      {"input x f32 [2, 4, 1]\nconst n i64 [] = [9223372036854775807]\ny = DFT(x, n)\noutput y",
       "large"},
      {with("const n i64 [2] = [1, 2]\ny = DFT(x, n)"), "one number"},
      {with("y = DFT(x) {onesided = 1, inverse = 1}"), "must be complex"},
      {with("y = DFT(x) {inverse = 2}"), "inverse must be"},
      {"input x f32 [b, 3]\ny = DFT(x)\noutput y", "1 or 2"},
      {"input x f32 [2]\ny = DFT(x)\noutput y", "rank 2"},
      {"input x f32 [b, 1, 2]\ny = DFT(x) {onesided = 1, inverse = 1}\noutput y", "at least 1"},
      {"input x i32 [b, 4, 2]\ny = DFT(x)\noutput y", "may not be"},
  });
}

TEST(SpectrumTest, Stft) {
  const std::string x = "input x f32 [b, 16, 1]\ninput w f32 [8]\n";
  check_rows({
      {x + "const t i64 [] = [4]\ny = STFT(x, t, w)\noutput y", "float32 bx3x5x2"},
      {x + "const t i64 [] = [5]\nconst n i64 [] = [8]\ny = STFT(x, t, w, n) {onesided = 0}\n"
           "output y",
       "float32 bx2x8x2"},
      {x + "const t i32 [] = [5]\ny = STFT(x, t)\noutput y", "float32 bx1x9x2"},
  });
  check_refusals({
      {x + "const t i64 [] = [0]\ny = STFT(x, t, w)\noutput y", "a step"},
      {x + "const t i64 [] = [4]\nconst n i64 [] = [7]\ny = STFT(x, t, w, n)\noutput y", "window"},
      {x + "const t i64 [] = [4]\nconst n i64 [] = [17]\ny = STFT(x, t, _, n)\noutput y",
       "beyond a frame"},
      {x + "const t i64 [] = [4]\nconst n i64 [] = [0]\ny = STFT(x, t, _, n)\noutput y", "a frame"},
      {"input x f32 [b, 16, 2]\nconst t i64 [] = [4]\ny = STFT(x, t)\noutput y", "real signal"},
      {"input x f32 [16, 1]\nconst t i64 [] = [4]\ny = STFT(x, t)\noutput y", "rank 3"},
  });
}

TEST(SpectrumTest, MelWeightMatrix) {
  const auto mel = [](const char* bands, const char* length, const char* attributes = "") {
    return std::string("const b i64 [] = [") + bands + "]\nconst n i64 [] = [" + length +
           "]\nconst r i64 [] = [8192]\nconst l f32 [] = [0.0]\nconst u f32 [] = [4000.0]\n"
           "y = MelWeightMatrix(b, n, r, l, u)" +
           attributes + "\noutput y";
  };
  check_rows(
      {{mel("8", "16"), "float32 9x8"}, {mel("0", "17", " {output_datatype = 6}"), "int32 9x0"}});
  check_refusals({{mel("-1", "16"), "bands"},
                  {mel("8", "-2"), "length"},
                  {mel("4611686018427387904", "16"), "large"},
                  {mel("8", "16", " {output_datatype = 8}"), "not a type of numbers"}});
}

}  // namespace
}  // namespace parallax
