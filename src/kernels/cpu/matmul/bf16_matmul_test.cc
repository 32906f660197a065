#include <gtest/gtest.h>

#include "kernels/cpu/bf16_test_util.h"
#include "kernels/cpu/gemm/bf16_loops.h"

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

TEST(Bf16Rounding, IsToTheNearestAndToEven) {
  PX_NEEDS_BF16();
  std::vector<float> x = special_floats();
  for (const std::uint32_t bits : {0x3F808000U, 0x3F818000U, 0x3F808001U, 0x3F817FFFU, 0xBF808000U,
                                   0x7F7F8000U, 0x7F7F7FFFU, 0xFF7FFFFFU, 0x7F800001U, 0x00800000U})
    x.push_back(std::bit_cast<float>(bits));
  // Every length, so that whole vectors, parts of one and odd ends are met.
  for (std::size_t n = 1; n <= 70; ++n) {
    std::vector<float> row(n);
    for (std::size_t i = 0; i < n; ++i) row[i] = x[(i + n) % x.size()];
    const std::size_t pairs = (n + 1) / 2;
    std::vector<Bf16Pair> got(pairs + 1, 0xA5A5A5A5U);
    round_to_bf16(row.data(), n, 1, n, got.data(), pairs);
    EXPECT_EQ(got[pairs], 0xA5A5A5A5U) << "past the end of " << n;
    for (std::size_t i = 0; i < 2 * pairs; ++i) {
      const float rounded =
          std::bit_cast<float>((i % 2 == 0 ? got[i / 2] << 16U : got[i / 2] & 0xFFFF0000U));
      const float want = i < n ? rounded_to_bf16(row[i]) : 0.0F;
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(rounded)) << n << " " << i;
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(rounded), std::bit_cast<std::uint32_t>(want))
            << n << " " << i << ": " << row[i];
      }
    }
  }
}

TEST(Bf16MatMul, AgreesWithReferenceForEveryNumberOfRows) {
  PX_NEEDS_BF16();
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    SCOPED_TRACE(rows);
    expect_bf16_products(product({rows, 37}, {37, 83}), kSums);
  }
}

TEST(Bf16MatMul, AgreesWithReferenceForOddShapes) {
  PX_NEEDS_BF16();
  struct Case {
    Dims a, b;
  };
  for (const auto& [a, b] :
       {Case{{1}, {1, 1}}, Case{{5}, {5, 3}}, Case{{2, 3, 7, 5}, {5, 64}}, Case{{1, 2}, {2, 129}},
        Case{{4, 900}, {900, 70}}, Case{{40, 1700}, {1700, 33}}, Case{{300, 64}, {64, 200}},
        Case{{0, 4}, {4, 6}}, Case{{151, 1031}, {1031, 17}}}) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    expect_bf16_products(product(a, b), {1e-4, 1e-4});
  }
}

TEST(Bf16MatMul, FusesBiasAndActivation) {
  PX_NEEDS_BF16();
  for (const char* activation : {"", "Relu", "Silu", "Gelu"}) {
    for (const std::int64_t rows : {3, 50}) {
      SCOPED_TRACE(activation);
      KernelRun run = product({rows, 45}, {45, 77});
      run.inputs.emplace_back(random_floats({77}, 3));
      run.epilogue = then(activation);
      expect_bf16_products(run, kSums);
    }
  }
}

TEST(Bf16MatMul, GemmWithTransposeAndAlpha) {
  PX_NEEDS_BF16();
  for (const std::int64_t transposed : {0, 1}) {
    KernelRun run = product({9, 31}, transposed != 0 ? Dims{70, 31} : Dims{31, 70});
    run.op = OpKind::kGemm;
    // A power of two, so that rounding before and after it are the same.
    run.attributes = test_attributes({{"transB", transposed}, {"alpha", 0.5F}});
    run.inputs.emplace_back(random_floats({70}, 3));
    expect_bf16_products(run, kSums);
  }
}

TEST(Bf16MatMul, PropagatesNanAndInfinities) {
  PX_NEEDS_BF16();
  KernelRun run = product({3, 8}, {8, 5});
  std::vector<float> a(24, 1.0F);
  a[9] = std::nanf("");
  a[17] = std::numeric_limits<float>::infinity();
  run.inputs[0] = test_tensor<float>({3, 8}, a);
  expect_bf16_products(run, kSums);
}

TEST(Bf16MatMul, IsNearTheExactProduct) {
  PX_NEEDS_BF16();
  // Each operand is off by at most 2^-9 of itself, hence the sum by 2^-8 of the sum of magnitudes.
  constexpr std::int64_t kDepth = 200;
  const KernelRun run = product({7, kDepth}, {kDepth, 30});
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

TEST(Bf16MatMul, HalvesTheBytesOfWeights) {
  PX_NEEDS_BF16();
  const KernelRun run = product({3, 40}, {40, 70});
  const Graph graph = std::move(test_detail::one_node_graph(run)).value();
  const TensorView b = run.inputs[1]->view();
  std::int64_t bytes[2] = {};
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    PackedWeights packed;
    for (const std::int64_t rows : {1, 200}) {
      const TensorDesc inputs[] = {{true, DType::kF32, {rows, 40}, nullptr},
                                   {true, DType::kF32, b.dims, b.bytes.data()}};
      const TensorDesc output{true, DType::kF32, {rows, 70}, nullptr};
      ASSERT_TRUE(test_detail::make_of(
          {graph.nodes[NodeId{0}], inputs, {&output, 1}, packed, precision}, KernelLibrary::kCpu));
    }
    bytes[precision == Precision::kBf16 ? 1 : 0] = packed.total_bytes();
  }
  EXPECT_EQ(bytes[1], 40 * 80 * 2);
  EXPECT_GE(bytes[0], 2 * (bytes[1] - 40 * 16 * 2));
}

}  // namespace
}  // namespace parallax
