#include "partition/pin_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parallax {
namespace {

using testing::HasSubstr;

TEST(PinFile, KeepsPlans) {
  PinnedPlans plans{"test", ~std::uint64_t{0}, {}};
  plans.plans[7] = {{"a", "with \"quotes\" and \\"}, {"line\nbreak\x01"}};
  plans.plans[std::uint64_t{1} << 63U] = {};
  std::string text = pins_head(plans);
  for (const auto& [sizes, regions] : plans.plans) text += pins_entry(sizes, regions);
  const auto read = parse_pins(text, "p.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->delegate, "test");
  EXPECT_EQ(read->model, plans.model);
  EXPECT_EQ(read->plans, plans.plans);
  EXPECT_FALSE(parse_pins(text + pins_entry(8, {{"\xff is no UTF-8"}}), "p.toml"));
}

TEST(PinFile, TheLastPlanForTheSameSizesCounts) {
  const std::string text = pins_head({"test", 1, {}}) + pins_entry(7, {{"a"}}) +
                           pins_entry(8, {{"b"}}) + pins_entry(7, {{"c", "d"}});
  const auto read = parse_pins(text, "p.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->plans,
            (std::map<std::uint64_t, PinnedPlans::Regions>{{7, {{"c", "d"}}}, {8, {{"b"}}}}));
}

TEST(PinFile, FindsTheEntryThatWasNotWrittenToItsEnd) {
  const std::string before = pins_head({"test", 1, {}}) + pins_entry(7, {{"a", "b"}, {"c"}});
  const std::string entry = pins_entry(8, {{"d", "[[plans]]"}, {"e"}});
  for (std::size_t written = 0; written <= entry.size(); ++written) {
    const std::string text = before + entry.substr(0, written);
    const std::size_t complete = incomplete_pins_entry(text);
    EXPECT_TRUE(parse_pins(text.substr(0, complete), "p.toml")) << text;
    EXPECT_GE(complete, before.size());
  }
  EXPECT_EQ(incomplete_pins_entry(before + entry), before.size() + entry.size());
  for (const std::string_view wrong : {"\n[[plans]]\nsizes = 1\nregions = [[\"a\"]\n", "x", "[[[["})
    EXPECT_EQ(incomplete_pins_entry(before + std::string(wrong)), before.size() + wrong.size())
        << "what a user writes is not passed over";
}

TEST(PinFile, RefusesWhatItCannotRead) {
  struct Row {
    std::string_view text, message;
  };
  const std::string head = "delegate = \"t\"\nmodel = 1\n";
  for (const Row& row :
       {Row{"plans = 1", "'plans' must be a list of tables"}, Row{"x = 1", "key 'x' is not known"},
        Row{"[[plans]]\nregions = []", "'sizes' is missing"},
        Row{"[[plans]]\nsizes = 1", "'regions' must be"},
        Row{"[[plans]]\nsizes = 1\nregions = [1]", "a region must be"},
        Row{"[[plans]]\nsizes = 1\nregions = [[1]]", "the name of a node"},
        Row{"[[plans]]\nsizes = 1\nregions = []\ny = 2", "key 'y' is not known"}}) {
    const auto refused = parse_pins(head + std::string(row.text), "p.toml");
    ASSERT_FALSE(refused) << row.text;
    EXPECT_THAT(refused.error().message, HasSubstr(row.message));
    EXPECT_THAT(refused.error().message, HasSubstr("p.toml:"));
  }
  for (const std::string_view text : {"", "delegate = 1", "model = 1", "[[[[", "\xff\xfe"})
    EXPECT_FALSE(parse_pins(text, "p.toml")) << text;
  EXPECT_FALSE(parse_pins(head + "#" + std::string(std::size_t{17} << 20, 'x'), "p.toml"));
}

}  // namespace
}  // namespace parallax
