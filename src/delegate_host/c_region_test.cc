#include "delegate_host/c_region.h"

#include <gtest/gtest.h>

#include "run/run_test_util.h"

namespace parallax {
namespace {

/// Returns the key of the region of all nodes.
std::string key_of(std::string_view text, std::vector<std::optional<std::int64_t>> symbols) {
  const std::shared_ptr<GraphContext> plain = context_of(text);
  Delegation delegation;
  delegation.region_of = IdVector<NodeId, RegionId>(plain->graph.nodes.size(), RegionId{0});
  delegation.seconds.push_back(1e-3);
  const auto program =
      program_of(std::make_shared<GraphContext>(plain->graph, std::move(delegation)),
                 {.symbols = std::move(symbols)});
  EXPECT_TRUE(program) << program.error().to_string();
  return (*CRegion::make(*(*program)->bound->compiled, RegionId{0}))->key();
}

TEST(CRegion, HasOneKeyForAllSizes) {
  const std::string_view text = R"(
      symbols n
      input x f32 [n, 8]
      a = Transpose(x) {perm = [1, 0]} @a
      b = Relu(a) @b
      output b)";
  EXPECT_EQ(key_of(text, {3}), key_of(text, {4}));
}

TEST(CRegion, HasAnotherKeyForAllElseThatADelegateIsTold) {
  struct Row {
    const char *name, *one, *other;
  };
  const Row rows[] = {
      {"dims", "input x f32 [3, 8]\na = Relu(x) @a\noutput a",
       "input x f32 [4, 8]\na = Relu(x) @a\noutput a"},
      {"symbols", "symbols n m\ninput x f32 [n, m]\na = Relu(x) @a\noutput a",
       "symbols n m\ninput x f32 [n, n]\na = Relu(x) @a\noutput a"},
      {"a number", "input x f32 [8, 8]\na = LeakyRelu(x) {alpha = 0.1} @a\noutput a",
       "input x f32 [8, 8]\na = LeakyRelu(x) {alpha = 0.2} @a\noutput a"},
      {"a list", "input x f32 [8, 8]\na = Transpose(x) {perm = [1, 0]} @a\noutput a",
       "input x f32 [8, 8]\na = Transpose(x) {perm = [0, 1]} @a\noutput a"},
      {"an integer", "input x f32 [8, 8]\na = Softmax(x) {axis = 0} @a\noutput a",
       "input x f32 [8, 8]\na = Softmax(x) {axis = 1} @a\noutput a"},
      {"inputs",
       "input x f32 [8, 8]\ninput y f32 [8, 8]\na = Add(x, y) @a\nb = Sub(x, y) @b\noutput a, b",
       "input x f32 [8, 8]\ninput y f32 [8, 8]\na = Add(x, y) @a\nb = Sub(y, x) @b\noutput a, b"},
      {"names", "input x f32 [8, 8]\na = Relu(x) @a\noutput a",
       "input x f32 [8, 8]\na = Relu(x) @b\noutput a"},
      {"outputs", "input x f32 [8, 8]\na = Relu(x) @a\nb = Neg(a) @b\noutput b",
       "input x f32 [8, 8]\na = Relu(x) @a\nb = Neg(a) @b\noutput a, b"},
  };
  for (const Row& row : rows)
    EXPECT_NE(key_of(row.one, {5, 5}), key_of(row.other, {5, 5})) << row.name;
}

TEST(CRegion, DescribesOneNodeWithItsSizes) {
  const std::shared_ptr<GraphContext> context = context_of(R"(
      symbols n
      input x f32 [n, 8]
      const w f32 [8] = fill 0.5
      a = Relu(x) @a
      b = Add(a, w) @b
      s = Softmax(b) {axis = 0} @s
      output s)");
  const Graph& graph = context->graph;
  ConcreteShapes shapes = *concrete_shapes(graph, {.symbols = {3}});
  const auto add = CRegion::of_node(graph, NodeId{1});
  const px_region& region = add->get();
  ASSERT_EQ(region.node_count, 1U);
  EXPECT_STREQ(region.name, "b");
  EXPECT_STREQ(region.nodes[0]->op, "Add");
  ASSERT_EQ(region.value_count, 3U);
  EXPECT_EQ(region.input_count, 1U);
  EXPECT_EQ(region.output_count, 1U);
  EXPECT_EQ(region.values[0]->type->dims[0], -1);
  EXPECT_STREQ(region.values[0]->type->symbols[0], "n");
  ASSERT_NE(region.values[1]->constant, nullptr);
  EXPECT_NE(region.values[1]->constant->data, nullptr);
  const auto sizes = CSizes::of_node(graph, shapes, *add);
  ASSERT_EQ(sizes->get().value_count, 3U);
  EXPECT_EQ(sizes->get().values[0]->dims[0], 3);
  EXPECT_EQ(sizes->get().values[0]->bytes, 96U);
  EXPECT_EQ(sizes->get().values[0]->data, nullptr);
  shapes[add->values[2]] = std::nullopt;
  EXPECT_EQ(CSizes::of_node(graph, shapes, *add)->get().values[2], nullptr) << "not known";
  const auto softmax = CRegion::of_node(graph, NodeId{2});
  EXPECT_EQ(softmax->get().nodes[0]->attribute_count, 1U);
}

}  // namespace
}  // namespace parallax
