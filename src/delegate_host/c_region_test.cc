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

}  // namespace
}  // namespace parallax
