#include "base/name_map.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

TEST(SipHash, GivesTheReferenceValues) {
  // With key 0: the hash of bytes in CPython 3.11 and later under PYTHONHASHSEED=0. With key 0, 1,
  // ..., 15: the first of the vectors published with SipHash-1-3.
  const struct {
    HashKey key;
    std::string_view text;
    std::uint64_t hash;
  } cases[] = {
      {{0, 0}, "a", 0x407448d2b89b1813},
      {{0, 0}, "1234567", 0xa33d651594fdae81},
      {{0, 0}, "12345678", 0x3489982430560a87},
      {{0, 0}, "/encoder/layer.0/attention/MatMul_output_0", 0x280e5a6ec1457f90},
      {{0x0706050403020100, 0x0f0e0d0c0b0a0908}, "", 0xabac0158050fc4dc},
  };
  for (const auto& c : cases) EXPECT_EQ(sip_hash(c.key, c.text), c.hash) << c.text;
}

TEST(SipHash, DependsOnTheKey) {
  EXPECT_NE(sip_hash({1, 2}, "name"), sip_hash({1, 3}, "name"));
  EXPECT_NE(sip_hash({1, 2}, "name"), sip_hash({0, 2}, "name"));
}

TEST(NameMap, IsLookedUpByView) {
  OwningNameMap<int> owning;
  owning.emplace("a", 1);
  EXPECT_TRUE(owning.contains(std::string_view("a")));
  EXPECT_FALSE(owning.contains(std::string_view("b")));
  EXPECT_EQ(name_hash("a"), name_hash(std::string("a")));
}

}  // namespace
}  // namespace parallax
