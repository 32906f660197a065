#include <gtest/gtest.h>

#include <utility>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

constexpr Tolerance kSums{1e-5, 2e-5};

KernelRun product(const Dims& a, const Dims& b) {
  return {OpKind::kMatMul,
          test_inputs(random_floats(a, 1, -1, 1), random_floats(b, 2, -1, 1)),
          {},
          1,
          0b10};
}

TEST(CpuMatMulConstant, AgreesWithReferenceForEveryNumberOfRows) {
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    SCOPED_TRACE(rows);
    expect_same_as_reference(product({rows, 37}, {37, 83}), kSums);
  }
}

TEST(CpuMatMulConstant, AgreesWithReferenceForOddShapes) {
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{1}, {1, 1}}, Case{{5}, {5, 3}}, Case{{2, 3, 7, 5}, {5, 64}}, Case{{1, 2}, {2, 129}},
        Case{{4, 900}, {900, 70}}, Case{{40, 800}, {800, 33}}, Case{{300, 64}, {64, 200}},
        Case{{2, 4}, {1, 1, 4, 6}}, Case{{0, 4}, {4, 6}}, Case{{151, 1030}, {1030, 17}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    expect_same_as_reference(product(a, b), {1e-4, 1e-4});
  }
}

TEST(CpuMatMulConstant, FusesBiasAndActivation) {
  for (const char* activation : {"", "Relu", "Silu", "Sigmoid", "Tanh", "Gelu", "HardSwish"}) {
    for (const std::int64_t rows : {3, 50}) {
      SCOPED_TRACE(activation);
      KernelRun run = product({rows, 45}, {45, 77});
      run.inputs.emplace_back(random_floats({77}, 3));
      run.epilogue = then(activation);
      expect_same_as_reference(run, kSums);
    }
  }
}

TEST(CpuMatMulConstant, AppliesAnEpilogueAsTheOperatorDoes) {
  auto sums = run_kernel(product({13, 45}, {45, 77}), KernelLibrary::kCpu);
  ASSERT_TRUE(sums);
  KernelRun clip{OpKind::kClip, test_inputs(std::move((*sums)[0]), test_tensor<float>({}, {-1}),
                                            test_tensor<float>({}, {0.5F}))};
  clip.constants = 0b110;
  KernelRun fused = product({13, 45}, {45, 77});
  fused.epilogue.activation = {.op = OpKind::kClip, .low = -1, .high = 0.5F};
  const auto got = run_kernel(fused, KernelLibrary::kCpu);
  const auto want = run_kernel(clip, KernelLibrary::kCpu);
  ASSERT_TRUE(got && want);
  expect_close((*got)[0], (*want)[0], {});
}

TEST(CpuMatMulConstant, PropagatesNan) {
  KernelRun run = product({3, 8}, {8, 5});
  std::vector<float> a(24, 1.0F);
  a[9] = std::nanf("");
  run.inputs[0] = test_tensor<float>({3, 8}, a);
  expect_same_as_reference(run, kSums);
}

TEST(CpuMatMulConstant, SharesPackedWeightsAmongNumbersOfRows) {
  const KernelRun run = product({3, 40}, {40, 70});
  const Graph graph = std::move(test_detail::one_node_graph(run)).value();
  const TensorView b = run.inputs[1]->view();
  PackedWeights packed;
  std::int64_t bytes = 0;
  for (const std::int64_t rows : {1, 3, 200}) {
    const TensorDesc inputs[] = {{true, DType::kF32, {rows, 40}, nullptr},
                                 {true, DType::kF32, b.dims, b.bytes.data()}};
    const TensorDesc output{true, DType::kF32, {rows, 70}, nullptr};
    const auto kernel = test_detail::make_of({graph.nodes[NodeId{0}], inputs, {&output, 1}, packed},
                                             KernelLibrary::kCpu);
    ASSERT_TRUE(kernel.has_value());
    EXPECT_EQ((*kernel)->input_use(0), InputUse::kAligned);
    EXPECT_EQ((*kernel)->input_use(1), InputUse::kNone);
    if (bytes == 0) bytes = packed.total_bytes();
    EXPECT_EQ(packed.total_bytes(), bytes);
  }
}

TEST(CpuGemmConstant, CoversTransposeAlphaAndBias) {
  for (const std::int64_t transposed : {0, 1}) {
    for (const float alpha : {1.0F, 0.5F}) {
      KernelRun run = product({9, 31}, transposed != 0 ? Dims{70, 31} : Dims{31, 70});
      run.op = OpKind::kGemm;
      run.attributes = test_attributes({{"transB", transposed}, {"alpha", alpha}});
      expect_same_as_reference(run, kSums);
      run.inputs.emplace_back(random_floats({70}, 3));
      expect_same_as_reference(run, kSums);
    }
  }
}

TEST(CpuGemmConstant, DeclinesWhatItDoesNotCover) {
  KernelRun run = product({9, 31}, {31, 70});
  run.op = OpKind::kGemm;
  run.inputs.emplace_back(random_floats({9, 70}, 3));
  EXPECT_TRUE(cpu_declines(run));
  run.inputs[2] = random_floats({70}, 3);
  run.attributes = test_attributes({{"beta", 2.0F}});
  EXPECT_TRUE(cpu_declines(run));
}

}  // namespace
}  // namespace parallax
