#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace parallax {
namespace {

static_assert(sizeof(Boxed<std::string>) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<Boxed<std::string>>);

TEST(Boxed, IsEmptyUntilItHasAValue) {
  Boxed<std::string> box;
  EXPECT_FALSE(box);
  EXPECT_FALSE(box.has_value());
  EXPECT_EQ(box.emplace(3, 'a'), "aaa");
  EXPECT_TRUE(box);
  box.reset();
  EXPECT_FALSE(box);
  box = std::string("b");
  box = std::nullopt;
  EXPECT_FALSE(box);
}

TEST(Boxed, TakesWhatAnOptionalHas) {
  const std::optional<std::string> full = "a";
  EXPECT_EQ(*Boxed<std::string>(full), "a");
  EXPECT_FALSE(Boxed<std::string>(std::optional<std::string>()));
}

TEST(Boxed, CopiesTheValue) {
  const Boxed<std::string> first = std::string("a");
  Boxed<std::string> second = first;
  EXPECT_EQ(first, second);
  second->push_back('b');
  EXPECT_EQ(*first, "a");
  EXPECT_NE(first, second);
  second = first;
  EXPECT_EQ(first, second);
  const Boxed<std::string>& itself = second;
  second = itself;
  EXPECT_EQ(*second, "a");
  second = Boxed<std::string>();
  EXPECT_NE(first, second);
  EXPECT_EQ(second, Boxed<std::string>());
}

TEST(Boxed, IsEmptyOnceMovedFrom) {
  Boxed<std::string> first = std::string("a");
  const Boxed<std::string> second = std::move(first);
  EXPECT_EQ(*second, "a");
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): promised
  const std::string taken = *Boxed<std::string>(std::string("c"));
  EXPECT_EQ(taken, "c");
}

}  // namespace
}  // namespace parallax
