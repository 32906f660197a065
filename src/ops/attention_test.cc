#include "ops/infer_testing.h"

namespace parallax {
namespace {

const std::string kQuery = "input q f32 [b, 6, s, 8]\n";

TEST(AttentionTest, Shapes) {
  check_rows({
      {kQuery + "input k f32 [b, 6, 8, w]\ninput v f32 [b, 6, w, 5]\n"
                "y = FusedAttention(q, k, v) {scale = 0.5}\noutput y",
       "float32 bx6xsx5"},
      {kQuery + "input k f32 [8, w]\ninput v f32 [6, w, 5]\ninput m f32 [b, 1, 1, w]\n"
                "y = FusedAttention(q, k, v, m)\noutput y",
       "float32 bx6xsx5"},
      {"input q f32 [b, s, 8]\ninput k f32 [h, 8, w]\ninput v f32 [w, 5]\n"
       "y = FusedAttention(q, k, v)\noutput y",
       "float32 broadcast(b, h)xsx5"},
      {"input q f32 [s, 8]\ninput k f32 [8, 0]\ninput v f32 [2, 0, 5]\n"
       "y = FusedAttention(q, k, v)\noutput y",
       "float32 2xsx5"},
      {kQuery + "input k f32 [b, 6, 8, w]\ninput v f32 [b, 6, w, 5]\ninput c bool [b, 1, s, w]\n"
                "y = FusedAttention(q, k, v, _, c) {fill = -1.0, fill_where = 0, fill_last = 1}\n"
                "output y",
       "float32 bx6xsx5"},
      {kQuery + "input k f32 [b, 2, 8, w]\ninput v f32 [1, 2, w, 5]\ninput m f32 [6, 1, w]\n"
                "y = FusedAttention(q, k, v, m) {group = 3}\noutput y",
       "float32 bx6xsx5"},
      {"input q f32 [b, s, 6, 8]\ninput k f32 [b, w, 6, 8]\ninput v f32 [b, w, 6, 5]\n"
       "y = FusedAttention(q, k, v) {q_perm = [0, 2, 1, 3], k_perm = [0, 2, 3, 1], "
       "v_perm = [0, 2, 1, -1], y_perm = [0, 2, 1, 3]}\noutput y",
       "float32 bxsx6x5"},
  });
}

TEST(AttentionTest, Refusals) {
  const auto attention = [](const char* k, const char* v, const char* mask,
                            const std::string& attributes = "") {
    return "input q f32 [2, 6, 3, 8]\ninput k f32 " + std::string(k) + "\ninput v f32 " + v +
           "\ninput m " + mask + "\ny = FusedAttention(q, k, v, m)" + attributes + "\noutput y";
  };
  check_refusals({
      {attention("[8]", "[4, 5]", "f32 [4]"), "must be matrices"},
      {attention("[7, 4]", "[4, 5]", "f32 [4]"), "inner dimensions"},
      {attention("[8, 4]", "[5, 5]", "f32 [4]"), "inner dimensions"},
      {attention("[5, 8, 4]", "[4, 5]", "f32 [4]"), "broadcast"},
      {attention("[8, 4]", "[4, 5]", "f32 [5]"), "mask does not broadcast"},
      {attention("[8, 4]", "[4, 5]", "f32 [1, 2, 6, 3, 4]"), "more axes"},
      {attention("[8, 4]", "[4, 5]", "bool [4]"), "may not be bool"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {v_perm = [0, 2, 1]}"), "is not a permutation"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {k_perm = [0, 0]}"), "twice"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {k_perm = [1, 0]}"), "inner dimensions"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {group = 2}"), "no axis of heads"},
      {attention("[3, 8, 4]", "[3, 4, 5]", "f32 [4]", " {group = 3}"), "another number of heads"},
      {attention("[3, 8, 4]", "[3, 4, 5]", "f32 [4]", " {group = 0}"), "no axis of heads"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {group = -1}"), "no axis of heads"},
      {attention("[8, 4]", "[4, 5]", "f32 [4]", " {y_perm = [1, 0]}"), "is not a permutation"},
  });
}

}  // namespace
}  // namespace parallax
