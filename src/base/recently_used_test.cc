#include "base/recently_used.h"

#include <gtest/gtest.h>

#include <string>

namespace parallax {
namespace {

/// Counts how often it is asked, and tells few keys apart.
struct Hash {
  static inline int calls = 0;
  std::size_t operator()(const std::string& key) const {
    ++calls;
    return key.size() % 2;
  }
};
using Table = RecentlyUsed<std::string, int, Hash>;

TEST(RecentlyUsed, ForgetsTheOldest) {
  Table table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find("a"), nullptr);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(table.insert(std::string(1, static_cast<char>('a' + i)), i), i);
  EXPECT_EQ(table.latest(), 4);
  EXPECT_EQ(table.oldest(), 0);
  ASSERT_NE(table.find("a"), nullptr);
  EXPECT_EQ(*table.find("a"), 0);
  EXPECT_EQ(table.latest(), 0);
  EXPECT_EQ(table.oldest(), 1);
  Table::Forgotten forgotten;
  table.forget_oldest(forgotten);
  ASSERT_EQ(forgotten.size(), 1U);
  EXPECT_EQ(forgotten.front().value, 1) << "for its owner to destroy";
  EXPECT_EQ(table.find("b"), nullptr);
  EXPECT_EQ(table.latest(), 0);
  EXPECT_EQ(table.size(), 4U);
  *table.find("d") = 7;
  for (const int value : {2, 4, 0, 7}) {
    EXPECT_EQ(table.oldest(), value);
    table.forget_oldest(forgotten);
  }
  EXPECT_TRUE(table.empty());
}

TEST(RecentlyUsed, FindsWithoutSearching) {
  Table table;
  table.insert("latest", 1);
  Hash::calls = 0;
  ASSERT_NE(table.find("latest"), nullptr);
  EXPECT_EQ(Hash::calls, 0);
  struct Number {
    std::size_t operator()(int n) const { return static_cast<std::size_t>(n); }
  };
  RecentlyUsed<int, int, Number> many;
  for (int i = 0; i < 1000; ++i) many.insert(i, -i);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(many.find(i), nullptr);
    EXPECT_EQ(*many.find(i), -i);
  }
}

}  // namespace
}  // namespace parallax
