#include "base/c_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "parallax/delegate.h"

extern "C" {
const size_t* px_c_layout(size_t* count);
px_allocator px_c_allocator(int* calls);
px_status px_c_failure(int* calls);
int px_c_sum(const px_tensor* tensor, double* sum);
px_code px_c_fail(px_status* status);
}

namespace parallax {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

// The layout that all 64-bit machines share. Later versions add fields at the end.
static_assert(sizeof(px_tensor) == 40 && offsetof(px_tensor, bytes) == 32);
static_assert(sizeof(px_type) == 32 && offsetof(px_type, symbols) == 24);
static_assert(sizeof(px_status) == 48 && offsetof(px_status, release) == 40);
static_assert(sizeof(px_allocator) == 32 && offsetof(px_allocator, deallocate) == 24);
static_assert(sizeof(px_node) == 72 && sizeof(px_region) == 88 && sizeof(px_place) == 40);
static_assert(sizeof(px_delegate) == 136 && offsetof(px_delegate, supports) == 128);

TEST(CTypes, HaveOneLayoutInCAndCpp) {
#define PX_SIZE(type) sizeof(type),
#define PX_FIELD(type, field) offsetof(type, field),
  const std::size_t layout[] = {
#include "base/c_types_layout.def"
  };
#undef PX_SIZE
#undef PX_FIELD
  std::size_t count = 0;
  const std::size_t* const in_c = px_c_layout(&count);
  EXPECT_THAT(std::span(in_c, count), ElementsAreArray(layout));
}

TEST(CTypes, ADelegateSaysWhyItFails) {
  px_status status{};
  status.size = sizeof status;
  EXPECT_EQ(px_c_fail(&status), PX_OUT_OF_MEMORY);
  EXPECT_EQ(status_from(&status).error().to_string(), "device full");
  EXPECT_EQ(px_c_fail(nullptr), PX_OUT_OF_MEMORY);
}

TEST(CTypes, ElementTypesHaveNames) {
  const std::map<std::string, px_dtype, std::less<>> names = {
      {"float32", PX_FLOAT32},
      {"float64", PX_FLOAT64},
      {"float16", PX_FLOAT16},
      {"bfloat16", PX_BFLOAT16},
      {"uint8", PX_UINT8},
      {"uint16", PX_UINT16},
      {"uint32", PX_UINT32},
      {"uint64", PX_UINT64},
      {"int8", PX_INT8},
      {"int16", PX_INT16},
      {"int32", PX_INT32},
      {"int64", PX_INT64},
      {"bool", PX_BOOL},
      {"string", PX_STRING},
      {"float8_e4m3fn", PX_FLOAT8_E4M3FN},
      {"float8_e4m3fnuz", PX_FLOAT8_E4M3FNUZ},
      {"float8_e5m2", PX_FLOAT8_E5M2},
      {"float8_e5m2fnuz", PX_FLOAT8_E5M2FNUZ},
      {"float8_e8m0fnu", PX_FLOAT8_E8M0FNU},
      {"float4_e2m1fn", PX_FLOAT4_E2M1FN},
      {"uint4", PX_UINT4},
      {"int4", PX_INT4},
      {"uint2", PX_UINT2},
      {"int2", PX_INT2}};
  std::size_t known = 0;
  for (px_dtype number = -1; number < 100; ++number) {
    const auto dtype = dtype_from(number);
    if (!dtype) {
      EXPECT_EQ(dtype.error().code, ErrorCode::kUnsupported);
      continue;
    }
    ++known;
    EXPECT_EQ(to_c(*dtype), number);
    const auto name = names.find(to_string(*dtype));
    ASSERT_NE(name, names.end()) << to_string(*dtype);
    EXPECT_EQ(name->second, number);
  }
  EXPECT_EQ(known, names.size());
}

TEST(CTypes, ATensorGoesThereAndBack) {
  Tensor tensor = *Tensor::allocate(DType::kF32, {2, 3});
  for (int i = 0; i < 6; ++i) tensor.mutable_view().as<float>()[i] = static_cast<float>(i);
  const MutableTensorView view = tensor.mutable_view();
  const px_tensor c = to_c(view);
  double sum = 0;
  ASSERT_EQ(px_c_sum(&c, &sum), 1);
  EXPECT_EQ(sum, 15);
  const auto back = tensor_from(&c);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->dtype, DType::kF32);
  EXPECT_EQ(back->dims, view.dims);
  EXPECT_EQ(back->bytes.data(), view.bytes.data());
  EXPECT_EQ(back->bytes.size(), view.bytes.size());
  const TensorView packed{DType::kU4, {5}, view.bytes.first(3)};  // two to a byte
  const px_tensor halves = to_c(packed);
  EXPECT_TRUE(tensor_from(&halves));
  const TensorView scalar{DType::kF32, {}, view.bytes.first(4)};
  const px_tensor none = to_c(scalar);
  EXPECT_TRUE(tensor_from(&none));
}

TEST(CTypes, TensorsThatMakeNoSenseAreRefused) {
  alignas(64) std::array<std::byte, 64> memory{};
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  static constexpr std::array<std::int64_t, 9> kDims = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  static constexpr std::array<std::int64_t, 2> kNegative = {-1, -24}, kTooMany = {kHuge, kHuge};
  const px_tensor good = {sizeof(px_tensor), PX_FLOAT32, 2, kDims.data(), memory.data(), 24};
  ASSERT_TRUE(tensor_from(&good));
  const auto expect = [&](ErrorCode code, auto change) {
    px_tensor bad = good;
    change(bad);
    const auto got = tensor_from(&bad);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, code) << got.error().to_string();
  };
  EXPECT_FALSE(tensor_from(nullptr));
  using enum ErrorCode;
  expect(kInvalidInput, [](px_tensor& t) { t.size = 4; });
  expect(kUnsupported, [](px_tensor& t) { t.size = 8; });  // without a type
  expect(kUnsupported, [](px_tensor& t) { t.dtype = 99; });
  expect(kUnsupported, [](px_tensor& t) { t.dtype = PX_STRING; });
  expect(kUnsupported, [](px_tensor& t) { t.rank = 9; });
  expect(kUnsupported, [](px_tensor& t) { t.rank = -1; });
  expect(kInvalidInput, [](px_tensor& t) { t.dims = nullptr; });
  expect(kInvalidInput, [](px_tensor& t) { t.dims = kNegative.data(); });
  expect(kInvalidInput, [](px_tensor& t) { t.dims = kTooMany.data(); });
  expect(kInvalidInput, [](px_tensor& t) { t.bytes = 25; });
  expect(kInvalidInput, [](px_tensor& t) { t.bytes = 20; });
  expect(kInvalidInput, [](px_tensor& t) { t.data = nullptr; });
  expect(kInvalidInput, [](px_tensor& t) { t.data = static_cast<std::byte*>(t.data) + 1; });
}

TEST(CTypes, StructsOfOtherVersionsAreRead) {
  // A later version has more fields, which do not matter here.
  struct Later {
    px_allocator allocator;
    void* more;
  };
  int calls = 0;
  Later later{px_c_allocator(&calls), &later};
  later.allocator.size = sizeof later;
  EXPECT_TRUE(*allocator_from(&later.allocator));
  // An earlier one had fewer: they are 0.
  px_allocator earlier = px_c_allocator(&calls);
  earlier.size = offsetof(px_allocator, deallocate);
  const auto read = of_this_version(&earlier);
  ASSERT_TRUE(read);
  EXPECT_NE(read->allocate, nullptr);
  EXPECT_EQ(read->deallocate, nullptr);
  EXPECT_EQ(allocator_from(&earlier).error().code, ErrorCode::kInvalidInput);
}

TEST(CTypes, ATypeGoesThereAndBack) {
  const TensorInfo info{"x", DType::kI64, {{3, ""}, {-1, "2*seq + 1"}, {-1, ""}}};
  const CType c(info);
  const auto back = type_from(&c.get());
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(back->dtype, DType::kI64);
  ASSERT_EQ(back->shape.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back->shape[i].value, info.shape[i].value);
    EXPECT_EQ(back->shape[i].symbol, info.shape[i].symbol);
  }
  px_type plain = c.get();
  plain.symbols = nullptr;
  EXPECT_EQ(type_from(&plain)->shape[1].symbol, "");
  constexpr std::array<std::int64_t, 3> kWrong = {1, -2, 1};
  plain.dims = kWrong.data();
  EXPECT_EQ(type_from(&plain).error().code, ErrorCode::kInvalidInput);
}

TEST(CTypes, AStatusGoesThereAndBack) {
  px_status fine = to_c(Status{});
  EXPECT_EQ(fine.code, PX_OK);
  EXPECT_TRUE(status_from(&fine));
  for (int code = PX_INVALID_MODEL; code <= PX_INTERNAL; ++code) {
    px_status c = to_c(tl::unexpected(
        Error{Stage::kLoad, static_cast<ErrorCode>(code - 1), "conv_3", "1x2 is no 3x4"}));
    EXPECT_EQ(c.code, code);
    EXPECT_STREQ(c.node, "conv_3");
    const Status back = status_from(&c);
    ASSERT_FALSE(back);
    EXPECT_EQ(static_cast<int>(back.error().code), code - 1);
    EXPECT_EQ(back.error().node, "conv_3");
    EXPECT_EQ(back.error().message, "1x2 is no 3x4");
  }
  EXPECT_EQ(to_string(static_cast<ErrorCode>(PX_INTERNAL - 1)), to_string(ErrorCode::kInternal));
  int released = 0;
  px_status from_c = px_c_failure(&released);
  const Status status = status_from(&from_c);
  EXPECT_EQ(released, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
  EXPECT_THAT(status.error().to_string(), HasSubstr("index 7 of 5"));
  px_status later{};
  later.size = sizeof later;
  later.code = 1000;
  EXPECT_EQ(status_from(&later).error().code, ErrorCode::kInternal);
}

TEST(CTypes, AnAllocatorGoesThereAndBack) {
  EXPECT_EQ(*allocator_from(nullptr), nullptr);
  int taken = 0;
  const px_allocator c = px_c_allocator(&taken);
  const auto allocator = allocator_from(&c);
  ASSERT_TRUE(allocator);
  const px_allocator again = to_c(**allocator);
  void* const memory = again.allocate(again.context, 1000, 64);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
  EXPECT_EQ(taken, 1);
  again.deallocate(again.context, memory, 1000, 64);
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace parallax
