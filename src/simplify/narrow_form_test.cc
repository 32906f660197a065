#include "simplify/narrow_form.h"

#include <gtest/gtest.h>

#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

struct FormCase {
  const char* node;
  bool is_half;
  std::vector<float> units;
};

TEST(NarrowForm, OfNodesOfConstants) {
  const std::string constants =
      "const h f16 [2, 3] = fill 0.5\nconst b bf16 [2, 3] = fill 0.5\nconst i i8 [2, 3] = fill 5\n"
      "const u u8 [2, 3] = fill 5\nconst s f32 [] = [0.25]\nconst rows f32 [2] = [0.25, 0.5]\n"
      "const columns f32 [3] = [0.25, 0.5, 1]\nconst iz i8 [] = [0]\nconst iy i8 [] = [1]\n"
      "const uz u8 [] = [128]\nconst uy u8 [] = [127]\nconst rz i8 [2] = [0, 0]\n"
      "const ry i8 [2] = [0, 3]\n";
  const std::vector<FormCase> cases = {
      {"Cast(h) {to = 1}", true, {}},
      {"Cast(b) {to = 1}", false, {}},
      {"DequantizeLinear(i, s)", false, {0.25F}},
      {"DequantizeLinear(i, s, iz)", false, {0.25F}},
      {"DequantizeLinear(i, s, iy)", false, {}},
      {"DequantizeLinear(u, s, uz)", false, {0.25F}},
      {"DequantizeLinear(u, s, uy)", false, {}},
      {"DequantizeLinear(u, s)", false, {}},
      {"DequantizeLinear(i, rows, rz) {axis = 0}", false, {0.25F, 0.5F}},
      {"DequantizeLinear(i, rows, rz) {axis = -2}", false, {0.25F, 0.5F}},
      {"DequantizeLinear(i, rows, ry) {axis = 0}", false, {}},
      {"DequantizeLinear(i, columns) {axis = 1}", false, {}},
  };
  for (const FormCase& c : cases) {
    const Graph graph = graph_of(constants + "y = " + c.node + "\noutput y");
    const NarrowForm form = narrow_form(graph, graph.nodes[NodeId{0}]);
    EXPECT_EQ(form.is_half, c.is_half) << c.node;
    EXPECT_EQ(form.units == nullptr ? std::vector<float>() : *form.units, c.units) << c.node;
  }
}

TEST(NarrowForm, OfTransposes) {
  for (const std::size_t count : {1U, 2U}) {
    for (const char* perm : {"[0, 2, 1]", "[1, 0, 2]"}) {
      Graph graph =
          graph_of(std::string("const x f32 [2, 2, 2] = fill 0.5\ny = Transpose(x) {perm = ") +
                   perm + "}\noutput y");
      const Node& node = graph.nodes[NodeId{0}];
      Constant& x = *graph.values[node.inputs[0]].constant;
      x.is_half = true;
      x.units = std::make_shared<const std::vector<float>>(count, 0.5F);
      const NarrowForm form = narrow_form(graph, node);
      EXPECT_TRUE(form.is_half);
      EXPECT_EQ(form.units != nullptr, count == 1 || perm[1] == '0');
    }
  }
}

}  // namespace
}  // namespace parallax
