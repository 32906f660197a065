#include "base/name_hashes.h"

#include <gtest/gtest.h>

#include <string>

namespace parallax {
namespace {

TEST(NameHashes, KnowWhatWasInserted) {
  NameHashes names;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 10'000; ++i)
      EXPECT_EQ(names.insert("node_" + std::to_string(i)), round == 0) << i;
  }
  EXPECT_TRUE(names.insert(""));
  EXPECT_FALSE(names.insert(""));
}

TEST(NameHashes, ReservingKeepsThem) {
  NameHashes names;
  EXPECT_TRUE(names.insert("a"));
  names.reserve(1000);
  EXPECT_FALSE(names.insert("a"));
  EXPECT_TRUE(names.insert("b"));
}

}  // namespace
}  // namespace parallax
