#include "ops/scaled_attention.h"

#include "ops/infer_testing.h"

namespace parallax {
namespace {

const std::string kHeads =
    "input q f32 [b, 6, s, 8]\ninput k f32 [b, 2, w, 8]\ninput v f32 [b, 2, w, 5]\n";

TEST(ScaledAttentionTest, Shapes) {
  check_rows({
      {kHeads + "y = Attention(q, k, v)\noutput y", "float32 bx6xsx5"},
      {kHeads + "input m bool [s, 3]\ninput pk f32 [b, 2, h, 8]\ninput pv f32 [b, 2, h, 5]\n"
                "y, ok, ov, qk = Attention(q, k, v, _, pk, pv) {is_causal = 1}\n"
                "output y\noutput ok\noutput ov\noutput qk",
       "float32 bx6xsx5; float32 bx2x(h + w)x8; float32 bx2x(h + w)x5; "
       "float32 bx6xsx(h + w)"},
      {"input q f32 [b, s, 24]\ninput k f32 [b, w, 16]\ninput v f32 [b, w, 10]\n"
       "input n i64 [b]\ny = Attention(q, k, v, _, _, _, n) {q_num_heads = 3, kv_num_heads = 2}\n"
       "output y",
       "error: Attention: heads of queries are not a multiple of those of keys (inputs: float32 "
       "bxsx24, float32 bxwx16, float32 bxwx10, _, _, _, int64 b)"},
      {"input q f32 [b, s, 32]\ninput k f32 [b, w, 16]\ninput v f32 [b, w, 10]\n"
       "input n i64 [b]\ny = Attention(q, k, v, _, _, _, n) {q_num_heads = 4, kv_num_heads = 2}\n"
       "output y",
       "float32 bxsx20"},
  });
}

TEST(ScaledAttentionTest, Refusals) {
  const auto attention = [](const std::string& inputs, const std::string& attributes = "") {
    return kHeads +
           "input m f32 [s, w]\ninput n i64 [b]\ninput p f32 [b, 2, 3, 8]\n"
           "input l f32 [2, 2, 2, 2, 2]\ny = Attention(" +
           inputs + ") {" + attributes + "}\noutput y";
  };
  check_refusals({
      {attention("q, k, q", "scale = 1.0"), "differ in number"},
      {attention("q, v, v", "scale = 1.0"), "do not go together"},
      {attention("q, k, v, l", "scale = 1.0"), "1 to 4 axes"},
      {attention("q, k, v, _, p", "scale = 1.0"), "must come together"},
      {attention("q, k, v, _, p, p", "scale = 1.0"), "past keys and values do not go"},
      {attention("q, k, v, _, _, _, m", "scale = 1.0"), "may not be"},
      {attention("q, k, m", "scale = 1.0"), "rank 3 or 4"},
      {attention("q, k, v", "is_causal = 2"), "is_causal"},
      {attention("q, k, v", "softcap = -1.0"), "softcap"},
      {attention("q, k, v", "left_window_size = -2"), "left_window_size"},
      {attention("q, k, v", "qk_matmul_output_mode = 4"), "qk_matmul_output_mode"},
      {attention("q, k, v", "softmax_precision = 7"), "softmax_precision"},
      {attention("q, k, v", "q_num_heads = 5"), "another number of heads"},
      {attention("q, k, v", "kv_num_heads = -9223372036854775808"), "kv_num_heads"},
      {"input q f32 [b, s, 24]\ny = Attention(q, q, q)\noutput y", "heads is missing"},
      {"input q f32 [b, s, 25]\ny = Attention(q, q, q) {q_num_heads = 2, kv_num_heads = 2}\n"
       "output y",
       "no whole number"},
  });
}

TEST(RotaryEmbeddingTest, Shapes) {
  const std::string x =
      "input x f32 [b, 3, s, 8]\ninput c f32 [7, 4]\ninput p i64 [b, s]\n"
      "input f f32 [b, s, 4]\ninput g f32 [b, s, 2]\n";
  check_rows({
      {x + "y = RotaryEmbedding(x, c, c, p)\noutput y", "float32 bx3xsx8"},
      {x + "y = RotaryEmbedding(x, f, f)\noutput y", "float32 bx3xsx8"},
      {x + "y = RotaryEmbedding(x, g, g) {rotary_embedding_dim = 4}\noutput y", "float32 bx3xsx8"},
      {"input x f32 [b, s, 24]\ninput f f32 [b, s, 4]\n"
       "y = RotaryEmbedding(x, f, f) {num_heads = 3, interleaved = 1}\noutput y",
       "float32 bxsx24"},
  });
  check_refusals({
      {x + "y = RotaryEmbedding(x, g, g)\noutput y", "half as wide"},
      {x + "y = RotaryEmbedding(x, c, c)\noutput y", "rank 3"},
      {x + "y = RotaryEmbedding(x, f, f, p)\noutput y", "rank 2"},
      {x + "y = RotaryEmbedding(x, f, f) {rotary_embedding_dim = 10}\noutput y", "cannot turn"},
      {x + "y = RotaryEmbedding(x, f, f) {rotary_embedding_dim = 3}\noutput y", "cannot turn"},
      {x + "y = RotaryEmbedding(x, f, f) {interleaved = 2}\noutput y", "interleaved"},
      {"input x f32 [b, s, 24]\ninput f f32 [b, s, 4]\ny = RotaryEmbedding(x, f, f)\noutput y",
       "heads is missing"},
      {"input x f32 [b, s, 24]\ninput f f32 [b, s, 4]\n"
       "y = RotaryEmbedding(x, f, f) {num_heads = 5}\noutput y",
       "no whole number"},
  });
}

}  // namespace
}  // namespace parallax
