// Kernels in types that no kernel computes in, and reference kernels in those that few models have.
#include "kernels/widened.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_test_util.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<double>;

Tensor typed(DType dtype, const Dims& dims, const Numbers& numbers, Narrowing how = {}) {
  Tensor tensor = *Tensor::allocate(dtype, dims);
  write_elements(dtype, std::span<const double>(numbers), tensor.mutable_view().bytes.data(), 0,
                 how);
  return tensor;
}

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers(static_cast<std::size_t>(tensor.dims().elements()));
  read_elements(tensor.dtype(), tensor.view().bytes.data(), 0, std::span<double>(numbers));
  return numbers;
}

/// Output 0 of both libraries; a failure if they differ.
Numbers run_typed(const KernelRun& run, std::size_t output = 0) {
  const auto oracle = run_kernel(run, KernelLibrary::kReference);
  if (!oracle) {
    ADD_FAILURE() << to_string(run.op) << ": " << oracle.error().to_string();
    return {};
  }
  EXPECT_EQ((*oracle)[0].dtype(), run.inputs[0]->dtype()) << to_string(run.op);
  return numbers_of((*oracle)[output]);
}

TEST(Widened, ComputesAndNarrows) {
  const auto add = [](DType dtype, double a, double b) {
    return run_typed({OpKind::kAdd, test_inputs(typed(dtype, {2}, {a, a}), typed(dtype, {}, {b}))});
  };
  EXPECT_THAT(add(DType::kF16, 1.5, 2.25), ElementsAre(3.75, 3.75));
  EXPECT_THAT(add(DType::kF16, 2048, 1), ElementsAre(2048, 2048));
  EXPECT_THAT(add(DType::kF16, 65504, 65504), ElementsAre(INFINITY, INFINITY));
  EXPECT_THAT(add(DType::kBF16, 256, 1), ElementsAre(256, 256));
  EXPECT_THAT(add(DType::kI16, 32767, 1), ElementsAre(-32768, -32768));
  EXPECT_THAT(add(DType::kU16, 65535, 2), ElementsAre(1, 1));
  EXPECT_THAT(add(DType::kU32, 4294967295, 2), ElementsAre(1, 1));
}

TEST(Widened, WidensParametersOfOtherTypesThanTheImage) {
  for (const bool training : {false, true}) {
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
      const auto parameter = [&](double a, double b) { return typed(dtype, {2}, {a, b}); };
      const KernelRun run{
          OpKind::kBatchNormalization,
          test_inputs(typed(DType::kF32, {1, 2, 2}, {-1, 1, -1, 1}), parameter(1, 2),
                      parameter(0.5, 0.25), parameter(0, 0), parameter(1, 1)),
          test_attributes({{"epsilon", 0.0F}, {"training_mode", std::int64_t{training}}})};
      EXPECT_THAT(run_typed(run), ElementsAre(-0.5, 1.5, -1.75, 2.25)) << to_string(dtype);
    }
  }
}

TEST(Widened, WidensOtherInputsThanTheFirst) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    const KernelRun run{OpKind::kGridSample,
                        test_inputs(typed(DType::kF32, {1, 1, 4}, {1, 2, 3, 4}),
                                    typed(dtype, {1, 4, 1}, {-0.75, 0, 1, 3})),
                        test_attributes({{"mode", std::string("linear")}})};
    EXPECT_THAT(run_typed(run), ElementsAre(1, 2.5, 2, 0)) << to_string(dtype);
  }
}

TEST(Widened, TestsFloatsOfEightBits) {
  const auto test = [](OpKind op, DType dtype) {
    const auto got = run_kernel({op, test_inputs(typed(dtype, {3}, {NAN, INFINITY, 1}))},
                                KernelLibrary::kReference);
    return got ? numbers_of((*got)[0]) : Numbers{};
  };
  EXPECT_THAT(test(OpKind::kIsInf, DType::kF8E5M2), ElementsAre(0, 0, 0));  // saturated
  for (const DType dtype :
       {DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ}) {
    EXPECT_THAT(test(OpKind::kIsNaN, dtype), ElementsAre(1, 0, 0)) << to_string(dtype);
  }
}

TEST(Widened, MovesElementsBelowAByte) {
  const auto permuted = [](DType dtype) {
    return run_typed(
        {OpKind::kTranspose, test_inputs(typed(dtype, {3, 3}, {0, 1, 0, 1, 1, 0, 1, 0, 0}))});
  };
  for (const DType dtype : {DType::kU2, DType::kI2, DType::kU4, DType::kI4, DType::kF4E2M1,
                            DType::kF8E5M2, DType::kF16})
    EXPECT_THAT(permuted(dtype), ElementsAre(0, 1, 1, 1, 1, 0, 0, 0, 0)) << to_string(dtype);
}

TEST(Widened, KeepsInfinitiesThatItMoves) {
  const auto infinite = [] {
    return typed(DType::kF8E5M2, {1, 2}, {INFINITY, -INFINITY}, {.saturate = false});
  };
  EXPECT_THAT(run_typed({OpKind::kTensorScatter,
                         test_inputs(typed(DType::kF8E5M2, {1, 3}, {1, 2, 3}), infinite()),
                         test_attributes({{"axis", std::int64_t{1}}})}),
              ElementsAre(INFINITY, -INFINITY, 3));
  EXPECT_THAT(run_typed({OpKind::kConcat, test_inputs(infinite(), infinite()),
                         test_attributes({{"axis", std::int64_t{1}}})}),
              ElementsAre(INFINITY, -INFINITY, INFINITY, -INFINITY));
}

TEST(Widened, CutsElementwiseOperatorsIntoTiles) {
  constexpr std::int64_t kSeveral = 20001;
  const Numbers ones(kSeveral, 1);
  KernelRun run{OpKind::kMul, test_inputs(typed(DType::kF16, {3, kSeveral / 3}, ones),
                                          typed(DType::kF16, {}, {0.5}))};
  const auto outcome = run_kernel_tiles(run, KernelLibrary::kReference);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->tiles, 3);
  EXPECT_THAT(numbers_of(outcome->outputs[0]), testing::Each(0.5));
  // The rows of an operand that repeats are no tiles.
  KernelRun repeated{OpKind::kMul, test_inputs(typed(DType::kF16, {3, kSeveral / 3}, ones),
                                               typed(DType::kF16, {3, 1}, {1, 2, 3}))};
  const auto whole = run_kernel_tiles(repeated, KernelLibrary::kReference);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->tiles, 1);
  EXPECT_EQ(numbers_of(whole->outputs[0]).back(), 3);
}

TEST(Widened, SizesItsOutputsWhileRunning) {
  const KernelRun run{OpKind::kNonZero, test_inputs(typed(DType::kF16, {4}, {0, 1, 0, 2}))};
  const auto outputs = run_kernel(run, KernelLibrary::kReference);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(1, 3));
}

TEST(Widened, TakesTensorsWithoutElements) {
  EXPECT_TRUE(run_typed({OpKind::kRelu, test_inputs(typed(DType::kF16, {0, 3}, {}))}).empty());
  EXPECT_TRUE(run_typed({OpKind::kTranspose, test_inputs(typed(DType::kI4, {0, 3}, {}))}).empty());
  EXPECT_THAT(run_typed({OpKind::kMatMul, test_inputs(typed(DType::kF16, {1, 0}, {}),
                                                      typed(DType::kF16, {0, 1}, {}))}),
              ElementsAre(0));
}

/// One third in f64 is not what it is in f32.
TEST(Reference, ComputesF64InF64) {
  constexpr double kThird = 1.0 / 3;
  const auto of = [](OpKind op, Attributes attributes = {}) {
    return run_typed(
        {op, test_inputs(typed(DType::kF64, {1, 2}, {kThird, -kThird})), std::move(attributes)});
  };
  EXPECT_NEAR(of(OpKind::kExp)[0], std::exp(kThird), 1e-15);
  EXPECT_NEAR(of(OpKind::kErf)[0], std::erf(kThird), 1e-15);
  EXPECT_NEAR(of(OpKind::kTanh)[1], std::tanh(-kThird), 1e-15);
  EXPECT_NEAR(of(OpKind::kSigmoid)[0], 1 / (1 + std::exp(-kThird)), 1e-15);
  EXPECT_NEAR(of(OpKind::kGelu)[0], kThird / 2 * (1 + std::erf(kThird * M_SQRT1_2)), 1e-15);
  EXPECT_NEAR(of(OpKind::kSoftmax)[0], 1 / (1 + std::exp(-2 * kThird)), 1e-15);
  EXPECT_NEAR(of(OpKind::kLpNormalization)[0], M_SQRT1_2, 1e-15);
  EXPECT_NEAR(of(OpKind::kReduceL2)[0], kThird * M_SQRT2, 1e-15);
  const auto matrix = [] { return typed(DType::kF64, {1, 1, 1, 1}, {kThird}); };
  for (const OpKind op : {OpKind::kMatMul, OpKind::kConv})
    EXPECT_EQ(run_typed({op, test_inputs(matrix(), matrix())})[0], kThird * kThird);
  EXPECT_EQ(run_typed({OpKind::kPow, test_inputs(matrix(), matrix())})[0],
            std::pow(kThird, kThird));
}

TEST(Reference, ComputesU64Unsigned) {
  const auto top = [] {
    Tensor tensor = *Tensor::allocate(DType::kU64, {2});
    tensor.mutable_view().as<std::uint64_t>()[0] = ~0ULL;
    tensor.mutable_view().as<std::uint64_t>()[1] = 3;
    return tensor;
  };
  const auto two = [] { return typed(DType::kU64, {}, {2}); };
  const auto run = [&](OpKind op, Attributes attributes = {}) {
    const auto outputs = run_kernel({op, test_inputs(top(), two()), std::move(attributes)},
                                    KernelLibrary::kReference);
    return outputs ? test_values<std::uint64_t>((*outputs)[0]) : std::vector<std::uint64_t>{};
  };
  EXPECT_THAT(run(OpKind::kDiv), ElementsAre(~0ULL / 2, 1));
  EXPECT_THAT(run(OpKind::kMod), ElementsAre(1, 1));
  EXPECT_THAT(run(OpKind::kAdd), ElementsAre(1, 5));
  EXPECT_THAT(run(OpKind::kMax), ElementsAre(~0ULL, 3));
}

TEST(ReferenceCast, GoesFromAnyTypeToAnyOther) {
  for (std::size_t from = 0; from < kDTypes.size(); ++from) {
    for (std::size_t to = 0; to < kDTypes.size(); ++to) {
      if (kDTypes[from].bits == 0 || kDTypes[to].bits == 0) continue;
      const KernelRun run{OpKind::kCast,
                          test_inputs(typed(static_cast<DType>(from), {3}, {1, 1, 1})),
                          test_attributes({{"to", std::int64_t{kDTypes[to].onnx}}})};
      const auto outputs = run_kernel(run, KernelLibrary::kReference);
      ASSERT_TRUE(outputs.has_value()) << kDTypes[from].text << kDTypes[to].text;
      EXPECT_EQ((*outputs)[0].dtype(), static_cast<DType>(to));
      EXPECT_THAT(numbers_of((*outputs)[0]), ElementsAre(1, 1, 1))
          << kDTypes[from].text << kDTypes[to].text;
    }
  }
}

}  // namespace
}  // namespace parallax
