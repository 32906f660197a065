// Shapes that are empty, that contradict each other, and that only a run determines.
#include <gtest/gtest.h>

#include <cmath>

#include "run/run_test_util.h"

namespace parallax {
namespace {

TEST(Execute, EmptyTensors) {
  const auto context = context_of(R"(
    symbols n
    input x f32 [n, 3]
    a = Relu(x)
    b = Concat(a, x) {axis = 0}
    y = Exp(b)
    output a, y)");
  const auto outcome =
      run_twice(context, {std::vector<std::byte>{}}, {.symbols = {0}, .threads = 2});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_EQ((*outcome)[0].dims(), (Dims{0, 3}));
  EXPECT_EQ((*outcome)[1].dims(), (Dims{0, 3}));
}

/// NonZero finds n rows, all shapes after it contain n; the shape of the last result is known
/// again.
constexpr std::string_view kDataDependent = R"(
    input x f32 [8]
    const zero i64 [1] = [0]
    const one i64 [1] = [1]
    const shape i64 [2] = [-1, 2]
    found = NonZero(x)
    flat = Squeeze(found, zero)
    picked = Gather(x, flat)
    a = Neg(picked)
    b = Exp(a)
    c = Abs(picked)
    d = Add(b, c)
    column = Unsqueeze(d, one)
    total = ReduceSum(column, zero)
    output flat, d, total)";

TEST(Execute, DataDependentShapes) {
  const auto context = context_of(kDataDependent);
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    for (const int threads : {1, 3}) {
      for (const std::vector<float>& x : {std::vector<float>{0, 1, 0, 2, 3, 0, 0, 4},
                                          std::vector<float>(8, 0.F), std::vector<float>(8, 1.F)}) {
        std::vector<std::int64_t> indices;
        for (std::size_t i = 0; i < x.size(); ++i)
          if (x[i] != 0) indices.push_back(static_cast<std::int64_t>(i));
        const auto outcome =
            run_twice(context, {bytes_of(x)}, {.threads = threads, .scheduler = scheduler});
        ASSERT_TRUE(outcome) << outcome.error().to_string();
        EXPECT_EQ(values<std::int64_t>((*outcome)[0]), indices);
        float total = 0;
        const auto d = floats((*outcome)[1]);
        ASSERT_EQ(d.size(), indices.size());
        for (std::size_t i = 0; i < d.size(); ++i) {
          const float picked = x[static_cast<std::size_t>(indices[i])];
          EXPECT_FLOAT_EQ(d[i], std::exp(-picked) + picked);
          total += d[i];
        }
        EXPECT_FLOAT_EQ(floats((*outcome)[2])[0], total);
      }
    }
  }
}

TEST(Execute, DataDependentShapesCountAgainstTheBudget) {
  const auto context = context_of(kDataDependent);
  const Inputs inputs = {bytes_of(std::vector<float>(8, 1.F))};
  int failed = 0, fitting = 0;
  for (std::int64_t budget = 0; budget < 4096; budget += 64) {
    std::int64_t peak = 0;
    const auto outcome =
        run_twice(context, inputs, {.threads = 2, .budget = budget, .peak = &peak});
    if (outcome) {
      ++fitting;
      EXPECT_LE(peak, budget);
    } else {
      ++failed;
      EXPECT_EQ(outcome.error().code, ErrorCode::kBudgetExceeded);
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(fitting, 0);
}

TEST(Execute, DimensionsThatContradictEachOtherAreRefused) {
  const auto context = context_of(R"(
    symbols n m
    input a f32 [n]
    input b f32 [m]
    y = Add(a, b) @the_add
    output y)");
  const auto program = program_of(context, {.symbols = {3, 4}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(program.error().node, "the_add");
  EXPECT_TRUE(program_of(context, {.symbols = {3, 3}}));
}

TEST(Execute, ShapesThatNodesComputeAreCheckedWhereTheirElementsAreKnown) {
  // The result is empty, so that no tile runs that would read the pads.
  const auto context = context_of(R"(
    symbols n
    input x f32 [n, 16]
    const given i64 [4] = [-1, -1, 1, 2]
    const zero i64 [] = [0]
    pads = Add(given, zero)
    y = Pad(x, pads) @the_pad
    output y)");
  const auto program = program_of(context, {.symbols = {0}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(program.error().node, "the_pad");
  const auto y = run_twice(context, {bytes_of(std::vector<float>(16, 0.5F))}, {.symbols = {1}});
  ASSERT_TRUE(y) << y.error().to_string();
  EXPECT_EQ((*y)[0].dims(), (Dims{1, 17}));
}

TEST(Execute, AxesThatOnlyRunningTellsAreCheckedByTheKernel) {
  // As many axes as x has: the result is a scalar, whichever they are.
  const auto context = context_of(R"(
    input x f32 [1, 3]
    input axes i64 [2]
    y = ReduceSum(x, axes) {keepdims = 0}
    output y)");
  const auto x = bytes_of<float>({1, 2, 3});
  const auto sum = run_twice(context, {x, bytes_of<std::int64_t>({-1, 0})}, {});
  ASSERT_TRUE(sum) << sum.error().to_string();
  EXPECT_EQ(floats((*sum)[0]), std::vector<float>{6});
  for (const std::int64_t other : {1, 2}) {
    const auto wrong = run_twice(context, {x, bytes_of<std::int64_t>({-1, other})}, {});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidInput);
    EXPECT_NE(wrong.error().message.find(other == 1 ? "axis 1 appears twice" : "axis 2 is outside"),
              std::string::npos)
        << wrong.error().message;
  }
}

}  // namespace
}  // namespace parallax
