#include "ops/einsum.h"

#include "ops/infer_testing.h"

namespace parallax {
namespace {

const std::string kPair = "input a f32 [b, 3, 4]\ninput c f32 [b, 4, s]\n";

TEST(EinsumTest, Shapes) {
  const auto pair = [](const char* equation) {
    return kPair + "y = Einsum(a, c) {equation = \"" + equation + "\"}\noutput y";
  };
  const auto one = [](const char* equation) {
    return std::string("input a i64 [b, 3, 3]\ny = Einsum(a) {equation = \"") + equation +
           "\"}\noutput y";
  };
  check_rows({
      {pair("bij,bjk->bik"), "float32 bx3xs"},
      {pair(" b i j , b j k -> k "), "float32 s"},
      {pair("bij, bjk"), "float32 3xs"},
      {pair("...ij,...jk"), "float32 bx3xs"},
      {pair("...ij,...jk->ki..."), "float32 sx3xb"},
      {pair("...,...bc->..."), "float32 bx3x4"},
      {one("...ii->...i"), "int64 bx3"},
      {one("bii"), "int64 b"},
      {one("bij->"), "int64 scalar"},
      {one("Abi"), "int64 bx3x3"},
      {"input x f32 []\ny = Einsum(x, x) {equation = \",\"}\noutput y", "float32 scalar"},
      {"input x f32 [2, 1]\ninput z f32 [3, 4]\ny = Einsum(x, z) {equation = \"ij,jk->ik\"}\n"
       "output y",
       "float32 2x4"},
  });
}

TEST(EinsumTest, Refusals) {
  const auto pair = [](const char* equation) {
    return kPair + "y = Einsum(a, c) {equation = \"" + equation + "\"}\noutput y";
  };
  check_refusals({
      {pair("bij"), "1 terms for 2 inputs"},
      {pair("bij,bjk,b"), "3 terms"},
      {pair("bi,bjk"), "does not name 3 axes"},
      {pair("bijk,bjk"), "does not name 3 axes"},
      {pair("b.ij,bjk"), "not allowed there"},
      {pair("b1j,bjk"), "not allowed there"},
      {pair("......,bjk"), "two ellipses"},
      {pair("bij,bjk->bb"), "twice"},
      {pair("bij,bjk->z"), "no input has"},
      {pair("bij,bjk->b->i"), "not allowed there"},
      {pair("aaaaaaaaaaaa,bjk"), "too many axes"},
      {pair("bij,bik->b"), "broadcast"},
      {kPair + "y = Einsum(a) {equation = \"bii\"}\noutput y", "not square"},
      {kPair + "input n i64 [3]\ny = Einsum(a, n) {equation = \"bij,i\"}\noutput y", "input 1 is"},
      {kPair + "y = Einsum(a, c)\noutput y", "1 terms"},
  });
}

TEST(DetTest, Shapes) {
  check_rows({{"input x f32 [b, 3, 3]\ny = Det(x)\noutput y", "float32 b"},
              {"input x f32 [0, 0]\ny = Det(x)\noutput y", "float32 scalar"}});
  check_refusals({{"input x f32 [3]\ny = Det(x)\noutput y", "square"},
                  {"input x f32 [b, 3, 4]\ny = Det(x)\noutput y", "square"},
                  {"input x i64 [3, 3]\ny = Det(x)\noutput y", "may not be"}});
}

}  // namespace
}  // namespace parallax
