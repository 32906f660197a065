#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace parallax {
namespace {

TEST(Bytes, AreReadAsTheyWereWritten) {
  constexpr std::uint64_t kNumbers[] = {0, 1, 127, 128, 300, ~std::uint64_t{0}};
  constexpr std::int64_t kIntegers[] = {0,
                                        -1,
                                        1,
                                        63,
                                        64,
                                        -64,
                                        -65,
                                        std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max()};
  ByteWriter out;
  for (const auto x : kNumbers) out.number(x);
  for (const auto x : kIntegers) out.integer(x);
  out.raw(-0.0F);
  out.text("");
  out.text(std::string_view("a\0b", 3));
  const std::vector<std::byte> bytes = out.take();
  ByteReader in(bytes);
  for (const auto x : kNumbers) EXPECT_EQ(in.number(), x);
  for (const auto x : kIntegers) EXPECT_EQ(in.integer(), x);
  EXPECT_TRUE(std::signbit(in.raw<float>()));
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.text(), std::string_view("a\0b", 3));
  EXPECT_TRUE(in.ok() && in.rest().empty());
}

TEST(Bytes, SmallNumbersAreShort) {
  ByteWriter out;
  out.number(127);
  out.integer(-64);
  EXPECT_EQ(out.take().size(), 2U);
}

TEST(Bytes, WhatIsNotThereFailsForGood) {
  const auto fails = [](const std::vector<int>& given, auto read) {
    std::vector<std::byte> bytes;
    for (const int byte : given) bytes.push_back(static_cast<std::byte>(byte));
    ByteReader in(bytes);
    EXPECT_EQ(read(in), 0U);
    EXPECT_FALSE(in.ok());
    EXPECT_TRUE(in.rest().empty());
    EXPECT_EQ(in.number(), 0U);
    EXPECT_EQ(in.text(), "");
  };
  const auto number = [](ByteReader& in) { return in.number(); };
  fails({}, number);
  fails({0x80}, number);
  const std::vector<int> nine(9, 0xff);
  auto sixty_five_bits = nine;
  sixty_five_bits.push_back(2);
  fails(sixty_five_bits, number);
  auto endless = nine;
  endless.insert(endless.end(), {0x81, 0});
  fails(endless, number);
  fails({7, 1, 2, 3}, [](ByteReader& in) { return in.below(7); });
  fails({4, 1, 2, 3}, [](ByteReader& in) { return in.count(); });
  fails({2, 1, 2, 3}, [](ByteReader& in) { return in.count(2); });
  fails({4, 1, 2, 3}, [](ByteReader& in) { return in.text().size(); });
  fails({1, 2, 3}, [](ByteReader& in) { return in.raw<std::uint32_t>(); });
}

}  // namespace
}  // namespace parallax
