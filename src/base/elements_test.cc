#include "parallax/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

namespace parallax {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Narrowing kStrict{.saturate = false};

constexpr DType kFloats[] = {DType::kF16,        DType::kBF16,   DType::kF8E4M3FN,
                             DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                             DType::kF4E2M1};

/// Convert between the bits of an element and its value.
float number_of_bits(DType dtype, unsigned bits) {
  std::byte bytes[2] = {static_cast<std::byte>(bits), static_cast<std::byte>(bits >> 8U)};
  return read_element<float>(dtype, bytes, 0);
}
template <class Number>
unsigned bits_of_number(DType dtype, Number x, Narrowing how = {}) {
  std::byte bytes[2] = {};
  write_element(dtype, x, bytes, 0, how);
  return std::to_integer<unsigned>(bytes[0]) | std::to_integer<unsigned>(bytes[1]) << 8U;
}

/// Returns all finite numbers of a type, ascending, each with its bits.
std::map<double, unsigned> numbers_of(DType dtype) {
  std::map<double, unsigned> numbers;
  for (unsigned bits = 0; bits < 1U << static_cast<unsigned>(info_of(dtype).bits); ++bits) {
    const float x = number_of_bits(dtype, bits);
    if (std::isfinite(x) && !(x == 0 && std::signbit(x))) numbers.emplace(x, bits);
  }
  return numbers;
}

TEST(Elements, EveryBitPatternComesBack) {
  for (const DType dtype : kFloats) {
    for (unsigned bits = 0; bits < 1U << static_cast<unsigned>(info_of(dtype).bits); ++bits) {
      const float x = number_of_bits(dtype, bits);
      const unsigned back = bits_of_number(dtype, x, kStrict);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(number_of_bits(dtype, back))) << to_string(dtype) << " " << bits;
      } else {
        EXPECT_EQ(back, bits) << to_string(dtype);
        EXPECT_EQ(bits_of_number(dtype, static_cast<double>(x), kStrict), bits) << to_string(dtype);
      }
    }
  }
}

TEST(Elements, FloatsRoundToTheNearestAndTiesToEven) {
  for (const DType dtype : kFloats) {
    const auto numbers = numbers_of(dtype);
    for (auto low = numbers.begin(), high = std::next(low); high != numbers.end(); low = high++) {
      const double middle = low->first + (high->first - low->first) / 2;
      // Zero is even, and is one of both numbers around a sign.
      const unsigned even = (low->second & 1U) == 0 ? low->second : high->second;
      const auto rounded = [&](double x) {
        return number_of_bits(dtype, bits_of_number(dtype, x));
      };
      EXPECT_EQ(std::fabs(rounded(middle)), std::fabs(number_of_bits(dtype, even)))
          << to_string(dtype) << " " << middle;
      EXPECT_EQ(rounded(std::nextafter(middle, kInf)), high->first) << to_string(dtype);
      EXPECT_EQ(rounded(std::nextafter(middle, -kInf)), low->first) << to_string(dtype);
      EXPECT_EQ(bits_of_number(dtype, static_cast<float>(middle)), bits_of_number(dtype, middle))
          << to_string(dtype) << " of f32 and f64";
    }
  }
}

TEST(Elements, BeyondTheGreatestNumber) {
  struct Row {
    DType dtype;
    float x;
    unsigned saturated, strict;
  };
  const Row rows[] = {
      {DType::kF16, 65519, 0x7bff, 0x7bff},   {DType::kF16, 65520, 0x7c00, 0x7c00},
      {DType::kF16, -kInf, 0xfc00, 0xfc00},   {DType::kBF16, 3.4e38F, 0x7f80, 0x7f80},
      {DType::kF8E4M3FN, 464, 0x7e, 0x7e},    {DType::kF8E4M3FN, 465, 0x7e, 0x7f},
      {DType::kF8E4M3FN, -kInf, 0xfe, 0xff},  {DType::kF8E4M3FN, kNan, 0x7f, 0x7f},
      {DType::kF8E4M3FNUZ, kInf, 0x7f, 0x80}, {DType::kF8E4M3FNUZ, -1000, 0xff, 0x80},
      {DType::kF8E4M3FNUZ, kNan, 0x80, 0x80}, {DType::kF8E4M3FNUZ, -0.0F, 0, 0},
      {DType::kF8E4M3FNUZ, -1e-9F, 0, 0},     {DType::kF8E5M2, 61439, 0x7b, 0x7b},
      {DType::kF8E5M2, 61440, 0x7b, 0x7c},    {DType::kF8E5M2, -kInf, 0xfb, 0xfc},
      {DType::kF8E5M2FNUZ, 1e9F, 0x7f, 0x80}, {DType::kF8E5M2FNUZ, -0.0F, 0, 0},
      {DType::kF4E2M1, 1e9F, 0x7, 0x7},       {DType::kF4E2M1, -kInf, 0xf, 0xf},
      {DType::kF8E5M2, -0.0F, 0x80, 0x80},    {DType::kBF16, kInf, 0x7f80, 0x7f80},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(bits_of_number(row.dtype, row.x), row.saturated) << to_string(row.dtype) << row.x;
    EXPECT_EQ(bits_of_number(row.dtype, row.x, kStrict), row.strict)
        << to_string(row.dtype) << row.x;
  }
}

TEST(Elements, ScalesArePowersOfTwo) {
  using Scale = Narrowing::Scale;
  struct Row {
    float x;
    unsigned up, down, nearest, strict;
  };
  const Row rows[] = {{1, 127, 127, 127, 127},    {1.25F, 128, 127, 127, 128},
                      {1.5F, 128, 127, 128, 128}, {0.75F, 127, 126, 127, 127},
                      {0, 0, 0, 0, 255},          {1e-45F, 0, 0, 0, 255},
                      {kInf, 254, 254, 254, 255}, {3.3e38F, 254, 254, 254, 255},
                      {kNan, 255, 255, 255, 255}, {5.877472e-39F, 0, 0, 0, 0}};
  for (const Row& row : rows) {
    const auto bits = [&](Narrowing how) { return bits_of_number(DType::kF8E8M0, row.x, how); };
    EXPECT_EQ(bits({}), row.up) << row.x;
    EXPECT_EQ(bits({.scale = Scale::kDown}), row.down) << row.x;
    EXPECT_EQ(bits({.scale = Scale::kNearest}), row.nearest) << row.x;
    EXPECT_EQ(bits(kStrict), row.strict) << row.x;
  }
  for (unsigned bits = 0; bits < 255; ++bits) {
    EXPECT_EQ(number_of_bits(DType::kF8E8M0, bits), std::ldexp(1.0F, static_cast<int>(bits) - 127));
    EXPECT_EQ(bits_of_number(DType::kF8E8M0, number_of_bits(DType::kF8E8M0, bits)), bits);
  }
  EXPECT_TRUE(std::isnan(number_of_bits(DType::kF8E8M0, 255)));
}

TEST(Elements, IntegersWrapAndFloatsStopAtTheEnds) {
  struct Row {
    DType dtype;
    double from_float;
    std::int64_t from_integer, wrapped;
    double stopped;
  };
  const Row rows[] = {{DType::kI8, 300, 300, 44, 127},
                      {DType::kU8, -1, -1, 255, 0},
                      {DType::kI16, 1e9, 65537, 1, 32767},
                      {DType::kU16, 1e9, -1, 65535, 65535},
                      {DType::kU32, -3.9, -1, 4294967295, 0},
                      {DType::kI4, 9, 9, -7, -7},
                      {DType::kU4, 17, 17, 1, 1},
                      {DType::kI2, 2, 2, -2, -2},
                      {DType::kU2, 5, -1, 3, 1},
                      {DType::kBool, 0.5, 256, 1, 1}};
  for (const Row& row : rows) {
    std::byte bytes[8] = {};
    write_element(row.dtype, row.from_integer, bytes, 0);
    EXPECT_EQ(read_element<std::int64_t>(row.dtype, bytes, 0), row.wrapped) << to_string(row.dtype);
    write_element(row.dtype, row.from_float, bytes, 0);
    EXPECT_EQ(read_element<double>(row.dtype, bytes, 0), row.stopped) << to_string(row.dtype);
  }
}

TEST(Elements, BelowAByteArePackedFromTheLowBits) {
  for (const DType dtype : {DType::kU2, DType::kI2, DType::kU4, DType::kI4, DType::kF4E2M1}) {
    const int in_byte = 8 / info_of(dtype).bits;
    std::byte bytes[2] = {std::byte{0xff}, std::byte{0xff}};
    write_element(dtype, 1, bytes, 1);
    EXPECT_EQ(read_element<float>(dtype, bytes, 1), 1) << to_string(dtype);
    for (const std::int64_t i : {0, 2})
      EXPECT_EQ(read_element<float>(dtype, bytes, i),
                read_element<float>(dtype, bytes, in_byte + 1))
          << to_string(dtype) << ": its neighbours stay";
  }
  std::byte byte{};
  const std::int32_t two[] = {1, -2};
  write_elements(DType::kI4, std::span<const std::int32_t>(two), &byte, 0);
  EXPECT_EQ(byte, std::byte{0xe1});
}

TEST(Elements, OfWholeBytesMayLieAnywhere) {
  std::byte bytes[9] = {};
  write_element(DType::kF64, 0.1, bytes + 1, 0);
  EXPECT_EQ(read_element<double>(DType::kF64, bytes + 1, 0), 0.1);
  bytes[3] = std::byte{7};
  EXPECT_EQ(read_element<std::int64_t>(DType::kBool, bytes + 3, 0), 1) << "any byte is true";
}

}  // namespace
}  // namespace parallax
