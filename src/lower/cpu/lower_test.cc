#include "lower/cpu/lower.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/text.h"
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
  EXPECT_EQ(graph.nodes.size(), 50000U);
}

}  // namespace
}  // namespace parallax
