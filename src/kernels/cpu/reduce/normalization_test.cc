#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

Attributes axis_of(std::int64_t axis) { return test_attributes({{"axis", axis}}); }

TEST(CpuSoftmax, AgreesWithReferenceAlongEveryAxis) {
  for (const Dims& dims : {Dims{1}, Dims{49}, Dims{3, 64}, Dims{5, 1, 77}, Dims{2, 3, 16, 33},
                           Dims{1, 16, 4, 150}, Dims{1, 1500}, Dims{130, 700}, Dims{2, 0, 3}}) {
    for (int axis = -1; axis < dims.rank(); ++axis) {
      SCOPED_TRACE(dims.to_string() + " axis " + std::to_string(axis));
      expect_same_as_reference(
          {OpKind::kSoftmax, test_inputs(random_floats(dims, 5, -12.0F, 12.0F)), axis_of(axis)},
          {1e-6, 1e-9});
    }
  }
}

TEST(CpuSoftmax, TakesRowsOfEveryLength) {
  for (std::int64_t n = 1; n < 90; ++n)
    expect_same_as_reference({OpKind::kSoftmax, test_inputs(random_floats({3, n}, 5, -9.0F, 9.0F))},
                             {1e-6, 1e-9});
}

TEST(CpuLogSoftmax, AgreesWithReference) {
  for (std::int64_t n = 1; n < 90; n += 4)
    expect_same_as_reference(
        {OpKind::kLogSoftmax, test_inputs(random_floats({3, n}, 5, -9.0F, 90.0F))}, {1e-6, 1e-6});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  expect_same_as_reference(
      {OpKind::kLogSoftmax,
       test_inputs(test_tensor<float>({3, 3}, {-inf, 2, 1, nan, 1, 2, -inf, -inf, -inf}))},
      {1e-6, 1e-6});
}

TEST(CpuLpNormalization, AgreesWithReference) {
  for (const std::int64_t p : {1, 2}) {
    const auto run = [&](Tensor x) {
      return KernelRun{OpKind::kLpNormalization, test_inputs(std::move(x)),
                       test_attributes({{"p", p}})};
    };
    for (std::int64_t n = 0; n < 90; ++n)
      expect_same_as_reference(run(random_floats({3, n}, 5, -9.0F, 9.0F)), {1e-6, 1e-9});
    const float most = std::numeric_limits<float>::max(),
                inf = std::numeric_limits<float>::infinity();
    for (const float large : {0.0F, -0.0F, 1e-42F, 1e-20F, -3e19F, most, inf, std::nanf("")}) {
      expect_same_as_reference(run(test_tensor<float>({2, 3}, {large, -large, large / 2, 3, 0, 4})),
                               {1e-6, 0});
    }
  }
}

TEST(CpuLpNormalization, LeavesOtherAxesToTheReference) {
  const KernelRun run{OpKind::kLpNormalization, test_inputs(random_floats({3, 5, 7}, 5)),
                      axis_of(1)};
  EXPECT_FALSE(run_kernel(run, KernelLibrary::kCpu).has_value());
}

TEST(CpuSoftmax, TreatsMasksAndNanAsReference) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const std::int64_t axis : {0, 1}) {
    expect_same_as_reference(
        {OpKind::kSoftmax,
         test_inputs(test_tensor<float>({3, 3}, {-inf, 2, 1, nan, 1, 2, -inf, -inf, -inf})),
         axis_of(axis)},
        {1e-6, 1e-9});
  }
}

TEST(CpuLayerNormalization, AgreesWithReference) {
  struct Case {
    Dims x, scale;
    std::int64_t axis;
  };
  for (const Case& c :
       {Case{{4, 768}, {768}, -1}, Case{{3, 5, 33}, {33}, 2}, Case{{3, 5, 7}, {5, 7}, 1},
        Case{{200, 400}, {400}, -1}, Case{{2, 1}, {1}, -1}, Case{{0, 8}, {8}, -1}}) {
    SCOPED_TRACE(c.x.to_string());
    const Tolerance tolerance{5e-6, 5e-6};
    KernelRun run{OpKind::kLayerNormalization, {}, axis_of(c.axis)};
    run.inputs.emplace_back(random_floats(c.x, 1, 5.0F, 9.0F));
    run.inputs.emplace_back(random_floats(c.scale, 2));
    expect_same_as_reference(run, tolerance);
    run.inputs.emplace_back(random_floats(c.scale, 3));
    expect_same_as_reference(run, tolerance);
    run.outputs = 3;
    expect_same_as_reference(run, tolerance);
    run.outputs = 1;
    run.inputs.emplace_back(random_floats(c.x, 4));
    expect_same_as_reference(run, tolerance);
    run.inputs[2].reset();
    expect_same_as_reference(run, tolerance);
  }
}

TEST(CpuRMSNormalization, AgreesWithReference) {
  for (const Dims& dims : {Dims{4, 768}, Dims{3, 5, 33}, Dims{200, 400}, Dims{2, 1}, Dims{0, 8}}) {
    SCOPED_TRACE(dims.to_string());
    expect_same_as_reference(
        {OpKind::kRMSNormalization, test_inputs(random_floats(dims, 1, 5.0F, 9.0F),
                                                random_floats({dims[dims.rank() - 1]}, 2))},
        {5e-6, 5e-6});
  }
}

TEST(CpuNormalization, SumsBeyondF32AreTheReferences) {
  const float most = std::numeric_limits<float>::max(),
              inf = std::numeric_limits<float>::infinity();
  for (const OpKind op : {OpKind::kLayerNormalization, OpKind::kRMSNormalization}) {
    for (const float large : {most, -most, 3e19F, inf, std::nanf("")}) {
      std::vector<float> x(std::size_t{2} * 37, 1.5F);
      x[3] = large;
      x[5] = x[50] = -large / 2;
      KernelRun run{op, test_inputs(test_tensor<float>({2, 37}, x), random_floats({37}, 2))};
      expect_same_as_reference(run, {5e-6, 5e-6});
      if (op == OpKind::kRMSNormalization) continue;
      run.inputs.emplace_back(random_floats({37}, 3));
      run.inputs.emplace_back(random_floats({2, 37}, 4));
      expect_same_as_reference(run, {5e-6, 5e-6});
    }
  }
}

TEST(CpuNormalization, KeepsTheSignOfZeroWithoutBias) {
  const std::vector<float> x(37), scale(37, -2);
  for (const OpKind op : {OpKind::kLayerNormalization, OpKind::kRMSNormalization}) {
    const KernelRun run{
        op, test_inputs(test_tensor<float>({1, 37}, x), test_tensor<float>({37}, scale))};
    for (const KernelLibrary library : {KernelLibrary::kReference, KernelLibrary::kCpu}) {
      const auto outputs = run_kernel(run, library);
      ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
      for (const float y : test_values<float>(outputs->at(0)))
        EXPECT_TRUE(y == 0 && std::signbit(y));
    }
  }
}

TEST(CpuBatchNormalization, AgreesWithReference) {
  for (const Dims& dims : {Dims{2, 3, 5, 7}, Dims{1, 4, 9}, Dims{1, 64, 80, 81}}) {
    const Dims channels{dims[1]};
    expect_same_as_reference(
        {OpKind::kBatchNormalization,
         test_inputs(random_floats(dims, 1), random_floats(channels, 2), random_floats(channels, 3),
                     random_floats(channels, 4), random_floats(channels, 5, 0.1F, 2.0F))},
        {1e-5, 1e-5});
  }
}

TEST(CpuGroupNormalization, AgreesWithReference) {
  for (const Dims& dims : {Dims{2, 12, 7, 9}, Dims{1, 6, 100, 100}, Dims{3, 4, 5}}) {
    SCOPED_TRACE(dims.to_string());
    const auto inputs = [&](Tensor x) {
      return test_inputs(std::move(x), random_floats({dims[1]}, 2), random_floats({dims[1]}, 3));
    };
    expect_same_as_reference({OpKind::kInstanceNormalization, inputs(random_floats(dims, 1))},
                             {1e-4, 1e-5});
    expect_same_as_reference({OpKind::kGroupNormalization, inputs(random_floats(dims, 1, 99, 101)),
                              test_attributes({{"num_groups", std::int64_t{2}}})},
                             {1e-4, 1e-4});
    expect_same_as_reference(
        {OpKind::kInstanceNormalization, inputs(random_floats(dims, 1, 1e30F, 3e38F))},
        {1e-3, 1e-3});
  }
}

}  // namespace
}  // namespace parallax
