// ConvTranspose, pools and their inverse, normalisation by channel, sampling and regions.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::Each;
using testing::ElementsAre;

/// 1, 2, 3, ...
Tensor counted_up(const Dims& dims) {
  Floats elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i + 1);
  return test_tensor<float>(dims, elements);
}
Tensor line(const Floats& elements) {
  return test_tensor<float>({1, 1, static_cast<std::int64_t>(elements.size())}, elements);
}
Tensor one_channel(const Floats& elements) { return row<float>(elements); }

TEST(ReferenceConvTranspose, SpreadsByHand) {
  struct Case {
    Attributes attributes;
    Floats expected;
  };
  const Case cases[] = {
      {{}, {1, 12, 23, 30}},
      {test_attributes({{"strides", Ints{2}}}), {1, 10, 2, 20, 3, 30}},
      {test_attributes({{"strides", Ints{3}}, {"output_padding", Ints{1}}}),
       {1, 10, 0, 2, 20, 0, 3, 30, 0}},
      {test_attributes({{"dilations", Ints{2}}}), {1, 2, 13, 20, 30}},
      {test_attributes({{"pads", Ints{1, 1}}}), {12, 23}},
      {test_attributes({{"auto_pad", std::string("SAME_UPPER")}}), {1, 12, 23}},
      {test_attributes({{"auto_pad", std::string("SAME_LOWER")}}), {12, 23, 30}},
      {test_attributes({{"output_shape", Ints{3}}}), {12, 23, 30}},
      {test_attributes({{"output_shape", Ints{6}}}), {1, 12, 23, 30, 0, 0}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_one<float>(OpKind::kConvTranspose, test_inputs(line({1, 2, 3}), line({1, 10})),
                             c.attributes),
              c.expected);
  }
}

TEST(ReferenceConvTranspose, GroupsBiasLayoutsAndEmptyImages) {
  const auto groups = test_attributes({{"group", std::int64_t{2}}});
  const auto weight = [] { return test_tensor<float>({2, 1, 1}, {2, 3}); };
  EXPECT_THAT(run_one<float>(OpKind::kConvTranspose,
                             test_inputs(counted_up({1, 2, 2}), weight(), row<float>({1, -20})),
                             groups, 1, 0, then("Relu")),
              ElementsAre(3, 5, 0, 0));
  const auto nhwc = test_attributes({{"layout", std::string("NHWC")}});
  // Two channels of one pixel, one filter of two taps each.
  EXPECT_THAT(run_one<float>(OpKind::kConvTranspose,
                             test_inputs(test_tensor<float>({1, 1, 2}, {1, 2}),
                                         test_tensor<float>({2, 1, 2}, {1, 10, 100, 1000})),
                             nhwc),
              ElementsAre(201, 2010));
  EXPECT_THAT(
      run_one<float>(OpKind::kConvTranspose, test_inputs(test_tensor<float>({1, 1, 0}, {}),
                                                         line({1, 2, 3}), one_channel({7}))),
      ElementsAre(7, 7));
  EXPECT_THAT(run_one<float>(OpKind::kConvTranspose,
                             test_inputs(counted_up({1, 1, 1, 1, 2}), counted_up({1, 1, 2, 1, 1}))),
              ElementsAre(1, 2, 2, 4));
}

TEST(ReferenceLpPool, NormsOfWindows) {
  const auto attributes = [](std::int64_t p) {
    return test_attributes({{"kernel_shape", Ints{2}}, {"p", p}, {"pads", Ints{1, 0}}});
  };
  const auto x = [] { return line({-3, 4, 0}); };
  EXPECT_THAT(run_one<float>(OpKind::kLpPool, test_inputs(x()), attributes(1)),
              ElementsAre(3, 7, 4));
  EXPECT_THAT(run_one<float>(OpKind::kLpPool, test_inputs(x()), attributes(2)),
              ElementsAre(3, 5, 4));
  expect_near(run_one<float>(OpKind::kLpPool, test_inputs(x()), attributes(3)),
              {3, std::cbrt(91.0F), 4});
}

TEST(ReferenceGlobalPools, AllElementsOfAChannel) {
  const auto x = [] { return test_tensor<float>({1, 2, 2}, {-3, 4, -5, -6}); };
  EXPECT_THAT(run_one<float>(OpKind::kGlobalMaxPool, test_inputs(x())), ElementsAre(4, -5));
  expect_near(run_one<float>(OpKind::kGlobalLpPool, test_inputs(x())), {5, std::sqrt(61.0F)});
  EXPECT_TRUE(
      std::isnan(run_one<float>(OpKind::kGlobalMaxPool, test_inputs(line({1, kNan, 2}))).at(0)));
  EXPECT_THAT(run_one<float>(OpKind::kGlobalMaxPool, test_inputs(line({}))), ElementsAre(-kInf));
}

TEST(ReferenceMaxUnpool, PutsElementsBack) {
  const auto two = test_attributes({{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  const auto indices = [](Ints at) {
    return test_tensor<std::int64_t>({1, 1, static_cast<std::int64_t>(at.size())}, at);
  };
  EXPECT_THAT(run_one<float>(OpKind::kMaxUnpool, test_inputs(line({5, 6}), indices({1, 2})), two),
              ElementsAre(0, 5, 6, 0));
  EXPECT_THAT(run_one<float>(OpKind::kMaxUnpool,
                             test_inputs(line({5, 6}), indices({1, 3}), ints({1, 1, 5})), two),
              ElementsAre(0, 5, 0, 6, 0));
  for (const std::int64_t outside : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 62}) {
    EXPECT_EQ(
        error_of(OpKind::kMaxUnpool, test_inputs(line({5, 6}), indices({1, outside})), two).code,
        ErrorCode::kOutOfRange);
  }
}

TEST(ReferenceChannels, NormalisedByTheirStatistics) {
  const auto x = [] { return test_tensor<float>({1, 2, 2}, {1, 3, 10, 30}); };
  const auto none = test_attributes({{"epsilon", 0.0F}, {"num_groups", std::int64_t{2}}});
  const auto scale = [] { return row<float>({1, 2}); };
  const auto bias = [] { return row<float>({0, 5}); };
  EXPECT_THAT(run_one<float>(OpKind::kGroupNormalization, test_inputs(x(), scale(), bias()), none),
              ElementsAre(-1, 1, 3, 7));
  EXPECT_THAT(run_one<float>(OpKind::kInstanceNormalization, test_inputs(x(), scale(), bias()),
                             test_attributes({{"epsilon", 0.0F}})),
              ElementsAre(-1, 1, 3, 7));
  // One group of both channels: mean 11, deviation sqrt(131.5); one scale for it.
  const auto together = test_attributes({{"epsilon", 0.0F}, {"num_groups", std::int64_t{1}}});
  const float d = std::sqrt(131.5F);
  expect_near(run_one<float>(OpKind::kGroupNormalization,
                             test_inputs(x(), row<float>({1}), row<float>({1})), together),
              {1 - 10 / d, 1 - 8 / d, 1 - 1 / d, 1 + 19 / d});
}

TEST(ReferenceBatchNormalization, TrainsOnTheBatch) {
  const auto attributes =
      test_attributes({{"epsilon", 0.0F}, {"momentum", 0.75F}, {"training_mode", std::int64_t{1}}});
  const auto run = [&](std::size_t output) {
    return run_one<float>(OpKind::kBatchNormalization,
                          test_inputs(test_tensor<float>({2, 1, 2}, {1, 3, 1, 3}), row<float>({2}),
                                      row<float>({5}), row<float>({4}), row<float>({9})),
                          attributes, 3, output);
  };
  EXPECT_THAT(run(0), ElementsAre(3, 7, 3, 7));
  EXPECT_THAT(run(1), ElementsAre(3.5F));
  EXPECT_THAT(run(2), ElementsAre(7));
}

TEST(ReferenceLrn, SumsNeighbouringChannels) {
  const auto x = [] { return test_tensor<float>({1, 3, 1}, {1, 2, 3}); };
  const auto attributes = [](std::int64_t size) {
    return test_attributes(
        {{"size", size}, {"alpha", static_cast<float>(size)}, {"beta", 1.0F}, {"bias", 1.0F}});
  };
  expect_near(run_one<float>(OpKind::kLRN, test_inputs(x()), attributes(3)),
              {1 / 6.0F, 2 / 15.0F, 3 / 14.0F});
  // Windows of even size have one more channel after the centre than before it.
  expect_near(run_one<float>(OpKind::kLRN, test_inputs(x()), attributes(2)),
              {1 / 6.0F, 2 / 14.0F, 3 / 10.0F});
  expect_near(run_one<float>(OpKind::kLRN, test_inputs(x()),
                             test_attributes({{"size", std::int64_t{1} << 62}, {"beta", 0.0F}})),
              {1, 2, 3});
}

TEST(ReferenceGridSample, ModesAndPaddings) {
  struct Case {
    const char *mode, *padding;
    std::int64_t corners;
    Floats at, expected;
  };
  // 1 2 3 4 at -0.75 -0.25 0.25 0.75, or at -1 to 1 between corners.
  const Case cases[] = {
      {"linear", "zeros", 0, {-0.75F, 0, 1, 3}, {1, 2.5F, 2, 0}},
      {"linear", "border", 0, {-1, 1, 9, kNan}, {1, 4, 4, 1}},
      {"linear", "reflection", 0, {-1.25F, 1.25F, 1.75F, -5}, {1, 4, 3, 1}},
      {"linear", "reflection", 1, {-5 / 3.0F, 5 / 3.0F, 1, -1}, {2, 3, 4, 1}},
      {"nearest", "zeros", 0, {-0.8F, 0.2F, 1.3F, kInf}, {1, 3, 0, 0}},
      {"linear", "zeros", 1, {-1, 0, 1, kNan}, {1, 2.5F, 4, 0}},
      {"cubic", "border", 1, {-1, 0, 1, -9}, {1, 2.5F, 4, 1}},
  };
  for (const Case& c : cases) {
    expect_near(run_one<float>(OpKind::kGridSample,
                               test_inputs(line({1, 2, 3, 4}), test_tensor<float>({1, 4, 1}, c.at)),
                               test_attributes({{"mode", std::string(c.mode)},
                                                {"padding_mode", std::string(c.padding)},
                                                {"align_corners", c.corners}})),
                c.expected);
  }
}

TEST(ReferenceGridSample, CoordinatesNameTheLastAxisFirst) {
  const auto at = [] { return test_tensor<float>({1, 1, 1, 2}, {1, -1}); };
  const auto corners = test_attributes({{"align_corners", std::int64_t{1}}});
  EXPECT_THAT(
      run_one<float>(OpKind::kGridSample, test_inputs(counted_up({1, 2, 2, 3}), at()), corners),
      ElementsAre(3, 9));
  EXPECT_THAT(run_one<float>(OpKind::kGridSample,
                             test_inputs(test_tensor<float>({1, 1, 0, 3}, {}), at()), corners),
              ElementsAre(0));
}

TEST(ReferenceDeformConv, OffsetsAndMasks) {
  // Taps at 0 and 1, moved by 0.5 and -7; then halved by the mask.
  const auto x = [] { return test_tensor<float>({1, 1, 2}, {1, 3}); };
  const auto offsets = [] { return test_tensor<float>({1, 2, 1}, {0.5F, -7}); };
  EXPECT_THAT(run_one<float>(OpKind::kDeformConv, test_inputs(x(), line({10, 100}), offsets())),
              ElementsAre(20));
  EXPECT_THAT(run_one<float>(OpKind::kDeformConv,
                             test_inputs(x(), line({10, 100}), offsets(), row<float>({1}),
                                         test_tensor<float>({1, 2, 1}, {0.5F, 1}))),
              ElementsAre(11));
  EXPECT_THAT(
      run_one<float>(OpKind::kDeformConv, test_inputs(x(), line({10, 100}),
                                                      test_tensor<float>({1, 2, 1}, {kNan, kInf}))),
      ElementsAre(0));
}

TEST(ReferenceMaxRoiPool, CellsOfRegions) {
  const auto pool = [](const Floats& region) {
    return run_one<float>(OpKind::kMaxRoiPool,
                          test_inputs(counted_up({1, 1, 4, 4}), test_tensor<float>({1, 5}, region)),
                          test_attributes({{"pooled_shape", Ints{2, 2}}}));
  };
  EXPECT_THAT(pool({0, 0, 0, 3, 3}), ElementsAre(6, 8, 14, 16));
  EXPECT_THAT(pool({0, -9, -9, -5, -5}), Each(0));
  EXPECT_THAT(pool({0, -1e30F, -1e30F, 1e30F, 1e30F}), ElementsAre(1, 4, 13, 16));
  EXPECT_THAT(pool({kNan, kNan, kNan, kNan, kNan}), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(
      error_of(OpKind::kMaxRoiPool,
               test_inputs(counted_up({1, 1, 4, 4}), test_tensor<float>({1, 5}, {1, 0, 0, 3, 3})),
               test_attributes({{"pooled_shape", Ints{2, 2}}}))
          .code,
      ErrorCode::kOutOfRange);
}

TEST(ReferenceRoiAlign, MeansOfSamples) {
  const auto align = [](const Floats& region, Attributes attributes) {
    return run_one<float>(
        OpKind::kRoiAlign,
        test_inputs(counted_up({1, 1, 4, 4}), test_tensor<float>({1, 4}, region), ints({0})),
        std::move(attributes));
  };
  EXPECT_THAT(align({0, 0, 4, 4}, {}), ElementsAre(8.5F));
  EXPECT_THAT(align({1, 1, 2, 2}, test_attributes({{"coordinate_transformation_mode",
                                                    std::string("output_half_pixel")}})),
              ElementsAre(8.5F));
  EXPECT_THAT(align({0, 0, 4, 4}, test_attributes({{"mode", std::string("max")},
                                                   {"sampling_ratio", std::int64_t{4}}})),
              ElementsAre(16));
  // Far outside, endless and absurd regions give nothing.
  for (const Floats& region : {Floats{90, 90, 95, 95}, Floats{kNan, kNan, kNan, kNan},
                               Floats{0, 0, kInf, kInf}, Floats{3, 3, 0, 0}})
    EXPECT_THAT(align(region, {}), ElementsAre(0));
  EXPECT_NEAR(align({-1e6F, -1e6F, 1e6F, 1e6F}, {}).at(0), 0, 1e-3F);
}

TEST(ReferenceResize, CubicAntialiasAndRegions) {
  const auto resize = [](const Floats& x, std::optional<Tensor> region, const Ints& size,
                         Attributes attributes) {
    return run_one<float>(OpKind::kResize,
                          test_inputs(row<float>(x), std::move(region), std::nullopt, ints(size)),
                          std::move(attributes));
  };
  const auto mode = [](const char* name) { return test_attributes({{"mode", std::string(name)}}); };
  // Half way between elements, weights -3/32 19/32 19/32 -3/32.
  expect_near(resize({0, 32, 64, 0}, std::nullopt, {2}, mode("cubic")), {13, 35});
  auto excluding = mode("cubic");
  excluding.set("exclude_outside", std::int64_t{1});
  expect_near(resize({0, 32, 64, 0}, std::nullopt, {2}, excluding),
              {(19 * 32 - 3 * 64) / 35.0F, (-3 * 32 + 19 * 64) / 35.0F});
  auto smooth = mode("linear");
  smooth.set("antialias", std::int64_t{1});
  // Triangles of four elements: 1/8 3/8 3/8 1/8, edges repeated.
  expect_near(resize({8, 8, 16, 24}, std::nullopt, {2}, smooth), {9, 19});
  // 8.875 and 19.125.
  EXPECT_THAT(run_one<std::uint8_t>(OpKind::kResize,
                                    test_inputs(row<std::uint8_t>({8, 8, 15, 25}), std::nullopt,
                                                std::nullopt, ints({2})),
                                    smooth),
              ElementsAre(9, 19));
  auto crop =
      test_attributes({{"mode", std::string("linear")},
                       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                       {"extrapolation_value", 7.0F}});
  expect_near(resize({1, 2, 3, 4}, row<float>({1 / 3.0F, 1}), {3}, crop), {2, 3, 4});
  expect_near(resize({1, 2, 3, 4}, row<float>({0, 2}), {3}, crop), {1, 4, 7});
  expect_near(resize({1, 2, 3, 4}, row<float>({kNan, 2}), {3}, crop), {7, 7, 7});
}

TEST(ReferenceResize, KeepsTheRatioOfAxes) {
  const auto attributes =
      test_attributes({{"keep_aspect_ratio_policy", std::string("not_larger")}});
  EXPECT_THAT(run_one<float>(OpKind::kResize,
                             test_inputs(test_tensor<float>({1, 2}, {1, 2}), std::nullopt,
                                         std::nullopt, ints({9, 4})),
                             attributes),
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
}

}  // namespace
}  // namespace parallax
