#include <gtest/gtest.h>

#include <utility>

#include "kernels/cpu/gemm/gemm_test_util.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr Tolerance kSums{1e-5, 2e-5};

class ConstantMatMul : public GemmTypes {};
PX_FOR_GEMM_TYPES(ConstantMatMul);
INSTANTIATE_TEST_SUITE_P(HalfWeights, ConstantMatMul, testing::Values(kHalfWeights),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(ConstantMatMul, AgreesWithReferenceForEveryNumberOfRows) {
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    SCOPED_TRACE(rows);
    expect_products(GetParam(), constant_matmul_run({rows, 37}, {37, 83}), kSums);
  }
}

TEST_P(ConstantMatMul, AgreesWithReferenceForOddShapes) {
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{1}, {1, 1}}, Case{{5}, {5, 3}}, Case{{2, 3, 7, 5}, {5, 64}}, Case{{1, 2}, {2, 129}},
        Case{{4, 900}, {900, 70}}, Case{{40, 800}, {800, 33}}, Case{{40, 1700}, {1700, 33}},
        Case{{300, 64}, {64, 200}}, Case{{2, 4}, {1, 1, 4, 6}}, Case{{0, 4}, {4, 6}},
        Case{{151, 1030}, {1030, 17}}, Case{{151, 1031}, {1031, 17}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    expect_products(GetParam(), constant_matmul_run(a, b), {1e-4, 1e-4});
  }
}

TEST_P(ConstantMatMul, FusesBiasAndActivation) {
  for (const char* activation : {"", "Relu", "Silu", "Sigmoid", "Tanh", "Gelu", "HardSwish"}) {
    for (const std::int64_t rows : {1, 3, 50}) {
      SCOPED_TRACE(activation);
      KernelRun run = constant_matmul_run({rows, 45}, {45, 277});
      run.inputs.emplace_back(random_floats({277}, 3));
      run.epilogue = then(activation);
      expect_products(GetParam(), run, kSums);
    }
  }
}

TEST_P(ConstantMatMul, AppliesAnEpilogueAsTheOperatorDoes) {
  struct Case {
    const char* name;
    std::vector<std::optional<Tensor>> bounds;
    Epilogue epilogue;
  };
  std::vector<Case> cases;
  cases.push_back({"Relu", {}, then("Relu")});
  cases.push_back({"LeakyRelu", {}, then("LeakyRelu")});
  cases.push_back({"Clip",
                   test_inputs(test_tensor<float>({}, {-1}), test_tensor<float>({}, {0.5F})),
                   {{.op = OpKind::kClip, .low = -1, .high = 0.5F}}});
  for (Case& row : cases) {
    SCOPED_TRACE(row.name);
    // Tests NaN, both zeros and both signs, in a whole panel and in a partial one.
    for (const std::int64_t columns : {16, 77}) {
      KernelRun fused = constant_matmul_run({13, 45}, {45, columns});
      std::vector<float> a = test_values<float>(*fused.inputs[0]);
      std::fill_n(a.begin(), 45, -0.0F);
      a[50] = std::nanf("");
      fused.inputs[0] = test_tensor<float>({13, 45}, a);
      auto sums = GetParam().run(fused);
      ASSERT_TRUE(sums.has_value());
      KernelRun after{op_from_string(row.name).value(), test_inputs(std::move(sums->outputs[0]))};
      for (const auto& bound : row.bounds)
        after.inputs.emplace_back(test_tensor<float>({}, test_values<float>(*bound)));
      after.constants = 0b110;
      fused.epilogue = row.epilogue;
      const auto got = GetParam().run(fused);
      const auto want = run_kernel(after, KernelLibrary::kCpu);
      ASSERT_TRUE(got && want);
      expect_close(got->outputs[0], (*want)[0], {});
    }
  }
}

TEST_P(ConstantMatMul, GivesARowTheBitsThatItHasAmongOthers) {
  for (const std::int64_t columns : {8, 64, 77, 208, 513}) {
    SCOPED_TRACE(columns);
    KernelRun two = constant_matmul_run({2, 301}, {301, columns});
    two.inputs.emplace_back(random_floats({columns}, 3));
    two.epilogue = then("LeakyRelu");
    KernelRun one = constant_matmul_run({1, 301}, {301, columns});
    std::vector<float> row = test_values<float>(*two.inputs[0]);
    row.resize(301);
    one.inputs[0] = test_tensor<float>({1, 301}, row);
    one.inputs.emplace_back(random_floats({columns}, 3));
    one.epilogue = then("LeakyRelu");
    const auto got = GetParam().run(one), want = GetParam().run(two);
    ASSERT_TRUE(got && want);
    std::vector<float> first = test_values<float>(want->outputs[0]);
    first.resize(to_size(columns));
    EXPECT_EQ(test_values<float>(got->outputs[0]), first);
  }
}

TEST_P(ConstantMatMul, PropagatesNanAndInfinities) {
  KernelRun run = constant_matmul_run({3, 8}, {8, 5});
  std::vector<float> a(24, 1.0F);
  a[9] = std::nanf("");
  a[17] = std::numeric_limits<float>::infinity();
  run.inputs[0] = test_tensor<float>({3, 8}, a);
  expect_products(GetParam(), run, kSums);
}

TEST(CpuMatMulConstant, GivesThreadsTilesOfSmallNodes) {
  const auto got =
      run_kernel_tiles(constant_matmul_run({50, 257}, {257, 385}), KernelLibrary::kCpu);
  ASSERT_TRUE(got.has_value());
  EXPECT_GE(got->tiles, 4);
}

/// Returns the bytes that kernels for several numbers of rows pack together.
std::int64_t packed_bytes(const KernelRun& run, Precision precision, bool is_half = false) {
  const Graph graph = std::move(test_detail::one_node_graph(run)).value();
  const TensorView b = run.inputs[1]->view();
  PackedWeights packed;
  std::int64_t bytes = 0;
  for (const std::int64_t rows : {1, 3, 200}) {
    const TensorDesc inputs[] = {{true, DType::kF32, {rows, b.dims[0]}, nullptr},
                                 {true, DType::kF32, b.dims, b.bytes.data(), is_half}};
    const TensorDesc output{true, DType::kF32, {rows, b.dims[1]}, nullptr};
    const auto kernel = test_detail::make_of(
        {graph.nodes[NodeId{0}], inputs, {&output, 1}, packed, precision}, KernelLibrary::kCpu);
    EXPECT_TRUE(kernel.has_value());
    if (!kernel) return 0;
    EXPECT_EQ((*kernel)->input_use(0), InputUse::kAligned);
    EXPECT_EQ((*kernel)->input_use(1), InputUse::kNone);
    if (bytes == 0) bytes = packed.total_bytes();
    EXPECT_EQ(packed.total_bytes(), bytes);
  }
  return bytes;
}

TEST_P(ConstantMatMul, SharesPackedWeightsAmongNumbersOfRows) {
  EXPECT_GT(packed_bytes(constant_matmul_run({3, 40}, {40, 70}), GetParam().precision), 0);
}

TEST(CpuMatMulConstant, HalvesTheBytesOfWeightsInBf16) {
  PX_NEEDS_BF16();
  const KernelRun run = constant_matmul_run({3, 40}, {40, 70});
  const std::int64_t bf16 = packed_bytes(run, Precision::kBf16);
  EXPECT_EQ(bf16, 40 * 80 * 2);
  EXPECT_GE(packed_bytes(run, Precision::kF32), 2 * (bf16 - 40 * 16 * 2));
}

TEST(CpuMatMulConstant, KeepsHalfWeightsInTheirBytes) {
  const KernelRun run = constant_matmul_run({3, 40}, {40, 70});
  EXPECT_EQ(2 * packed_bytes(run, Precision::kF32, true), packed_bytes(run, Precision::kF32));
}

TEST(CpuMatMulConstant, HalfWeightsGiveTheBitsOfF32) {
  for (const std::int64_t rows : {1, 2, 3, 7, 200}) {
    const KernelRun run = with_half_weights(constant_matmul_run({rows, 700}, {700, 150}));
    const auto halves = run_kernel_tiles(run, make_of_halves);
    const auto floats = run_kernel_tiles(run, KernelLibrary::kCpu);
    ASSERT_TRUE(halves && floats);
    EXPECT_EQ(test_values<float>(halves->outputs[0]), test_values<float>(floats->outputs[0]));
  }
}

/// Returns `b` in another type, row by row or, if `turned`, column by column.
StoredForm stored_as(DType dtype, const Tensor& b, bool turned) {
  const std::int64_t rows = b.dims()[0], columns = b.dims()[1];
  const std::vector<float> elements = test_values<float>(b);
  std::vector<float> ordered = elements;
  for (std::int64_t k = 0; turned && k < rows; ++k)
    for (std::int64_t j = 0; j < columns; ++j)
      ordered[to_size(j * rows + k)] = elements[to_size(k * columns + j)];
  std::vector<std::byte> bytes(to_size(*bytes_of(dtype, b.dims())));
  write_elements<float>(dtype, ordered, bytes.data(), 0);
  const Dims dims = turned ? Dims{columns, rows} : b.dims();
  const StoredForm form = *own_form(make_constant(dtype, dims, bytes));
  return turned ? transposed_form(form, dims, {}) : form;
}

TEST(CpuMatMulConstant, PacksTheElementsOfAFile) {
  for (const auto& [turned, half] : std::vector<std::pair<bool, bool>>{
           {false, false}, {false, true}, {true, false}, {true, true}}) {
    for (const std::int64_t transposed : {0, 1}) {
      SCOPED_TRACE(testing::Message() << turned << " " << half << " " << transposed);
      KernelRun run = with_half_weights(
          constant_matmul_run({7, 70}, transposed != 0 ? Dims{150, 70} : Dims{70, 150}));
      run.op = OpKind::kGemm;
      run.attributes = test_attributes({{"transB", transposed}});
      const StoredForm form = stored_as(half ? DType::kF16 : DType::kF32, *run.inputs[1], turned);
      const auto stored = run_kernel_tiles(run, make_with_stored(form, half));
      const auto computed = run_kernel_tiles(run, KernelLibrary::kCpu);
      ASSERT_TRUE(stored && computed);
      EXPECT_EQ(test_values<float>(stored->outputs[0]), test_values<float>(computed->outputs[0]));
    }
  }
}

TEST_P(ConstantMatMul, GemmWithTransposeAlphaAndBias) {
  for (const std::int64_t transposed : {0, 1}) {
    // A power of two, so that rounding before and after the scale gives the same bits.
    for (const float alpha : {1.0F, 0.5F}) {
      KernelRun run = constant_matmul_run({9, 31}, transposed != 0 ? Dims{70, 31} : Dims{31, 70});
      run.op = OpKind::kGemm;
      run.attributes = test_attributes({{"transB", transposed}, {"alpha", alpha}});
      expect_products(GetParam(), run, kSums);
      run.inputs.emplace_back(random_floats({70}, 3));
      expect_products(GetParam(), run, kSums);
    }
  }
}

TEST(CpuGemmConstant, DeclinesWhatItDoesNotCover) {
  KernelRun run = constant_matmul_run({9, 31}, {31, 70});
  run.op = OpKind::kGemm;
  run.inputs.emplace_back(random_floats({9, 70}, 3));
  EXPECT_TRUE(cpu_declines(run));
  run.inputs[2] = random_floats({70}, 3);
  run.attributes = test_attributes({{"beta", 2.0F}});
  EXPECT_TRUE(cpu_declines(run));
}

TEST(CpuMatMulConstant, InBf16IsNearTheExactProduct) {
  PX_NEEDS_BF16();
  // Operands have a relative error of at most 2^-9, so the sum is off by 2^-8 of the sum of
  // magnitudes.
  constexpr std::int64_t kDepth = 200;
  const KernelRun run = constant_matmul_run({7, kDepth}, {kDepth, 30});
  const auto got = run_in_bf16(run);
  const auto want = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(got && want);
  const auto a = test_values<float>(*run.inputs[0]), b = test_values<float>(*run.inputs[1]);
  const auto x = test_values<float>(got->outputs[0]), y = test_values<float>((*want)[0]);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double magnitude = 0;
    for (std::size_t k = 0; k < kDepth; ++k)
      magnitude += std::abs(a[i / 30 * kDepth + k] * b[k * 30 + i % 30]);
    EXPECT_LE(std::abs(x[i] - y[i]), magnitude * 0x1.02p-8 + 1e-6);
    most = std::max<double>(most, std::abs(x[i] - y[i]));
  }
  EXPECT_GT(most, 1e-5) << "that was f32";
}

}  // namespace
}  // namespace parallax
