#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(LinearAttentionTest, Shapes) {
  const std::string x =
      "input q f32 [b, s, 12]\ninput k f32 [b, s, 6]\ninput v f32 [b, s, 10]\n"
      "input p f32 [b, 2, 3, 5]\ninput g f32 [b, s, 2]\n";
  const auto linear = [&](const std::string& inputs, const std::string& rest) {
    return x + "y, n = LinearAttention(" + inputs + ") {" + rest + "}\noutput y\noutput n";
  };
  const std::string heads = "q_num_heads = 4, kv_num_heads = 2";
  const std::string plain = heads + ", update_rule = \"linear\"";
  check_rows({
      {linear("q, k, v, p, g, g", heads), "float32 bxsx20; float32 bx2x3x5"},
      {linear("q, k, v, p, k", heads + ", update_rule = \"gated\""),
       "float32 bxsx20; float32 bx2x3x5"},
      {linear("q, k, v", plain), "float32 bxsx20; float32 bx2x3x5"},
  });
  check_refusals({
      {linear("q, k, v", heads), "decay"},
      {linear("q, k, v, _, g", heads), "beta"},
      {linear("q, k, v, _, g, g", plain), "decay"},
      {linear("q, k, v, _, v, g", heads), "input 4"},
      {linear("q, v, v", plain), "input 1"},
      {linear("q, k, v, g", plain), "rank 4"},
      {linear("q, k, v", "q_num_heads = 4, kv_num_heads = 3"), "multiple"},
      {linear("q, k, v", "q_num_heads = 0, kv_num_heads = 0"), "multiple"},
      {linear("q, k, v", "q_num_heads = 5, kv_num_heads = 5, update_rule = \"linear\""), "whole"},
      {linear("q, k, v", heads + ", update_rule = \"other\""), "update_rule"},
  });
}

TEST(CausalConvWithStateTest, Shapes) {
  const std::string x =
      "input x f32 [b, 3, s]\ninput w f32 [3, 1, 4]\ninput c f32 [3]\n"
      "input p f32 [b, 3, 3]\n";
  const auto conv = [&](const std::string& inputs, const std::string& rest = "") {
    return x + "y, n = CausalConvWithState(" + inputs + ")" + rest + "\noutput y\noutput n";
  };
  check_rows({{conv("x, w, c, p", " {activation = \"silu\"}"), "float32 bx3xs; float32 bx3x3"},
              {conv("x, w"), "float32 bx3xs; float32 bx3x3"}});
  check_refusals({{conv("x, x"), "one filter"},
                  {conv("x, w, p"), "rank 1"},
                  {conv("x, w, _, w"), "past state"},
                  {conv("x, w", " {activation = \"relu\"}"), "activation"},
                  {"input x f32 [1, 3, 2]\ninput w f32 [3, 1, 0]\n"
                   "y = CausalConvWithState(x, w)\noutput y",
                   "taps"}});
}

}  // namespace
}  // namespace parallax
