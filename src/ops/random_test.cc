#include "ops/infer_testing.h"

namespace parallax {
namespace {

TEST(RandomTest, Shapes) {
  check_rows({
      {"y = RandomUniform() {shape = [2, 0]}\nz = RandomNormal() {shape = [], seed = 1.0}\n"
       "output y, z",
       "float32 2x0; float32 scalar"},
      {"input x i64 [b, 2]\ny = RandomNormalLike(x) {dtype = 1}\noutput y", "float32 bx2"},
      {"input x f32 [b]\ny = RandomUniformLike(x) {low = -1.0}\noutput y", "float32 b"},
      {"input x f32 [b]\ny = Bernoulli(x) {dtype = 9}\nz = Bernoulli(x)\noutput y, z",
       "bool b; float32 b"},
      {"input x f32 [b, 4]\ny = Multinomial(x) {sample_size = 3}\noutput y", "int32 bx3"},
      {"input x f32 [b]\ninput r f32 []\ninput t bool []\ny, m = Dropout(x, r, t) {seed = 0}\n"
       "output y, m",
       "float32 b; bool b"},
  });
}

TEST(RandomTest, Refusals) {
  check_refusals({
      {"y = RandomUniform()\noutput y", "shape is missing"},
      {"y = RandomUniform() {shape = [-1]}\noutput y", "negative dimension"},
      {"y = RandomNormal() {shape = [4611686018427387904, 4]}\noutput y", "too large"},
      {"y = RandomNormal() {shape = [2], dtype = 7}\noutput y", "may not be int64"},
      {"input x i64 [b]\ny = RandomNormalLike(x)\noutput y", "may not be int64"},
      {"input x i64 [b]\ny = Bernoulli(x)\noutput y", "may not be int64"},
      {"input x f32 [b]\ny = Multinomial(x)\noutput y", "rank 2"},
      {"input x f32 [b, 4]\ny = Multinomial(x) {sample_size = 0}\noutput y", "sample_size 0"},
      {"input x f32 [b, 4]\ny = Multinomial(x) {dtype = 1}\noutput y", "may not be float32"},
      {"input x f32 [b, 0]\ny = Multinomial(x)\noutput y", "there is no class to choose"},
      {"input x f32 [b]\ninput r f32 [2]\ny = Dropout(x, r)\noutput y", "one number"},
  });
}

}  // namespace
}  // namespace parallax
