#include "ops/infer_testing.h"

namespace parallax {
namespace {

std::string node(const char* q, const char* k, const char* v, const char* scale, const char* bias,
                 const char* mask) {
  return std::string("input q f32 ") + q + "\ninput k f32 " + k + "\ninput v f32 " + v +
         "\ninput s f32 " + scale + "\ninput p f32 " + bias + "\ninput m " + mask +
         "\ny = CosineAttention(q, k, v, s, p, m) {epsilon = 0.5}\noutput y";
}

TEST(CosineAttentionTest, Shapes) {
  check_rows({
      {node("[b, s, 3, 8]", "[b, w, 3, 8]", "[b, w, 3, 5]", "[3]", "[3, s, w]", "f32 [4, s, w]"),
       "float32 bxsx3x5"},
      {"input q f32 [8, 4, 3, 2]\ninput s f32 [3]\ny = CosineAttention(q, q, q, s)\noutput y",
       "float32 8x4x3x2"},
  });
}

TEST(CosineAttentionTest, Refusals) {
  const auto with = [](const char* k, const char* v, const char* s, const char* p, const char* m) {
    return node("[8, 4, 3, 2]", k, v, s, p, m);
  };
  check_refusals({
      {with("[8, 3, 2]", "[8, 5, 3, 2]", "[3]", "[3, 4, 5]", "f32 [2, 4, 5]"), "rank"},
      {with("[8, 5, 3, 1]", "[8, 5, 3, 2]", "[3]", "[3, 4, 5]", "f32 [2, 4, 5]"), "go together"},
      {with("[8, 5, 3, 2]", "[8, 6, 3, 2]", "[3]", "[3, 4, 5]", "f32 [2, 4, 5]"), "go together"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[1]", "[3, 4, 5]", "f32 [2, 4, 5]"), "per head"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[1, 4, 5]", "f32 [2, 4, 5]"), "bias must be"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[3, 4, 5]", "f32 [4, 5]"), "mask must be"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[3, 4, 5]", "f32 [2, 4, 6]"), "mask must be"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[3, 4, 5]", "f32 [3, 4, 5]"), "divide"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[3, 4, 5]", "f32 [0, 4, 5]"), "divide"},
      {with("[8, 5, 3, 2]", "[8, 5, 3, 7]", "[3]", "[3, 4, 5]", "bool [2, 4, 5]"),
       "may not be bool"},
  });
}

}  // namespace
}  // namespace parallax
