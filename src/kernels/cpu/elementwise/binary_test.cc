#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

struct Shapes {
  Dims a, b;
};

const std::vector<Shapes>& broadcasts() {
  static const std::vector<Shapes> shapes = {
      {{}, {}},
      {{17}, {17}},
      {{17}, {}},
      {{}, {33}},
      {{3, 5}, {5}},
      {{3, 1}, {1, 7}},
      {{2, 3, 4, 5}, {3, 1, 5}},
      {{2, 1, 4, 1}, {1, 3, 1, 6}},
      {{1, 49, 64}, {64}},
      {{4, 3, 7, 7}, {3, 1, 1}},
      {{0, 3}, {1, 3}},
      {{2, 3, 1, 2, 1, 2, 1, 2}, {1, 1, 2, 1, 3, 1, 2, 1}},
      {{301, 1000}, {301, 1}},
      {{70000}, {1}},
      {{2, 301, 3}, {3}},  // rows of less than a vector
      {{8}, {40, 9, 8}},
  };
  return shapes;
}

TEST(CpuBinary, BroadcastsFloatsAsReference) {
  for (const OpKind op : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin,
                          OpKind::kMax, OpKind::kPRelu}) {
    for (const auto& [a, b] : broadcasts()) {
      SCOPED_TRACE(std::string(to_string(op)) + " " + a.to_string() + " " + b.to_string());
      expect_same_as_reference({op, test_inputs(random_floats(a, 1), random_floats(b, 2))});
    }
  }
}

TEST(CpuBinary, TreatsSpecialValuesAsReference) {
  const std::vector<float> values = special_floats();
  const auto n = static_cast<std::int64_t>(values.size());
  for (const OpKind op : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv, OpKind::kMin,
                          OpKind::kMax, OpKind::kPRelu}) {
    SCOPED_TRACE(to_string(op));
    expect_same_as_reference(
        {op, test_inputs(test_tensor<float>({n, 1}, values), test_tensor<float>({1, n}, values))},
        {1e-9, 0});
  }
}

TEST(CpuBinary, IntegersWrapAndBroadcastAsReference) {
  for (const OpKind op : {OpKind::kAdd, OpKind::kSub, OpKind::kMul}) {
    SCOPED_TRACE(to_string(op));
    const auto most = std::numeric_limits<std::int64_t>::max();
    expect_same_as_reference({op, test_inputs(test_tensor<std::int64_t>({2, 1}, {most, -5}),
                                              test_tensor<std::int64_t>({3}, {most, 1, -7}))});
    expect_same_as_reference({op, test_inputs(random_integers<std::int32_t>({4, 5}, 1, -9, 9),
                                              random_integers<std::int32_t>({5}, 2, -9, 9))});
  }
}

TEST(CpuComparison, AgreesWithReference) {
  for (const OpKind op : {OpKind::kEqual, OpKind::kLess, OpKind::kLessOrEqual, OpKind::kGreater,
                          OpKind::kGreaterOrEqual}) {
    for (const auto& [a, b] : broadcasts()) {
      SCOPED_TRACE(std::string(to_string(op)) + " " + a.to_string() + " " + b.to_string());
      expect_same_as_reference({op, test_inputs(random_floats(a, 1), random_floats(b, 2))});
      expect_same_as_reference({op, test_inputs(random_integers<std::int64_t>(a, 1, 0, 3),
                                                random_integers<std::int64_t>(b, 2, 0, 3))});
    }
    const float nan = std::nanf("");
    expect_same_as_reference({op, test_inputs(test_tensor<float>({3}, {nan, 1, nan}),
                                              test_tensor<float>({3}, {nan, nan, 1}))});
  }
}

TEST(CpuWhere, SelectsAnyDtypeWithBroadcasting) {
  for (const auto& [a, b] : broadcasts()) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    const auto condition = [&] { return random_integers<bool>(b, 3, 0, 1); };
    expect_same_as_reference(
        {OpKind::kWhere, test_inputs(condition(), random_floats(a, 1), random_floats(b, 2))});
    expect_same_as_reference(
        {OpKind::kWhere, test_inputs(condition(), random_floats(a, 1), random_floats({}, 2))});
    expect_same_as_reference(
        {OpKind::kWhere, test_inputs(condition(), random_integers<std::int64_t>(a, 1, -9, 9),
                                     random_integers<std::int64_t>({1}, 2, -9, 9))});
    expect_same_as_reference(
        {OpKind::kWhere, test_inputs(condition(), random_integers<std::uint8_t>(a, 1, 0, 9),
                                     random_integers<std::uint8_t>(b, 2, 0, 9))});
  }
}

}  // namespace
}  // namespace parallax
