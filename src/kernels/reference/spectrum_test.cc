// DFT, STFT, MelWeightMatrix.
#include <cmath>
#include <numbers>

#include "kernels/reference/testing.h"

namespace parallax {
namespace {

Attributes flags(std::int64_t onesided, std::int64_t inverse) {
  return test_attributes({{"onesided", onesided}, {"inverse", inverse}});
}

TEST(ReferenceDft, ForwardAndBack) {
  const auto real = [] { return test_tensor<float>({4, 1}, {1, 2, 3, 4}); };
  const auto run = [](Tensor x, Attributes attributes) {
    return run_one<float>(OpKind::kDFT, test_inputs(std::move(x)), std::move(attributes));
  };
  const Floats spectrum = {10, 0, -2, 2, -2, 0, -2, -2};
  expect_near(run(real(), flags(0, 0)), spectrum);
  expect_near(run(real(), flags(1, 0)), {10, 0, -2, 2, -2, 0});
  expect_near(run(test_tensor<float>({4, 2}, spectrum), flags(0, 1)), {1, 0, 2, 0, 3, 0, 4, 0});
  expect_near(run(test_tensor<float>({3, 2}, {10, 0, -2, 2, -2, 0}), flags(1, 1)), {1, 2, 3, 4});
}

TEST(ReferenceDft, LengthsAndAxes) {
  const auto real = [] { return test_tensor<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}); };
  const auto run = [&](std::int64_t length, std::int64_t axis, Attributes attributes = {}) {
    return run_one<float>(OpKind::kDFT, test_inputs(real(), scalar(length), scalar(axis)),
                          std::move(attributes));
  };
  expect_near(run(2, 0), {5, 0, 7, 0, 9, 0, -3, 0, -3, 0, -3, 0});
  expect_near(run(1, -3), {1, 0, 2, 0, 3, 0});
  expect_near(run(2, 1), {3, 0, -1, 0, 9, 0, -1, 0});
  expect_near(run(4, 1, flags(1, 0)), {6, 0, -2, -2, 2, 0, 15, 0, -2, -5, 5, 0});
}

TEST(ReferenceDft, LongSignalsStayExact) {
  constexpr std::int64_t kLength = 1000, kFrequency = 37;
  Floats wave;
  for (std::int64_t i = 0; i < kLength; ++i)
    wave.push_back(static_cast<float>(
        std::cos(2 * std::numbers::pi * static_cast<double>(i * kFrequency) / kLength)));
  const auto y = run_one<float>(OpKind::kDFT, test_inputs(test_tensor<float>({kLength, 1}, wave)));
  ASSERT_EQ(y.size(), 2U * kLength);
  for (std::int64_t k = 0; k < kLength; ++k) {
    const bool there = k == kFrequency || k == kLength - kFrequency;
    EXPECT_NEAR(y[static_cast<std::size_t>(2 * k)], there ? kLength / 2.0F : 0, 1e-4F) << k;
  }
}

TEST(ReferenceStft, FramesAndWindows) {
  const auto signal = [] { return test_tensor<float>({1, 6, 1}, {1, 2, 3, 4, 5, 6}); };
  const auto window = [] { return row<float>({1, 0}); };
  expect_near(
      run_one<float>(OpKind::kSTFT, test_inputs(signal(), scalar<std::int64_t>(3), window())),
      {1, 0, 1, 0, 4, 0, 4, 0});
  expect_near(run_one<float>(OpKind::kSTFT,
                             test_inputs(signal(), scalar<std::int64_t>(4), std::nullopt,
                                         scalar<std::int64_t>(2)),
                             test_attributes({{"onesided", std::int64_t{0}}})),
              {3, 0, -1, 0, 11, 0, -1, 0});
}

TEST(ReferenceMelWeightMatrix, Triangles) {
  const auto mel = [](std::int64_t rate, float low, float high, std::int64_t type = 1) {
    return KernelRun{OpKind::kMelWeightMatrix,
                     test_inputs(scalar<std::int64_t>(2), scalar<std::int64_t>(8), scalar(rate),
                                 scalar(low), scalar(high)),
                     test_attributes({{"output_datatype", type}})};
  };
  // Points in bins: 0, 0, 1 and 3.
  const auto y = run_kernel(mel(8000, 0, 4000), KernelLibrary::kReference);
  ASSERT_TRUE(y.has_value()) << y.error().to_string();
  EXPECT_EQ(y->at(0).dims(), (Dims{5, 2}));
  const auto values = test_values<float>(y->at(0));
  EXPECT_EQ(*std::ranges::max_element(values), 1);
  EXPECT_EQ(*std::ranges::min_element(values), 0);
  EXPECT_TRUE(run_kernel(mel(8000, 0, 4000, 7), KernelLibrary::kReference).has_value());
  EXPECT_FALSE(run_kernel(mel(0, 0, 4000), KernelLibrary::kReference).has_value());
  EXPECT_FALSE(run_kernel(mel(8000, kNan, 4000), KernelLibrary::kReference).has_value());
  EXPECT_FALSE(run_kernel(mel(8000, 0, kInf), KernelLibrary::kReference).has_value());
}

}  // namespace
}  // namespace parallax
