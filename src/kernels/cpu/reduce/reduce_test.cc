#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

KernelRun reduce(OpKind op, Tensor x, const std::vector<std::int64_t>& axes, std::int64_t keep) {
  const Dims count{static_cast<std::int64_t>(axes.size())};
  return {op, test_inputs(std::move(x), test_tensor<std::int64_t>(count, axes)),
          test_attributes({{"keepdims", keep}}), 1, 0b10};
}

constexpr OpKind kReductions[] = {OpKind::kReduceSum, OpKind::kReduceSumSquare, OpKind::kReduceMean,
                                  OpKind::kReduceMax, OpKind::kReduceMin,       OpKind::kReduceL1,
                                  OpKind::kReduceL2};

using Axes = std::vector<std::int64_t>;

/// All reductions of a tensor of each size over each group of axes, kept and removed.
void expect_reductions(const std::vector<Dims>& sizes, const std::vector<Axes>& groups) {
  for (const OpKind op : kReductions) {
    for (const Dims& dims : sizes) {
      for (const Axes& axes : groups) {
        SCOPED_TRACE(std::string(to_string(op)) + " " + dims.to_string());
        for (const std::int64_t keep : {0, 1})
          expect_same_as_reference(reduce(op, random_floats(dims, 3), axes, keep), {1e-5, 1e-4});
      }
    }
  }
}

TEST(CpuReduce, AgreesWithReferenceOverNeighbouringAxes) {
  expect_reductions({{2, 3, 4, 5}, {3, 70, 2, 33}, {1, 5, 1, 130}, {2, 90, 40, 37}},
                    {{-1}, {0}, {1}, {1, 2}, {2, 3}, {0, 1, 2, 3}});
}

TEST(CpuReduce, AgreesWithReferenceOverTwoGroupsOfAxes) {
  expect_reductions({{2, 3, 4, 5}, {3, 70, 2, 33}, {1, 128, 62, 3}, {2, 90, 40, 37}},
                    {{0, 2}, {0, 3}, {1, 3}, {0, 2, 3}, {0, 1, 3}});
}

TEST(CpuReduce, KeepsNanAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const OpKind op : kReductions) {
    for (const std::int64_t axis : {0, 1}) {
      SCOPED_TRACE(to_string(op));
      expect_same_as_reference(
          reduce(op, test_tensor<float>({3, 3}, {nan, 1, 2, -inf, -inf, 2, inf, 5, nan}), {axis},
                 1),
          {1e-6, 0});
    }
  }
}

TEST(CpuReduce, LogarithmsOfSums) {
  const auto logarithm = [](OpKind op, Tensor x, std::int64_t axis) {
    expect_same_as_reference(reduce(op, std::move(x), {axis}, 1), {1e-5, 1e-5});
  };
  for (const Dims& dims : {Dims{3, 5}, Dims{7, 130}, Dims{90, 40}}) {
    SCOPED_TRACE(dims.to_string());
    logarithm(OpKind::kReduceLogSumExp, random_floats(dims, 3, -20.0F, 90.0F), 1);
    for (const std::int64_t axis : {0, 1})
      logarithm(OpKind::kReduceLogSum, random_floats(dims, 3, 0.1F, 9.0F), axis);
  }
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  logarithm(OpKind::kReduceLogSumExp,
            test_tensor<float>({4, 2}, {inf, 1, -inf, -inf, nan, inf, -inf, 2}), 1);
}

TEST(CpuArgExtreme, AgreesWithReference) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const OpKind op : {OpKind::kArgMax, OpKind::kArgMin}) {
    for (const std::int64_t last : {0, 1}) {
      for (const std::int64_t axis : {0, 1, 2}) {
        SCOPED_TRACE(std::string(to_string(op)) + std::to_string(axis));
        const auto attributes = test_attributes({{"axis", axis}, {"select_last_index", last}});
        for (const Dims& dims : {Dims{2, 3, 40}, Dims{1, 37, 21}, Dims{70, 5, 1}})
          expect_same_as_reference({op, test_inputs(random_floats(dims, 3)), attributes});
        expect_same_as_reference(
            {op,
             test_inputs(test_tensor<float>(
                 {2, 2, 3}, {1, 1, 0, nan, 2, nan, -inf, inf, inf, 0, -0.0F, -inf})),
             attributes});
      }
    }
  }
}

TEST(CpuReduce, DeclinesThreeGroupsOfAxesAndSumsOfExponentialsOverTwo) {
  const auto declines = [](OpKind op, const Dims& dims, const std::vector<std::int64_t>& axes) {
    return cpu_declines(reduce(op, random_floats(dims, 1), axes, 1));
  };
  EXPECT_TRUE(declines(OpKind::kReduceSum, {2, 3, 4, 3, 2}, {0, 2, 4}));
  EXPECT_FALSE(declines(OpKind::kReduceSum, {2, 3, 4, 1, 2}, {0, 2, 3, 4}));
  EXPECT_TRUE(declines(OpKind::kReduceLogSumExp, {2, 3, 4}, {0, 2}));
  EXPECT_TRUE(declines(OpKind::kReduceLogSum, {2, 3, 4}, {0, 2}));
}

TEST(CpuGlobalAveragePool, AgreesWithReferenceInBothLayouts) {
  for (const Dims& dims : {Dims{2, 3, 5, 7}, Dims{1, 64, 20, 20}, Dims{1, 20, 20, 1280}}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      SCOPED_TRACE(dims.to_string() + layout);
      expect_same_as_reference({OpKind::kGlobalAveragePool, test_inputs(random_floats(dims, 1)),
                                test_attributes({{"layout", std::string(layout)}})},
                               {1e-5, 1e-6});
    }
  }
}

}  // namespace
}  // namespace parallax
