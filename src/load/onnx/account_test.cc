// Bytes and work of loading in its account, however the nodes are spread over bodies.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ir/load_quota.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

std::string branch(const std::string& op) {
  return TestGraph{{node(op, {"x"}, {"t"})}, {}, {}, {value_info("t")}}.bytes();
}

/// `count` sizes that only running tells, and as many choices behind them or before each.
std::string sizes_and_choices(int count, bool mixed) {
  TestGraph graph;
  Names choices;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    graph.nodes.push_back(node("NonZero", {"x"}, {"n" + n}));
    (mixed ? graph.nodes : choices)
        .push_back(node("If", {"c"}, {"y" + n},
                        {graph_attribute("then_branch", branch("Relu")),
                         graph_attribute("else_branch", branch("Exp"))}));
    graph.outputs.push_back(value_info("n" + n));
    graph.outputs.push_back(value_info("y" + n));
  }
  graph.nodes.insert(graph.nodes.end(), choices.begin(), choices.end());
  graph.inputs = {value_info("x", kOnnxFloat, {Dim(4)}), value_info("c", kOnnxBool, {})};
  return model(graph);
}

/// Returns the work of inference that loading spends.
std::int64_t work_of(int count, bool mixed) {
  const auto owner = std::make_shared<std::string>(sizes_and_choices(count, mixed));
  LoadQuota quota;
  const auto graph = load_onnx({std::as_bytes(std::span(*owner)), owner, {}},
                               {.max_nesting = kMaxNesting}, nullptr, &quota);
  EXPECT_TRUE(graph) << graph.error().to_string();
  LoadQuota fresh;
  fresh.allow_file(std::ssize(*owner));
  fresh.allow_nodes(std::int64_t{4} * count);  // a size, a choice and a node in each branch
  return fresh.needed_work_left() - quota.needed_work_left();
}

TEST(LoadAccount, InferenceIsLinearInNodesAndChoices) {
  for (const bool mixed : {false, true}) {
    const std::int64_t once = work_of(100, mixed);
    const std::int64_t twice = work_of(200, mixed);
    EXPECT_GT(once, 0);
    EXPECT_LT(twice, once * 21 / 10);
  }
}

TEST(LoadAccount, NodesOfTheFileTakeNothingOfTheRest) {
  TestGraph graph;
  for (int i = 0; i < 30'000; ++i)
    graph.nodes.push_back(
        node("Relu", {i == 0 ? "x" : "v" + std::to_string(i - 1)}, {"v" + std::to_string(i)}));
  graph.inputs = {value_info("x", kOnnxFloat, {Dim(4)})};
  graph.outputs = {value_info("v29999")};
  const auto owner = std::make_shared<std::string>(model(graph));
  LoadQuota quota;
  const auto loaded = load_onnx({std::as_bytes(std::span(*owner)), owner, {}}, {}, nullptr, &quota);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_GE(quota.bytes_left(), LoadQuota::kBytes);
}

TEST(LoadAccount, WeightsThatNothingReadsTakeLessThanTheirUseWould) {
  constexpr int kMany = 50'000;
  TestGraph graph{
      {node("Relu", {"x"}, {"y"})}, {}, {value_info("x", kOnnxFloat, {Dim(4)})}, {value_info("y")}};
  for (int i = 0; i < kMany; ++i)
    graph.initializers.push_back(float_tensor("w" + std::to_string(i), {1}, {1}));
  const auto loaded = load(model(graph));
  EXPECT_TRUE(loaded) << loaded.error().to_string();
}

}  // namespace
}  // namespace parallax
