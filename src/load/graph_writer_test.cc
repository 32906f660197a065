#include "load/graph_writer.h"

#include <gtest/gtest.h>

#include "ops/params/window.h"

namespace parallax {
namespace {

TEST(GraphWriter, MakesNamesUnique) {
  Graph graph;
  GraphWriter writer(graph, [](std::string_view name) { return name == "a"; });
  writer.reserve_value_name("a_1");
  EXPECT_EQ(writer.fresh_value_name("a"), "a_2");
  EXPECT_EQ(writer.fresh_value_name("a"), "a_3");
  EXPECT_EQ(writer.fresh_value_name("b"), "b");
}

TEST(GraphWriter, LoadersChooseTheLayoutOfImagesAndFilesDoNot) {
  Graph graph;
  GraphWriter writer(graph, {});
  Node pool;
  pool.op = OpKind::kGlobalAveragePool;
  pool.name = "pool";
  pool.inputs = {writer.constant("x", make_constant(DType::kF32, {1, 1, 1, 0}, {}))};
  pool.outputs = {writer.result("y")};
  set_param(pool, &LayoutParams::layout, ImageLayout::kNhwc);
  EXPECT_FALSE(writer.node(pool, NodeOrigin::kFile));
  const auto id = writer.node(pool, NodeOrigin::kLoader);
  ASSERT_TRUE(id);
  EXPECT_EQ(graph.values[pool.outputs[0]].producer, *id);
}

}  // namespace
}  // namespace parallax
