// Tests the passes for movements and sums: each fires when it should, refuses when it must, and
// moves the same elements as the nodes before it.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "ir/text/text.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/patterns.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

/// Runs the pass, and expects a valid graph with the same output shapes.
int run(Result<int> (*pass)(Graph&, const PassContext&), Graph& graph) {
  std::vector<Shape> shapes;
  for (const ValueId output : graph.outputs) shapes.push_back(graph.values[output].shape);
  const std::string before = print(graph);
  const Result<int> changes = pass(graph, {});
  EXPECT_TRUE(changes) << changes.error().to_string();
  EXPECT_EQ(changes.value_or(-1) > 0, print(graph) != before);
  const Status valid = verify(graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string();
  const Status inferred = infer_graph(graph);
  EXPECT_TRUE(inferred) << inferred.error().to_string();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_EQ(graph.values[graph.outputs[i]].shape, shapes[i]);
  return changes.value_or(-1);
}

/// Returns the indices of the only Gather, and the number of elements for each.
std::vector<std::int64_t> indices_of(const Graph& graph, std::int64_t& run_length) {
  for (const Node& node : graph.nodes) {
    if (node.op != OpKind::kGather) continue;
    run_length = *graph.values[node.outputs[0]].shape[1].constant();
    return *integers(*graph.values[node.inputs[1]].constant);
  }
  return {};
}

const std::string kImage =
    "input x f32 [1, 4, 6, 16]\nconst zero i64 [1] = [0]\nconst one i64 [1] = [1]\n"
    "const two i64 [1] = [2]\nconst three i64 [1] = [3]\nconst far i64 [1] = [99]\n";
const std::string kRoll =
    "a = Slice(x, one, far, one)\nb = Slice(x, zero, one, one)\nr = Concat(a, b) {axis = 1}\n";

TEST(ComposeMovement, RollsAndCutsIntoWindowsInOnePass) {
  Graph graph =
      graph_of(kImage + kRoll +
               "const six i64 [6] = [1, 2, 2, 3, 2, 16]\nconst flat i64 [3] = [6, 4, 16]\n"
               "s = Reshape(r, six)\nt = Transpose(s) {perm = [0, 1, 3, 2, 4, 5]}\n"
               "w = Reshape(t, flat)\ny = Relu(w)\noutput y");
  EXPECT_EQ(run(compose_movement, graph), 1);
  EXPECT_EQ(operators_of(graph), "Reshape Gather Reshape Relu");
  std::int64_t length = 0;
  const std::vector<std::int64_t> indices = indices_of(graph, length);
  EXPECT_EQ(length, 32);  // two pixels that are adjacent in a window
  // Windows of 2 x 2 of the rows 1 2 3 0, in pairs of pixels: three pairs a row.
  EXPECT_EQ(indices, (std::vector<std::int64_t>{3, 6, 4, 7, 5, 8, 9, 0, 10, 1, 11, 2}));
}

TEST(ComposeMovement, MergesPatches) {
  Graph graph = graph_of(kImage +
                         "a = Slice(x, zero, far, one, two)\nb = Slice(x, one, far, one, two)\n"
                         "c = Slice(a, zero, far, two, two)\nd = Slice(b, one, far, two, two)\n"
                         "m = Concat(c, d) {axis = 3}\ny = Relu(m)\noutput y");
  EXPECT_EQ(run(compose_movement, graph), 1);
  EXPECT_EQ(operators_of(graph), "Reshape Gather Reshape Relu");
  std::int64_t length = 0;
  EXPECT_EQ(indices_of(graph, length),
            (std::vector<std::int64_t>{0, 7, 2, 9, 4, 11, 12, 19, 14, 21, 16, 23}));
  EXPECT_EQ(length, 16);
}

TEST(ComposeMovement, MovementsThatUndoEachOtherAreViews) {
  Graph graph = graph_of(kImage +
                         "t = Transpose(x) {perm = [0, 2, 1, 3]}\n"
                         "u = Transpose(t) {perm = [0, 2, 1, 3]}\ny = Relu(u)\noutput y");
  EXPECT_EQ(run(compose_movement, graph), 1);
  EXPECT_EQ(operators_of(graph), "Reshape Relu");
}

TEST(ComposeMovement, TakesPartsOfASplit) {
  Graph graph = graph_of(
      "input x f32 [2, 3, 4, 16]\nt = Transpose(x) {perm = [1, 0, 2, 3]}\n"
      "a, b, c = Split(t) {axis = 0, num_outputs = 3}\n"
      "d = Transpose(b) {perm = [2, 0, 1, 3]}\ny = Relu(d)\noutput y");
  EXPECT_EQ(run(compose_movement, graph), 1);
  EXPECT_EQ(operators_of(graph), "Reshape Gather Reshape Relu");
  std::int64_t length = 0;
  EXPECT_EQ(indices_of(graph, length), (std::vector<std::int64_t>{4, 16, 5, 17, 6, 18, 7, 19}));
}

TEST(ComposeMovement, Refuses) {
  const std::string sum = "y = Relu(r)\noutput y";
  for (const std::string& text : {
           // One copy.
           kImage + "r = Transpose(x) {perm = [0, 2, 1, 3]}\n" + sum,
           // Elements one by one.
           kImage +
               "t = Transpose(x) {perm = [0, 1, 3, 2]}\n"
               "r = Transpose(t) {perm = [0, 3, 1, 2]}\n" +
               sum,
           // Two sources.
           kImage +
               "input z f32 [1, 3, 6, 16]\na = Slice(x, one, far, one)\n"
               "b = Slice(z, zero, one, one)\nr = Concat(a, b) {axis = 1}\n" +
               sum,
           // One run: the result of a slice of a slice is contiguous.
           kImage + "a = Slice(x, one, far, one)\nr = Slice(a, one, far, one)\n" + sum,
           // Sizes that are not known.
           "symbols s\ninput x f32 [s, 4, 6, 16]\nconst one i64 [1] = [1]\n"
           "const zero i64 [1] = [0]\nconst far i64 [1] = [99]\n" +
               kRoll + sum,
       }) {
    Graph graph = graph_of(text);
    const std::string before = operators_of(graph);
    EXPECT_EQ(run(compose_movement, graph), 0) << text;
    EXPECT_EQ(operators_of(graph), before);
  }
}

TEST(ComposeMovement, ManyCopiesOfCopiesEndSoon) {
  std::string text = "input x f32 [1, 16]\na0 = Transpose(x) {perm = [0, 1]}\n";
  for (int i = 0; i < 14; ++i)
    text += "a" + std::to_string(i + 1) + " = Concat(a" + std::to_string(i) + ", a" +
            std::to_string(i) + ") {axis = 0}\n";
  Graph graph = graph_of(text + "y = Relu(a14)\noutput y");
  EXPECT_EQ(run(compose_movement, graph), 1);
  EXPECT_EQ(operators_of(graph), "Reshape Gather Reshape Relu");
}

const std::string kNorm =
    "input x f32 [4, 8]\ninput r f32 [4, 8]\ninput s f32 [4, 1]\nconst w f32 [8] = fill 2\n"
    "const b f32 [8] = fill 3\nn = LayerNormalization(x, w, b) {epsilon = 0.5}\n";

TEST(FuseNormResidual, Fires) {
  for (const char* sum : {"y = Add(r, n)\noutput y", "y = Add(n, r)\noutput y"}) {
    Graph graph = graph_of(kNorm + sum);
    EXPECT_EQ(run(fuse_norm_residual, graph), 1);
    ASSERT_EQ(operators_of(graph), "LayerNormalization");
    const Node& node = graph.nodes[NodeId{0}];
    EXPECT_EQ(graph.values[node.inputs.at(3)].name, "r");
    EXPECT_EQ(node.attributes.get_float("epsilon", 0), 0.5F);
  }
  Graph graph = graph_of(
      "input x f32 [4, 8]\nconst w f32 [8] = fill 2\n"
      "n = LayerNormalization(x, w)\ny = Add(x, n)\noutput y");
  EXPECT_EQ(run(fuse_norm_residual, graph), 1);
  EXPECT_FALSE(graph.nodes[NodeId{0}].inputs.at(2).valid());
}

TEST(FuseNormResidual, Refuses) {
  for (const std::string& text :
       {kNorm + "y = Add(n, s)\noutput y", kNorm + "y = Add(n, r)\noutput y, n",
        kNorm + "y = Add(n, r)\nz = Neg(n)\noutput y, z", kNorm + "y = Sub(r, n)\noutput y",
        kNorm + "y = Add(n, n)\noutput y",
        std::string("input x f32 [4, 8]\nconst w f32 [8] = fill 2\n"
                    "n, m = LayerNormalization(x, w)\ny = Add(x, n)\noutput y, m")}) {
    Graph graph = graph_of(text);
    EXPECT_EQ(run(fuse_norm_residual, graph), 0) << text;
  }
}

}  // namespace
}  // namespace parallax
