#include <gtest/gtest.h>

#include <string>

#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// Returns the operators after the pass, in order; "error" if it fails.
std::string expanded_operators(const std::string& text) {
  auto graph = parse_graph("symbols b s\n" + text);
  if (!graph || !infer_graph(*graph)) return "error";
  const Shape before = graph->values[graph->outputs[0]].shape;
  if (!expand_einsum(*graph, {}) || !verify(*graph, Stage::kSimplify)) return "error";
  const Shape& after = graph->values[graph->outputs[0]].shape;
  std::string operators = before == after ? "" : "another shape: ";
  for (const Node& node : graph->nodes) operators += std::string(to_string(node.op)) + " ";
  return operators;
}

std::string einsum_of(const char* a, const char* c, const char* equation) {
  return std::string("input a f32 ") + a + "\ninput c f32 " + c +
         "\ny = Einsum(a, c) {equation = \"" + equation + "\"}\noutput y";
}

TEST(ExpandEinsum, ProductsBecomeMatMul) {
  struct Case {
    const char *a, *c, *equation, *operators;
  };
  const Case cases[] = {
      {"[3, 4]", "[4, 5]", "ij,jk", "MatMul "},
      {"[b, 3, 4]", "[b, 4, s]", "bij,bjk->bik", "MatMul "},
      {"[b, s, 2, 8]", "[b, 7, 2, 8]", "bihd,bjhd->bhij", "Transpose Transpose MatMul "},
      {"[b, 2, s, 7]", "[b, 7, 2, 8]", "bhij,bjhd->bihd", "Transpose MatMul Transpose "},
      {"[b, s, 6]", "[6, 2, 8]", "bld,dhk->blhk", "Reshape MatMul Reshape "},
      {"[b, s, 2, 8]", "[2, 8, 6]", "blhk,hkd->bld", "Reshape Reshape MatMul "},
      {"[b, 6]", "[b, 6]", "bi,bi->b", "Reshape Reshape MatMul Reshape "},
      {"[0, 6]", "[6, 0]", "ij,jk->ki", "MatMul Transpose "},
      {"[b, 6]", "[b, 6]", "bi,bi->bi", "Einsum "},
      {"[b, 6]", "[b, 6]", "bi,bj->b", "Einsum "},
      {"[b, 1]", "[6, 3]", "bi,ij->bj", "Einsum "},
      {"[6, 6]", "[6, 3]", "ii,ij->j", "Einsum "},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(expanded_operators(einsum_of(c.a, c.c, c.equation)), c.operators) << c.equation;
  }
}

}  // namespace
}  // namespace parallax
