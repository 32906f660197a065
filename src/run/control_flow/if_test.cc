#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kIf = R"(
    symbols n
    input c bool []
    input x f32 [n]
    k = Neg(x)
    y, z = If(c; x, k)
    body
      outer_symbols n
      input x f32 [n]
      input k f32 [n]
      a = Abs(x)
      b = Add(a, k)
      output b, x
    end
    body
      outer_symbols n
      input x f32 [n]
      input k f32 [n]
      a = Exp(k)
      b = Neg(a)
      c = Neg(b)
      output k, c
    end
    s = Neg(y)
    output y, z, s)";

TEST(If, TakesTheBranchOfItsCondition) {
  const auto context = context_of(kIf);
  EXPECT_EQ(context->graph.values[context->graph.outputs[0]].shape[0], Expr::symbol(SymbolId{0}));
  for (const int threads : {1, 3}) {
    const auto yes = run(context, {kYes, bytes_of<float>({1, -2})}, {{2}, true, threads});
    ASSERT_TRUE(yes) << yes.error().to_string();
    EXPECT_THAT(floats((*yes)[0]), ElementsAre(0, 4));
    EXPECT_THAT(floats((*yes)[1]), ElementsAre(1, -2));
    EXPECT_THAT(floats((*yes)[2]), ElementsAre(0, -4));
    const auto no = run(context, {kNo, bytes_of<float>({1, 0})}, {{2}, true, threads});
    ASSERT_TRUE(no) << no.error().to_string();
    EXPECT_THAT(floats((*no)[0]), ElementsAre(-1, 0));
    EXPECT_FLOAT_EQ(floats((*no)[1])[1], 1);
  }
}

TEST(If, AConditionOfAnyRankIsOneElement) {
  const auto context = context_of(R"(
    symbols n
    input c bool [1, n]
    input x f32 [2]
    y = If(c; x)
    body
      input x f32 [2]
      z = Neg(x)
      output z
    end
    body
      input x f32 [2]
      output x
    end
    output y)");
  for (const bool taken : {true, false}) {
    const auto outputs =
        run(context, {bytes_of<std::uint8_t>({taken}), bytes_of<float>({1, 2})}, {.symbols = {1}});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    EXPECT_EQ(floats((*outputs)[0]),
              (std::vector<float>{taken ? -1.0F : 1.0F, taken ? -2.0F : 2.0F}));
  }
  for (const std::int64_t n : {0, 2}) {
    const auto outputs =
        run(context, {bytes_of<std::uint8_t>({1, 1}), bytes_of<float>({1, 2})}, {.symbols = {n}});
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(outputs.error().message, HasSubstr("one"));
  }
}

TEST(If, SqueezesWhereItMust) {
  const auto context = context_of(R"(
    symbols n
    input c bool []
    input x f32 [n, 2]
    y = If(c; x)
    body
      outer_symbols n
      input x f32 [n, 2]
      const a i64 [1] = [0]
      z = Squeeze(x, a)
      output z
    end
    body
      outer_symbols n
      input x f32 [n, 2]
      z = Identity(x)
      output z
    end
    s = Neg(y)
    output s)");
  EXPECT_EQ(context->graph.values[context->graph.outputs[0]].shape, Shape{2});
  const auto yes = run(context, {kYes, bytes_of<float>({1, -2})}, {{1}, true, 1});
  ASSERT_TRUE(yes) << yes.error().to_string();
  EXPECT_THAT(floats((*yes)[0]), ElementsAre(-1, 2));
  const auto no = run(context, {kNo, bytes_of<float>({1, -2})}, {{1}, true, 1});
  ASSERT_FALSE(no);
  EXPECT_THAT(no.error().message, HasSubstr("one element"));
}

TEST(If, BranchesShareBytesThatAreInThePlan) {
  const auto context = context_of(kIf);
  Binding binding{{1000}};
  const auto compiled = compile(context, binding, {true});
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  const CompiledNode& node = (*compiled)->nodes[NodeId{1}];
  ASSERT_EQ(node.role, NodeRole::kBodies);
  ASSERT_EQ(node.bodies.size(), 2U);
  // The first branch has a; the second has a, then b, which overwrites it. The branches share one
  // buffer of the plan.
  EXPECT_EQ(arena_bytes(node.bodies[0].plan), 4032);
  EXPECT_EQ(arena_bytes(node.bodies[1].plan), 4032);
  EXPECT_EQ(node.workspace_bytes, 4032);
  EXPECT_EQ((*compiled)->problem.buffers[static_cast<std::size_t>(node.workspace)].bytes, 4032);
  const auto bound = make_bound(*compiled);
  ASSERT_TRUE(bound) << bound.error().to_string();
  const auto program = lay_out(*bound, {true, 1, std::nullopt});
  ASSERT_TRUE(program);
  const std::int64_t least = (*program)->bytes;
  EXPECT_TRUE(lay_out(*bound, {true, 1, least}));
  const auto less = lay_out(*bound, {true, 1, least / 2});
  ASSERT_FALSE(less);
  EXPECT_EQ(less.error().code, ErrorCode::kBudgetExceeded);
}

TEST(If, SizesThatDifferAreKnownWhenItRan) {
  const auto context = context_of(R"(
      input c bool []
      input x f32 [4]
      y = If(c; x)
      body
        input x f32 [4]
        z = Concat(x, x) {axis = 0}
        output z
      end
      body
        input x f32 [4]
        output x
      end
      s = Neg(y)
      output s)");
  EXPECT_THAT(floats((*run(context, {kYes, bytes_of<float>({1, 2, 3, 4})}))[0]),
              ElementsAre(-1, -2, -3, -4, -1, -2, -3, -4));
  EXPECT_THAT(floats((*run(context, {kNo, bytes_of<float>({1, 2, 3, 4})}))[0]),
              ElementsAre(-1, -2, -3, -4));
}

}  // namespace
}  // namespace parallax
