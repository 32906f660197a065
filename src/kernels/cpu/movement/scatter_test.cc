#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

KernelRun scatter(const Dims& data, const Dims& by, std::int64_t axis, Tensor indices) {
  return {OpKind::kScatterElements,
          test_inputs(random_floats(data, 1), std::move(indices), random_floats(by, 2)),
          test_attributes({{"axis", axis}})};
}

TEST(CpuScatterElements, AgreesWithReferenceOnEveryAxis) {
  struct Case {
    Dims data, by;
    std::int64_t axis;
  };
  // Few elements of the data for many updates: the last one wins.
  for (const Case& c :
       {Case{{7}, {30}, 0}, Case{{3, 5, 70}, {3, 40, 70}, 1}, Case{{3, 5, 7}, {3, 5, 20}, -1},
        Case{{5, 33}, {2, 33}, 0}, Case{{900, 2, 3}, {900, 1, 3}, 1}, Case{{4, 0}, {4, 0}, 0},
        Case{{4, 3}, {0, 3}, 0}}) {
    SCOPED_TRACE(c.data.to_string() + " " + c.by.to_string());
    const std::int64_t size = c.data[static_cast<int>(c.axis < 0 ? c.data.rank() - 1 : c.axis)];
    expect_same_as_reference(
        scatter(c.data, c.by, c.axis, random_integers<std::int64_t>(c.by, 3, -size, size - 1)));
  }
}

TEST(CpuScatterElements, MovesElementsOfEverySize) {
  const auto run = [](Tensor data, Tensor updates) {
    expect_same_as_reference(
        {OpKind::kScatterElements,
         test_inputs(std::move(data), random_integers<std::int64_t>({4, 70}, 3, 0, 8),
                     std::move(updates))});
  };
  run(random_integers<std::uint8_t>({9, 70}, 1, 0, 255),
      random_integers<std::uint8_t>({4, 70}, 2, 0, 255));
  run(random_integers<std::int64_t>({9, 70}, 1, -9, 9),
      random_integers<std::int64_t>({4, 70}, 2, -9, 9));
}

TEST(CpuScatterElements, ChecksIndices) {
  for (const std::int64_t index : {std::int64_t{3}, std::int64_t{-4}}) {
    const auto got = run_kernel(scatter({3}, {1}, 0, test_tensor<std::int64_t>({1}, {index})),
                                KernelLibrary::kCpu);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kOutOfRange);
  }
}

}  // namespace
}  // namespace parallax
