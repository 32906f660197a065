// Weights that graphs share while some of their constants are created and destroyed: a packed or
// copied constant that was destroyed is not mistaken for another one at its address.
#include <gtest/gtest.h>

#include <array>

#include "run/run_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kSide = 32;

/// y = x * w, with w at the address `place`.
std::shared_ptr<GraphContext> product(std::span<const std::byte> place,
                                      std::shared_ptr<GraphContext::Weights> weights,
                                      const ConstantPlaces& outlived_by) {
  Graph graph = context_of(R"(
    input x f32 [3, 32]
    const w f32 [32, 32] = fill 0
    y = MatMul(x, w)
    output y)")
                    ->graph;
  for (Value& value : graph.values)
    if (value.constant)
      value.constant = Constant{DType::kF32, {kSide, kSide}, place, std::make_shared<int>()};
  return std::make_shared<GraphContext>(std::move(graph), Delegation{}, std::move(weights),
                                        &outlived_by);
}

class SharedWeights : public testing::Test {
 protected:
  /// Runs with x = 1 a graph that is destroyed on return.
  float run_with(float weight, std::size_t shift) {
    const std::span place = std::as_writable_bytes(std::span(memory_)).subspan(shift, kBytes);
    for (std::size_t i = 0; i < kBytes; i += sizeof weight)
      std::memcpy(place.data() + i, &weight, sizeof weight);
    const std::vector<float> x(3 * kSide, 1.F);
    const auto got = run(product(place, weights_, outlived_by_), {bytes_of(x)},
                         {.reference_only = reference_only_});
    EXPECT_TRUE(got) << got.error().to_string();
    return got ? floats((*got)[0])[0] : 0;
  }

  static constexpr std::size_t kBytes = kSide * kSide * sizeof(float);
  alignas(64) std::array<float, kSide * kSide + 1> memory_{};
  bool reference_only_ = false;
  const std::shared_ptr<GraphContext::Weights> weights_ = std::make_shared<GraphContext::Weights>();
  ConstantPlaces outlived_by_;
};

TEST_F(SharedWeights, PackingsEndWithTheirConstants) {
  for (const float weight : {1.F, 2.F, 3.F}) {
    EXPECT_EQ(run_with(weight, 0), weight * kSide);
    EXPECT_EQ(weights_->packed.total_bytes(), 0) << "no kernel needs them";
  }
}

TEST_F(SharedWeights, CopiesEndWithTheirConstants) {
  reference_only_ = true;
  for (const float weight : {1.F, 2.F, 3.F}) EXPECT_EQ(run_with(weight, 1), weight * kSide);
}

TEST_F(SharedWeights, OfConstantsThatStayThePackingsDo) {
  outlived_by_ = places_of({std::as_bytes(std::span(memory_))});
  EXPECT_EQ(run_with(1, 0), kSide);
  const std::int64_t bytes = weights_->packed.total_bytes();
  EXPECT_GE(bytes, std::int64_t{kBytes});
  EXPECT_EQ(run_with(1, 0), kSide);
  EXPECT_EQ(weights_->packed.total_bytes(), bytes);
}

TEST(ConstantPlaces, AreDisjointAndInOrder) {
  const std::array<std::byte, 100> bytes{};
  const auto at = [&](std::size_t from, std::size_t to) {
    return std::span(bytes).subspan(from, to - from);
  };
  const ConstantPlaces places =
      places_of({at(50, 60), at(0, 10), at(5, 8), at(55, 70), at(90, 90), at(20, 30)});
  ASSERT_EQ(places.size(), 3U);
  const std::pair<std::size_t, std::size_t> wanted[] = {{0, 10}, {20, 30}, {50, 70}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].data(), bytes.data() + wanted[i].first);
    EXPECT_EQ(places[i].size(), wanted[i].second - wanted[i].first);
  }
}

}  // namespace
}  // namespace parallax
