// The account of a load balances: what shapes, elements and constants of the graph take is what is
// missing, after any number of passes and inferences.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bind/evaluate.h"
#include "ir/charge.h"
#include "load/onnx_test_util.h"
#include "lower/cpu/lower.h"
#include "ops/deferred.h"
#include "ops/infer.h"

namespace parallax {
namespace {

constexpr std::size_t kAccountSide = 160;  // squares are large enough to be deferred

/// Weights of int8 and normalised ones, both folded, and shapes that only running tells.
std::string folding_model() {
  constexpr std::int64_t kDim = kAccountSide;
  const std::string half(kAccountSide * kAccountSide, '\1');
  const TestGraph graph{
      {node("Cast", {"q"}, {"f"}, {attribute("to", 1)}), node("Mul", {"f", "scale"}, {"w"}),
       node("Div", {"v", "scale"}, {"unit"}), node("Mul", {"unit", "scale"}, {"normal"}),
       node("Transpose", {"normal"}, {"u"}, {attribute("perm", Ints{1, 0})}),
       node("MatMul", {"x", "w"}, {"a"}), node("MatMul", {"a", "u"}, {"b"}),
       node("NonZero", {"b"}, {"n"}), node("Shape", {"b"}, {"s"}), node("Mul", {"s", "two"}, {"t"}),
       node("Expand", {"one", "t"}, {"y"})},
      {raw_tensor("q", kOnnxInt8, {kDim, kDim}, half),
       raw_tensor("scale", kOnnxFloat, {kDim, 1}, std::string(kAccountSide * 4, '\0')),
       raw_tensor("v", kOnnxFloat, {kDim, kDim},
                  std::string(kAccountSide * kAccountSide * 4, '\0')),
       int_tensor("two", {2, 2}), raw_tensor("one", kOnnxFloat, {1}, std::string(4, '\0'))},
      {value_info("x", kOnnxFloat, {Dim("rows"), Dim(kDim)})},
      {value_info("y"), value_info("n")}};
  return model(graph);
}

class LoadAccount : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = std::make_shared<std::string>(folding_model());
    limit_ = LoadQuota::kBytes + 6 * std::ssize(*bytes);
    auto graph = load_onnx({std::as_bytes(std::span(*bytes)), bytes, {}},
                           {.max_nesting = kMaxNesting}, nullptr, context_.quota.get());
    ASSERT_TRUE(graph) << graph.error().to_string();
    graph_ = *std::move(graph);
  }
  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Value& value : graph_.values) sum += content_bytes(value.content);
    return sum;
  }
  std::int64_t constants() const {
    std::int64_t sum = 0;
    for (const Value& value : graph_.values)
      if (value.constant) sum += charged_for(*value.constant).bytes;
    return sum;
  }

  PassContext context_{evaluate_node, evaluate_into};
  const LoadQuota& quota_ = *context_.quota;
  std::int64_t limit_ = 0;
  Graph graph_;
};

TEST_F(LoadAccount, AddsUpAfterThePasses) {
  EXPECT_GT(elements(), 0);
  EXPECT_EQ(quota_.bytes_left(), limit_ - elements());
  ASSERT_TRUE(run_passes(all_passes(), graph_, context_));
  for (const Node& node : graph_.nodes)
    EXPECT_TRUE(node.op != OpKind::kCast && node.op != OpKind::kDiv) << node.name;
  EXPECT_GE(constants(), std::int64_t{2 * 2 * kAccountSide * kAccountSide * 4})
      << "both weights are constants of floats";
  EXPECT_LT(quota_.bytes_left(), limit_ - elements() - constants()) << "made of others";
  for (const Value& value : graph_.values)
    EXPECT_TRUE(!value.constant || compute_for_good(*value.constant));
  EXPECT_EQ(quota_.bytes_left(), limit_ - elements() - constants());
  graph_ = {};
  settle(graph_, *context_.quota);
  EXPECT_EQ(quota_.bytes_left(), limit_);
}

TEST_F(LoadAccount, InferenceTakesNoMoreTheSecondTime) {
  ASSERT_TRUE(run_passes(all_passes(), graph_, context_));
  const std::int64_t left = quota_.bytes_left(), needed = quota_.needed_bytes_left();
  EXPECT_LT(needed, left + LoadQuota::kKeptBytes) << "shapes of unknown sizes take some";
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(infer_graph(graph_, *context_.quota));
    EXPECT_EQ(quota_.bytes_left(), left);
    EXPECT_EQ(quota_.needed_bytes_left(), needed);
  }
}

}  // namespace
}  // namespace parallax
