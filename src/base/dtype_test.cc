#include "parallax/dtype.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "parallax/tensor.h"

namespace parallax {
namespace {

TEST(DTypeOf, GivesEachElementType) {
  EXPECT_EQ(dtype_of<float>(), DType::kF32);
  EXPECT_EQ(dtype_of<double>(), DType::kF64);
  EXPECT_EQ(dtype_of<std::int64_t>(), DType::kI64);
  EXPECT_EQ(dtype_of<bool>(), DType::kBool);
  EXPECT_EQ(dtype_of<BFloat16>(), DType::kBF16);
}

TEST(DTypeOf, RefusesOtherTypes) {
  static_assert(TensorElement<std::int8_t>);
  static_assert(!TensorElement<char>);
  static_assert(!TensorElement<void>);
  static_assert(!TensorElement<long double>);
}

TEST(DTypes, EachHasNamesAndCodesOfItsOwn) {
  std::set<std::string_view> text, numpy;
  std::set<int> onnx, tflite;
  int without_tflite = 0;
  for (const DTypeInfo& type : kDTypes) {
    EXPECT_TRUE(text.insert(type.text).second) << type.text;
    EXPECT_TRUE(numpy.insert(type.numpy).second) << type.text;
    EXPECT_TRUE(onnx.insert(type.onnx).second) << type.text;
    if (type.tflite < 0) ++without_tflite;
    if (type.tflite >= 0) {
      EXPECT_TRUE(tflite.insert(type.tflite).second) << type.text;
    }
    EXPECT_EQ(dtype_from_text(type.text), static_cast<DType>(&type - kDTypes.data()));
    EXPECT_EQ(dtype_from_onnx(type.onnx), static_cast<DType>(&type - kDTypes.data()));
  }
  EXPECT_EQ(onnx.size(), 24U);
  EXPECT_EQ(tflite.size() + static_cast<std::size_t>(without_tflite), kDTypes.size());
  EXPECT_EQ(dtype_from_text("f33"), std::nullopt);
  EXPECT_EQ(dtype_from_onnx(0), std::nullopt);
}

TEST(DTypes, ElementsInMemoryHaveTheBitsOfTheirRow) {
  int seen = 0;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    dispatch<kByteTypes>(static_cast<DType>(i), [&](auto type) {
      using T = typename decltype(type)::type;
      EXPECT_EQ(static_cast<int>(sizeof(T)) * 8, kDTypes[i].bits) << kDTypes[i].text;
      EXPECT_EQ(dtype_of<T>(), static_cast<DType>(i));
      ++seen;
    });
  }
  EXPECT_EQ(seen, 18);
}

// Kernels step from one element to the next by whole bytes.
static_assert((kNativeTypes & ~kByteTypes) == 0);

TEST(DTypes, ANumberThatIsNoneHasNoBytes) {
  const auto none = static_cast<DType>(200);
  EXPECT_EQ(to_string(none), "unknown");
  EXPECT_EQ(bytes_of(none, 1), std::nullopt);
  EXPECT_EQ(alignment_of(none), 1);
  EXPECT_EQ(dispatch<kNativeTypes>(none, [](auto) { return 7; }), 0);
}

TEST(BytesOf, RoundsTypesBelowAByteUpAndChecksTheRest) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  struct Row {
    DType dtype;
    std::int64_t elements;
    std::optional<std::int64_t> bytes;
  };
  const Row rows[] = {{DType::kF32, 3, 12},
                      {DType::kF64, 3, 24},
                      {DType::kBF16, 3, 6},
                      {DType::kF8E4M3FN, 3, 3},
                      {DType::kI4, 0, 0},
                      {DType::kI4, 1, 1},
                      {DType::kI4, 2, 1},
                      {DType::kU4, 3, 2},
                      {DType::kF4E2M1, 5, 3},
                      {DType::kU2, 4, 1},
                      {DType::kI2, 5, 2},
                      {DType::kI4, kMax, kMax / 2 + 1},
                      {DType::kU8, kMax, kMax},
                      {DType::kI16, kMax / 2, kMax - 1},
                      {DType::kI16, kMax / 2 + 1, {}},
                      {DType::kI64, kMax, {}},
                      {DType::kF32, -1, {}},
                      {DType::kI4, -1, {}},
                      {DType::kString, 1, {}},
                      {DType::kBool, 7, 7}};
  for (const Row& row : rows)
    EXPECT_EQ(bytes_of(row.dtype, row.elements), row.bytes)
        << to_string(row.dtype) << " " << row.elements;
  EXPECT_EQ(bytes_of(DType::kI4, Dims{3, 3}), 5) << "rows are not rounded up one by one";
  EXPECT_EQ(bytes_of(DType::kI4, Dims{std::int64_t{1} << 40, std::int64_t{1} << 40}), std::nullopt);
}

TEST(Dispatch, CallsForTypesOfTheSetAlone) {
  constexpr DTypeSet kSet = dtype_bit(DType::kF32) | dtype_bit(DType::kU8);
  const auto name = [](DType dtype) {
    return dispatch<kSet>(dtype, [](auto type) {
      return std::string(to_string(dtype_of<typename decltype(type)::type>()));
    });
  };
  EXPECT_EQ(name(DType::kF32), "float32");
  EXPECT_EQ(name(DType::kU8), "uint8");
  EXPECT_EQ(name(DType::kI8), "");
  EXPECT_EQ(name(DType::kI4), "");
}

}  // namespace
}  // namespace parallax
