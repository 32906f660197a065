#include "parallax/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace parallax {
namespace {

TEST(Dims, Elements) {
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  EXPECT_EQ(Dims{}.checked_elements(), 1);
  EXPECT_EQ((Dims{2, 3, 4}).checked_elements(), 24);
  EXPECT_EQ((Dims{2, 0, 4}).checked_elements(), 0);
  EXPECT_EQ((Dims{kBig, kBig}).checked_elements(), std::nullopt);
  EXPECT_EQ((Dims{kBig, kBig, 0}).checked_elements(), std::nullopt) << "strides would overflow";
  EXPECT_EQ((Dims{-1, 2}).checked_elements(), std::nullopt);
}

TEST(Dims, TextAndEquality) {
  EXPECT_EQ(Dims{}.to_string(), "scalar");
  EXPECT_EQ((Dims{1, 3, 640}).to_string(), "1x3x640");
  EXPECT_EQ((Dims{1, 2}), (Dims{1, 2}));
  EXPECT_NE((Dims{1, 2}), (Dims{1, 2, 1}));
}

TEST(Dims, ChecksUntrustedShapes) {
  const std::array<std::int64_t, 9> nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto refused = Dims::checked(nine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message, "rank 9 is more than 8");
  const auto eight = Dims::checked(std::span(nine).first(8));
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->rank(), Dims::kMaxRank);
  const std::array<std::int64_t, 2> negative = {3, -1};
  EXPECT_EQ(Dims::checked(negative).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(*Dims::checked({}), Dims());
}

TEST(Tensor, IsAlignedAndZero) {
  auto tensor = Tensor::allocate(DType::kF32, {3, 5});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->view().bytes.size(), 60U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->view().bytes.data()) % 64, 0U);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(tensor->view().as<float>()[i], 0.0F);
  EXPECT_TRUE(Tensor::allocate(DType::kF32, {0, 5}));
}

TEST(TensorView, HasTheTypeOfItsElements) {
  std::array<std::int64_t, 6> list = {1, 2, 3, 4, 5, 6};
  const auto view = TensorView::of<std::int64_t>(list, {2, 3});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dtype, DType::kI64);
  EXPECT_EQ(view->dims, (Dims{2, 3}));
  EXPECT_EQ(view->as<std::int64_t>()[5], 6);
  EXPECT_EQ(view->bytes.size(), sizeof(list));
  const auto writable = MutableTensorView::of<std::int64_t>(list, {6});
  ASSERT_TRUE(writable);
  writable->as<std::int64_t>()[0] = 7;
  EXPECT_EQ(list[0], 7);
}

TEST(TensorView, RefusesOtherSizes) {
  std::array<float, 6> list = {};
  for (const Dims& dims : {Dims{}, Dims{5}, Dims{2, 2}, Dims{-6}, Dims{0}}) {
    const auto view = TensorView::of<float>(list, dims);
    ASSERT_FALSE(view) << dims.to_string();
    EXPECT_EQ(view.error().code, ErrorCode::kInvalidInput);
    EXPECT_FALSE(MutableTensorView::of<float>(list, dims));
  }
  EXPECT_EQ(TensorView::of<float>(list, {4}).error().message, "6 elements are not those of 4");
}

TEST(Tensor, GivesItsElements) {
  Tensor tensor = *Tensor::allocate(DType::kF32, {2, 2});
  tensor.data<float>()[3] = 5;
  const Tensor& same = tensor;
  ASSERT_EQ(same.data<float>().size(), 4U);
  EXPECT_EQ(same.data<float>()[3], 5);
  EXPECT_TRUE(Tensor().data<float>().empty());
}

TEST(Tensor, HasTypesBelowAByteButNoTexts) {
  const auto nibbles = Tensor::allocate(DType::kI4, {3, 3});
  ASSERT_TRUE(nibbles);
  EXPECT_EQ(nibbles->view().bytes.size(), 5U);
  EXPECT_FALSE(Tensor::allocate(DType::kString, {3}));
}

TEST(Tensor, RefusesWhatNoMachineHas) {
  for (const Dims& dims : {Dims{std::numeric_limits<std::int64_t>::max()},
                           Dims{std::int64_t{1} << 61}, Dims{std::int64_t{1} << 45}, Dims{-4}}) {
    const auto tensor = Tensor::allocate(DType::kF32, dims);
    ASSERT_FALSE(tensor) << dims.to_string();
    EXPECT_EQ(tensor.error().code, ErrorCode::kOutOfMemory);
  }
}

TEST(Error, IsOneLine) {
  Error error{Stage::kLoad, ErrorCode::kInvalidModel, "", "bad\nname\x1b[1m"};
  EXPECT_EQ(error.to_string(), "bad?name?[1m");
  error.node = "conv_3";
  EXPECT_EQ(error.to_string(), "node 'conv_3': bad?name?[1m");
  EXPECT_EQ(to_string(ErrorCode::kBudgetExceeded), "budget exceeded");
  EXPECT_EQ(to_string(Stage::kSimplify), "simplify");
  EXPECT_EQ(to_string(Stage::kRun), "run");
  EXPECT_EQ(to_string(Stage::kFiles), "files");
}

}  // namespace
}  // namespace parallax
