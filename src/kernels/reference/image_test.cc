// Conv, pools and Resize, each in both layouts.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

using testing::ElementsAre;

Attributes with(Attributes attributes, std::string name, AttributeValue value) {
  attributes.set(std::move(name), std::move(value));
  return attributes;
}
Tensor from_one(const Dims& dims) {
  Floats elements(static_cast<std::size_t>(dims.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i + 1);
  return test_tensor<float>(dims, elements);
}

TEST(ReferenceConv, PadsStridesDilationsGroupsByHand) {
  // One row 1 2 3 4 5.
  const auto x = [] { return from_one({1, 1, 5}); };
  const auto w = [](Floats taps) {
    return test_tensor<float>({1, 1, static_cast<std::int64_t>(taps.size())}, taps);
  };
  EXPECT_THAT(run_one<float>(OpKind::kConv, test_inputs(x(), w({1, 10}))),
              ElementsAre(21, 32, 43, 54));
  EXPECT_THAT(run_one<float>(OpKind::kConv, test_inputs(x(), w({1, 10})),
                             test_attributes({{"pads", Ints{1, 0}}, {"strides", Ints{2}}})),
              ElementsAre(10, 32, 54));
  EXPECT_THAT(run_one<float>(OpKind::kConv, test_inputs(x(), w({1, 10})),
                             test_attributes({{"dilations", Ints{3}}})),
              ElementsAre(41, 52));
  EXPECT_THAT(run_one<float>(OpKind::kConv, test_inputs(x(), w({1, 10})),
                             test_attributes({{"auto_pad", std::string("SAME_UPPER")}})),
              ElementsAre(21, 32, 43, 54, 5));
  EXPECT_THAT(run_one<float>(OpKind::kConv, test_inputs(x(), w({1, 10})),
                             test_attributes({{"auto_pad", std::string("SAME_LOWER")}})),
              ElementsAre(10, 21, 32, 43, 54));
  EXPECT_THAT(run_one<float>(OpKind::kConv,
                             test_inputs(from_one({1, 2, 2}), test_tensor<float>({2, 1, 1}, {2, 3}),
                                         row<float>({1, -20})),
                             test_attributes({{"group", std::int64_t{2}}}), 1, 0, then("Relu")),
              ElementsAre(3, 5, 0, 0));
}

TEST(ReferenceConv, AddsTheResidualBeforeTheActivation) {
  const auto run = [](const Dims& x, const Dims& y, bool nhwc, std::optional<Tensor> bias) {
    return run_one<float>(OpKind::kConv,
                          test_inputs(from_one(x), test_tensor<float>({2, 1, 1}, {2, 3}),
                                      std::move(bias), test_tensor<float>(y, {10, -7, -6, 20})),
                          test_attributes({{"layout", std::string(nhwc ? "NHWC" : "NCHW")}}), 1, 0,
                          then("Relu"));
  };
  // Products 2 4 3 6 of one filter after the other, and 2 3 4 6 of one pixel after the other.
  EXPECT_THAT(run({1, 1, 2}, {1, 2, 2}, false, std::nullopt), ElementsAre(12, 0, 0, 26));
  EXPECT_THAT(run({1, 2, 1}, {1, 2, 2}, true, row<float>({1, -20})), ElementsAre(13, 0, 0, 6));
}

/// Index arithmetic written out: the sum over every tap that falls on the image.
float conv_at(const Floats& x, const Floats& w, std::int64_t channels, std::int64_t size,
              std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t m,
              std::int64_t oy, std::int64_t ox) {
  float sum = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t ky = 0; ky < kernel; ++ky) {
      for (std::int64_t kx = 0; kx < kernel; ++kx) {
        const std::int64_t y = oy * stride + ky - pad, z = ox * stride + kx - pad;
        if (y < 0 || z < 0 || y >= size || z >= size) continue;
        sum += w[static_cast<std::size_t>(((m * channels + c) * kernel + ky) * kernel + kx)] *
               x[static_cast<std::size_t>((c * size + y) * size + z)];
      }
    }
  }
  return sum;
}

RC_GTEST_PROP(ReferenceConvProperty, BothLayoutsEqualThePlainLoops, ()) {
  const auto channels = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto filters = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto kernel = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto size = *rc::gen::inRange<std::int64_t>(kernel, 9);
  const auto stride = *rc::gen::inRange<std::int64_t>(1, 4);
  const auto pad = *rc::gen::inRange<std::int64_t>(0, 4);
  const std::int64_t out = (size + 2 * pad - kernel) / stride + 1;
  Floats x, w, nhwc(static_cast<std::size_t>(channels * size * size));
  for (std::int64_t i = 0; i < channels * size * size; ++i) {
    x.push_back(std::sin(static_cast<float>(i)));
    nhwc[static_cast<std::size_t>(i % (size * size) * channels + i / (size * size))] = x.back();
  }
  for (std::int64_t i = 0; i < filters * channels * kernel * kernel; ++i)
    w.push_back(std::cos(static_cast<float>(i)));
  const auto attributes =
      test_attributes({{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}});
  const auto weight = [&] { return test_tensor<float>({filters, channels, kernel, kernel}, w); };
  const auto planar = run_one<float>(
      OpKind::kConv, test_inputs(test_tensor<float>({1, channels, size, size}, x), weight()),
      attributes);
  const auto packed = run_one<float>(
      OpKind::kConv, test_inputs(test_tensor<float>({1, size, size, channels}, nhwc), weight()),
      with(attributes, "layout", std::string("NHWC")));
  RC_ASSERT(planar.size() == static_cast<std::size_t>(filters * out * out));
  RC_ASSERT(packed.size() == planar.size());
  for (std::int64_t i = 0; i < filters * out * out; ++i) {
    const std::int64_t m = i / (out * out), at = i % (out * out);
    const float expected =
        conv_at(x, w, channels, size, kernel, stride, pad, m, at / out, at % out);
    RC_ASSERT(planar[static_cast<std::size_t>(i)] == expected);
    RC_ASSERT(packed[static_cast<std::size_t>(at * filters + m)] == expected);
  }
}

TEST(ReferenceConv, ThreeSpatialAxesAndEmptyBatch) {
  EXPECT_THAT(run_one<float>(OpKind::kConv,
                             test_inputs(from_one({1, 1, 2, 2, 2}), from_one({1, 1, 2, 2, 2}))),
              ElementsAre(204));
  EXPECT_TRUE(run_one<float>(OpKind::kConv,
                             test_inputs(test_tensor<float>({0, 1, 3}, {}), from_one({1, 1, 2})))
                  .empty());
}

TEST(ReferenceMaxPool, WindowsIndicesAndNan) {
  const auto two = test_attributes({{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  EXPECT_THAT(run_one<float>(OpKind::kMaxPool, test_inputs(from_one({1, 1, 4, 4})), two),
              ElementsAre(6, 8, 14, 16));
  EXPECT_THAT(
      run_one<std::int64_t>(OpKind::kMaxPool, test_inputs(from_one({1, 1, 4, 4})), two, 2, 1),
      ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kMaxPool, test_inputs(from_one({1, 1, 2, 4})),
                                    with(two, "storage_order", std::int64_t{1}), 2, 1),
              ElementsAre(3, 7));
  EXPECT_THAT(run_one<float>(OpKind::kMaxPool, test_inputs(from_one({1, 1, 3})),
                             test_attributes({{"kernel_shape", Ints{2}},
                                              {"strides", Ints{2}},
                                              {"ceil_mode", std::int64_t{1}}})),
              ElementsAre(2, 3));
  EXPECT_THAT(run_one<std::int8_t>(
                  OpKind::kMaxPool, test_inputs(test_tensor<std::int8_t>({1, 1, 3}, {-5, -6, -7})),
                  test_attributes({{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}})),
              ElementsAre(-5, -5, -6));
  EXPECT_TRUE(std::isnan(run_one<float>(OpKind::kMaxPool,
                                        test_inputs(test_tensor<float>({1, 1, 3}, {1, kNan, 2})),
                                        test_attributes({{"kernel_shape", Ints{3}}}))
                             .at(0)));
  // NHWC: the two channels of a pixel are adjacent; indices are those of the NCHW tensor.
  const auto line = test_attributes({{"kernel_shape", Ints{2}}, {"layout", std::string("NHWC")}});
  const auto x = [] { return test_tensor<float>({1, 2, 2}, {1, 8, 3, 4}); };
  EXPECT_THAT(run_one<float>(OpKind::kMaxPool, test_inputs(x()), line), ElementsAre(3, 8));
  EXPECT_THAT(run_one<std::int64_t>(OpKind::kMaxPool, test_inputs(x()), line, 2, 1),
              ElementsAre(1, 2));
}

TEST(ReferenceMaxPool, HugeWindowsCostNoMoreThanTheImage) {
  const std::int64_t huge = 2'000'000'000;
  EXPECT_THAT(
      run_one<float>(OpKind::kMaxPool, test_inputs(from_one({1, 1, 3})),
                     test_attributes({{"kernel_shape", Ints{huge}}, {"pads", Ints{0, huge - 3}}})),
      ElementsAre(3));
}

TEST(ReferenceAveragePool, WhatCounts) {
  struct Case {
    std::int64_t count_pads, ceil_mode;
    Floats expected;
  };
  // 1 2 3 4, windows of 3 every 2 from -1: [_ 1 2], [2 3 4], with ceil_mode [4 _ .].
  const Case cases[] = {{0, 0, {1.5F, 3}}, {1, 0, {1, 3}}, {0, 1, {1.5F, 3, 4}}, {1, 1, {1, 3, 2}}};
  for (const Case& c : cases) {
    expect_near(run_one<float>(OpKind::kAveragePool, test_inputs(from_one({1, 1, 4})),
                               test_attributes({{"kernel_shape", Ints{3}},
                                                {"strides", Ints{2}},
                                                {"pads", Ints{1, 1}},
                                                {"count_include_pad", c.count_pads},
                                                {"ceil_mode", c.ceil_mode}})),
                c.expected);
  }
}

TEST(ReferenceGlobalAveragePool, BothLayouts) {
  EXPECT_THAT(run_one<float>(OpKind::kGlobalAveragePool, test_inputs(from_one({1, 2, 2, 2}))),
              ElementsAre(2.5F, 6.5F));
  EXPECT_THAT(run_one<float>(OpKind::kGlobalAveragePool, test_inputs(from_one({1, 2, 2, 2})),
                             test_attributes({{"layout", std::string("NHWC")}})),
              ElementsAre(4, 5));
}

Attributes resize_attributes(const char* coordinates, const char* nearest) {
  return test_attributes({{"coordinate_transformation_mode", std::string(coordinates)},
                          {"nearest_mode", std::string(nearest)}});
}

TEST(ReferenceResize, NearestInAllRoundings) {
  struct Case {
    const char *coordinates, *nearest;
    Floats expected;
  };
  // Twice as wide: half_pixel sees -0.25 0.25 0.75 1.25, asymmetric 0 0.5 1 1.5.
  const Case cases[] = {
      {"half_pixel", "round_prefer_floor", {1, 1, 2, 2}},
      {"half_pixel", "floor", {1, 1, 1, 2}},
      {"half_pixel", "ceil", {1, 2, 2, 2}},
      {"asymmetric", "round_prefer_floor", {1, 1, 2, 2}},
      {"asymmetric", "round_prefer_ceil", {1, 2, 2, 2}},
      {"align_corners", "round_prefer_floor", {1, 1, 2, 2}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(run_one<float>(OpKind::kResize,
                             test_inputs(row<float>({1, 2}), std::nullopt, row<float>({2})),
                             resize_attributes(c.coordinates, c.nearest)),
              c.expected)
        << c.coordinates << ' ' << c.nearest;
  }
  EXPECT_THAT(run_one<bool>(OpKind::kResize, test_inputs(row<bool>({true, false}), std::nullopt,
                                                         std::nullopt, ints({4}))),
              ElementsAre(true, true, false, false));
}

TEST(ReferenceResize, SizesFindTheExactMiddleBetweenElements) {
  // Position 4 of 8 lies at 4 * 7 / 8 = 3.5; the quotient 8 / 7, rounded, would put it below.
  EXPECT_THAT(run_one<float>(OpKind::kResize,
                             test_inputs(from_one({7}), std::nullopt, std::nullopt, ints({8})),
                             resize_attributes("asymmetric", "round_prefer_ceil")),
              ElementsAre(1, 2, 3, 4, 5, 5, 6, 7));
}

TEST(ReferenceResize, LinearInAllCoordinates) {
  struct Case {
    const char* coordinates;
    std::int64_t size;
    Floats expected;
  };
  const Case cases[] = {
      {"half_pixel", 4, {0, 1, 3, 4}}, {"half_pixel_symmetric", 4, {0, 1, 3, 4}},
      {"asymmetric", 4, {0, 2, 4, 4}}, {"align_corners", 5, {0, 1, 2, 3, 4}},
      {"pytorch_half_pixel", 1, {0}},  {"half_pixel", 1, {2}},
      {"align_corners", 1, {0}},
  };
  for (const Case& c : cases) {
    const auto linear =
        with(resize_attributes(c.coordinates, "floor"), "mode", std::string("linear"));
    expect_near(
        run_one<float>(OpKind::kResize,
                       test_inputs(row<float>({0, 4}), std::nullopt, std::nullopt, ints({c.size})),
                       linear),
        c.expected);
  }
}

TEST(ReferenceResize, ScalesNameNchwAxesInBothLayouts) {
  const auto scales = [] { return row<float>({1, 1, 2, 1}); };
  const auto nearest = test_attributes({{"layout", std::string("NHWC")}});
  EXPECT_THAT(run_one<float>(OpKind::kResize,
                             test_inputs(from_one({1, 2, 1, 2}), std::nullopt, scales()), nearest),
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  EXPECT_THAT(
      run_one<float>(OpKind::kResize, test_inputs(from_one({1, 2, 2, 1}), std::nullopt, scales())),
      ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(
      run_one<float>(OpKind::kResize, test_inputs(from_one({1, 2}), std::nullopt, row<float>({2})),
                     test_attributes({{"axes", Ints{0}}})),
      ElementsAre(1, 2, 1, 2));
}

}  // namespace
}  // namespace parallax
