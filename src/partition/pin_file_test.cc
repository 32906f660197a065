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
  const auto text = pins_text(plans);
  ASSERT_TRUE(text) << text.error().message;
  const auto read = parse_pins(*text, "p.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->delegate, "test");
  EXPECT_EQ(read->model, plans.model);
  EXPECT_EQ(read->plans, plans.plans);
  plans.plans[8] = {{"\xff is no UTF-8"}};
  EXPECT_FALSE(pins_text(plans));
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
        Row{"[[plans]]\nsizes = 1\nregions = []\ny = 2", "key 'y' is not known"},
        Row{"[[plans]]\nsizes = 1\nregions = []\n[[plans]]\nsizes = 1\nregions = []", "twice"}}) {
    const auto refused = parse_pins(head + std::string(row.text), "p.toml");
    ASSERT_FALSE(refused) << row.text;
    EXPECT_THAT(refused.error().message, HasSubstr(row.message));
    EXPECT_THAT(refused.error().message, HasSubstr("p.toml:"));
  }
  for (const std::string_view text : {"", "delegate = 1", "model = 1", "[[[[", "\xff\xfe"})
    EXPECT_FALSE(parse_pins(text, "p.toml")) << text;
  EXPECT_FALSE(parse_pins(head + "#" + std::string(std::size_t{17} << 20, 'x'), "p.toml"));
  EXPECT_EQ(load_pins("/nowhere/p.toml").error().code, ErrorCode::kIo);
  EXPECT_EQ(save_pins("/nowhere/p.toml", {"t", 1, {}}).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace parallax
