#include "load/onnx/definitions.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace parallax {
namespace {

TEST(Definitions, NumbersNamesInOrder) {
  Definitions definitions;
  EXPECT_EQ(definitions.find("a"), nullptr);
  std::deque<std::string> names;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto [definition, added] =
        definitions.add(names.emplace_back(std::to_string(i)), {.node = 2 * i});
    ASSERT_TRUE(added);
    EXPECT_EQ(definition->index, i);
  }
  EXPECT_EQ(definitions.size(), 1000U);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(definitions.contains(names[i]));
    EXPECT_EQ(definitions.at(names[i]).index, i);
    EXPECT_EQ(definitions[i].node, 2 * i);
  }
  EXPECT_FALSE(definitions.contains("1000"));
}

TEST(Definitions, KeepsTheFirstOfAName) {
  Definitions definitions;
  definitions.reserve(2);
  EXPECT_TRUE(definitions.add("", {.node = 3}).second);
  definitions.find("")->read = true;
  const auto [definition, added] = definitions.add("", {.node = 4});
  EXPECT_FALSE(added);
  EXPECT_EQ(definition->node, 3U);
  EXPECT_TRUE(definition->read);
  EXPECT_EQ(definitions.size(), 1U);
}

}  // namespace
}  // namespace parallax
