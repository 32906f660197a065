#include "lower/cpu/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/text/text.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

TEST(LoweringPasses, HaveNamesOfTheirOwn) {
  for (const Pass& pass : all_passes())
    EXPECT_EQ(std::ranges::count(all_passes(), pass.name, &Pass::name), 1) << pass.name;
  EXPECT_EQ(all_passes().size(), simplify_passes().size() + lowering_passes().size());
}

TEST(LoweringPasses, RunOverBodiesToo) {
  Graph graph = graph_of(R"(
      input c bool []
      input x f32 [2]
      y = If(c; x)
      body
        input x f32 [2]
        r = Sigmoid(x)
        z = Mul(x, r)
        output z
      end
      body
        input x f32 [2]
        output x
      end
      output y)");
  ASSERT_TRUE(run_passes(lowering_passes(), graph, {}));
  EXPECT_NE(print(graph).find("Silu(x)"), std::string::npos) << print(graph);
}

TEST(NearMisses, NameTheGuardThatRefused) {
  const std::string attention =
      "input q f32 [2, 3, 5, 8]\ninput k f32 [2, 3, 7, 8]\ninput v f32 [2, 3, 7, 8]\n";
  const std::string image = "input x f32 [1, 8, 6, 6]\n";
  const NearMissCase rows[] = {
      {absorb_transposes,
       attention + "t = Transpose(k) {perm = [0, 1, 3, 2]}\ny = FusedAttention(q, t, v) @last\n"
                   "output y, t",
       "something else reads what is transposed"},
      {absorb_transposes,
       attention + "input w f32 [2, 3, 8, 5]\nu = Transpose(w) {perm = [0, 1, 3, 2]}\n"
                   "y = FusedAttention(u, k, v) {k_perm = [0, 1, 3, 2]} @last\noutput y",
       "rows would not stay together"},
      {absorb_transposes,
       attention + "y = FusedAttention(q, k, v) {k_perm = [0, 1, 3, 2]}\n"
                   "z = Transpose(y) {perm = [0, 1, 3, 2]} @last\noutput z",
       "rows would not stay together"},
      {layout_nhwc, image + "const w f32 [8, 8, 3, 3] = fill 1\ny = Conv(x, w) @last\noutput y",
       "no other convolution is near"},
      {layout_nhwc, image + "input w f32 [8, 8, 3, 3]\ny = Conv(x, w) @last\noutput y",
       "no kernel has this convolution in NHWC"},
      {compose_movement,
       "symbols b\ninput x f32 [b, 8, 4, 32]\nt = Transpose(x) {perm = [2, 1, 0, 3]}\n"
       "y = Transpose(t) {perm = [1, 0, 2, 3]} @last\noutput y",
       "sizes are free"},
      {compose_movement,
       "input x f32 [4, 8, 16]\nt = Transpose(x) {perm = [1, 0, 2]}\n"
       "y = Transpose(t) {perm = [2, 0, 1]} @last\noutput y",
       "the runs are too short"},
      {compose_movement,
       "input x f32 [512, 256, 16]\nt = Transpose(x) {perm = [1, 0, 2]}\n"
       "const s i64 [1] = [1]\nconst e i64 [1] = [999]\ny = Slice(t, s, e) @last\noutput y",
       "the table of runs would be too long"},
  };
  expect_near_misses(rows);
}

TEST(AllPasses, LargeGraphs) {
  Graph graph;
  GraphBuilder builder(graph);
  const ValueId x = builder.input("x", DType::kF32, {4});
  ValueId chain = x;
  for (int i = 0; i < 25000; ++i) {
    const ValueId a = builder.op(OpKind::kRelu, {chain});
    const ValueId b = builder.op(OpKind::kRelu, {chain});
    chain = builder.op(OpKind::kIdentity, {builder.op(OpKind::kAdd, {a, b})});
  }
  builder.output(chain);
  ASSERT_TRUE(infer_graph(graph));
  ASSERT_TRUE(run_passes(all_passes(), graph, {}));
  EXPECT_LT(graph.nodes.size(), 1000U) << "chains of 64 operators each";
}

}  // namespace
}  // namespace parallax
