#include <cstdint>
#include <vector>

#include "kernels/reference/testing.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

using ByteList = std::vector<std::uint8_t>;
using SignedByteList = std::vector<std::int8_t>;
using IntList = std::vector<std::int32_t>;

TEST(ReferenceQuantize, RoundsHalvesToEvenAndSaturates) {
  const auto x = [] { return row<float>({0, 2, 3, 1000, -254, -1000, 1, kNan, kInf, -kInf}); };
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kQuantizeLinear,
                                  test_inputs(x(), scalar(2.0F), scalar<std::uint8_t>(128))),
            (ByteList{128, 129, 130, 255, 1, 0, 128, 128, 255, 0}));
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kQuantizeLinear, test_inputs(x(), scalar(2.0F))),
            (ByteList{0, 1, 2, 255, 0, 0, 0, 0, 255, 0}));
  EXPECT_EQ(
      run_one<std::uint8_t>(OpKind::kQuantizeLinear, test_inputs(x(), scalar<std::int32_t>(4))),
      (ByteList{0, 0, 1, 250, 0, 0, 0, 0, 255, 0}));
}

TEST(ReferenceQuantize, HasAScaleForEachIndexOfAnAxis) {
  const auto x = [] { return test_tensor<float>({2, 3}, {1, 2, 3, 10, 20, 30}); };
  EXPECT_EQ(run_one<std::int8_t>(OpKind::kQuantizeLinear,
                                 test_inputs(x(), row<float>({1, 10}), row<std::int8_t>({0, -1})),
                                 on_axis(0)),
            (SignedByteList{1, 2, 3, 0, 1, 2}));
  EXPECT_EQ(run_one<std::int8_t>(
                OpKind::kQuantizeLinear,
                test_inputs(x(), row<float>({1, 2, 3}), row<std::int8_t>({0, 0, 1})), on_axis(-1)),
            (SignedByteList{1, 1, 2, 10, 10, 11}));
}

TEST(ReferenceQuantize, HasAScaleForEachBlock) {
  const auto x = [] { return test_tensor<float>({1, 5}, {2, 4, 30, 60, 500}); };
  const auto scale = [] { return test_tensor<float>({1, 3}, {2, 10, 100}); };
  const Attributes blocks =
      test_attributes({{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}});
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kQuantizeLinear, test_inputs(x(), scale()), blocks),
            (ByteList{1, 2, 3, 6, 5}));
  EXPECT_EQ(run_one<float>(OpKind::kDequantizeLinear,
                           test_inputs(test_tensor<std::uint8_t>({1, 5}, {1, 2, 3, 6, 5}), scale()),
                           blocks),
            (Floats{2, 4, 30, 60, 500}));
}

TEST(ReferenceQuantize, LooksBytesUp) {
  ByteList entries(kByteTableSize);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<std::uint8_t>(255 - i);
  const Constant table =
      make_constant(DType::kU8, Dims{kByteTableSize}, std::as_bytes(std::span(entries)));
  const Attributes through =
      test_attributes({{std::string(param_name(&ByteTableParams::table)), table}});
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kQuantizeLinear,
                                  test_inputs(row<std::int8_t>({0, 1, -1, -128})), through),
            (ByteList{255, 254, 0, 127}));
}

TEST(ReferenceDequantize, TakesTheZeroPointAwayExactly) {
  EXPECT_EQ(run_one<float>(OpKind::kDequantizeLinear,
                           test_inputs(row<std::uint8_t>({0, 3, 255}), scalar(2.0F),
                                       scalar<std::uint8_t>(128))),
            (Floats{-256, -250, 254}));
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(run_one<float>(OpKind::kDequantizeLinear,
                           test_inputs(row<std::int32_t>({kLowest}), scalar(1.0F), scalar(1))),
            (Floats{-2147483649.0F}));
}

TEST(ReferenceDynamicQuantize, WidensTheRangeToHoldZero) {
  const auto x = [] { return row<float>({0, 2, -3, -2.5F, 1.34F, 0.5F}); };
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kDynamicQuantizeLinear, test_inputs(x()), {}, 3),
            (ByteList{153, 255, 0, 26, 221, 179}));
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kDynamicQuantizeLinear, test_inputs(x()), {}, 3, 2),
            (ByteList{153}));
  expect_near(run_one<float>(OpKind::kDynamicQuantizeLinear, test_inputs(x()), {}, 3, 1),
              {5.0F / 255});
  EXPECT_EQ(run_one<std::uint8_t>(OpKind::kDynamicQuantizeLinear,
                                  test_inputs(row<float>({0, kNan})), {}, 3),
            (ByteList{0, 0}));
  EXPECT_EQ(run_one<float>(OpKind::kDynamicQuantizeLinear, test_inputs(row<float>({})), {}, 3, 1),
            (Floats{1}));
}

TEST(ReferenceMatMulInteger, TakesZeroPointsAwayFromRowsAndColumns) {
  const auto a = [] { return test_tensor<std::uint8_t>({2, 3}, {11, 7, 3, 10, 6, 2}); };
  const auto b = [] { return test_tensor<std::int8_t>({3, 2}, {1, 4, 2, 5, 3, 6}); };
  EXPECT_EQ(run_one<std::int32_t>(OpKind::kMatMulInteger,
                                  test_inputs(a(), b(), scalar<std::uint8_t>(12))),
            (IntList{-38, -83, -44, -98}));
  EXPECT_EQ(run_one<std::int32_t>(
                OpKind::kMatMulInteger,
                test_inputs(a(), b(), row<std::uint8_t>({12, 10}), row<std::int8_t>({0, 1}))),
            (IntList{-38, -68, -32, -56}));
}

TEST(ReferenceMatMulInteger, ScalesAddsABiasAndQuantises) {
  const auto inputs = [] {
    return test_inputs(test_tensor<std::uint8_t>({1, 2}, {3, 5}),
                       test_tensor<std::int8_t>({2, 2}, {1, -2, 3, 4}), scalar<std::uint8_t>(1),
                       std::nullopt, scalar(0.5F), row<float>({1, 2}), row<float>({1, -1}));
  };
  EXPECT_EQ(run_one<float>(OpKind::kMatMulInteger, inputs()), (Floats{8, 11}));
  auto requantised = inputs();
  requantised.emplace_back(scalar(0.5F));
  requantised.emplace_back(scalar<std::int8_t>(-5));
  EXPECT_EQ(run_one<std::int8_t>(OpKind::kMatMulInteger, std::move(requantised)),
            (SignedByteList{11, 17}));
}

TEST(ReferenceConvInteger, AddsNothingForThePadding) {
  const auto x = [] {
    return test_tensor<std::uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10});
  };
  const auto w = [] { return test_tensor<std::uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1}); };
  EXPECT_EQ(
      run_one<std::int32_t>(OpKind::kConvInteger, test_inputs(x(), w(), scalar<std::uint8_t>(1))),
      (IntList{12, 16, 24, 28}));
  EXPECT_EQ(
      run_one<std::int32_t>(OpKind::kConvInteger, test_inputs(x(), w(), scalar<std::uint8_t>(1)),
                            test_attributes({{"pads", Ints{1, 1, 1, 1}}})),
      (IntList{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
}

TEST(ReferenceConvInteger, HasNoProductsWithoutElements) {
  EXPECT_EQ(run_one<std::int32_t>(OpKind::kMatMulInteger,
                                  test_inputs(test_tensor<std::uint8_t>({1, 0}, {}),
                                              test_tensor<std::int8_t>({0, 2}, {}))),
            (IntList{0, 0}));
  EXPECT_EQ(run_one<std::int32_t>(OpKind::kConvInteger,
                                  test_inputs(test_tensor<std::uint8_t>({0, 1, 3, 3}, {}),
                                              test_tensor<std::int8_t>({1, 1, 1, 1}, {2}))),
            (IntList{}));
}

}  // namespace
}  // namespace parallax
