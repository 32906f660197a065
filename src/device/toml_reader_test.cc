// Tests TOML that is nested too deeply for the parser's recursion, in all readers of TOML.
#include "device/toml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "device/profile_toml.h"
#include "partition/pin_file.h"

namespace parallax {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Toml, RefusesWhatIsTooDeep) {
  constexpr int kDeep = 100'000;
  struct Row {
    const char* name;
    std::string text;
    int line;
    const char* message;
  };
  const char* const key = "a key of more than 16 parts";
  const char* const nested = "more than 16 lists or tables inside each other";
  const Row rows[] = {
      {"key", repeated("a.", kDeep) + "a = 1", 1, key},
      {"spaces", "x = 1\n\n" + repeated("a\t. ", kDeep) + "a = 1", 3, key},
      {"basic strings", repeated("\"a\".", kDeep) + "a = 1", 1, key},
      {"literal strings", repeated("'a'.", kDeep) + "a = 1", 1, key},
      {"header", "\n[" + repeated("a.", kDeep) + "a]", 2, key},
      {"header of a list", "[[" + repeated("a.", kDeep) + "a]]", 1, key},
      {"inline table", "x = {b = 1, " + repeated("a.", kDeep) + "a = 1}", 1, key},
      {"lists", "x = " + repeated("[", kDeep) + repeated("]", kDeep), 1, nested},
      {"lists in lines", "x = " + repeated("[\n", kDeep) + repeated("]", kDeep), 17, nested},
      {"inline tables", "x = " + repeated("{a = ", kDeep) + "1" + repeated("}", kDeep), 1, nested},
      {"behind strings", "x = '''\n\\''''\ny = \"\"\"\n\\\"\"\"\"\"\"\n" + repeated("a.", kDeep), 5,
       key},
      {"behind a comment", "# \"\"\"\n" + repeated("a.", kDeep) + "a = 1", 2, key},
      {"open", repeated("a.", kDeep), 1, key},
      {"no TOML", repeated("[{", kDeep), 1, nested},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto expect_refused = [&](const auto& parsed) {
      ASSERT_FALSE(parsed);
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
      EXPECT_EQ(parsed.error().message, fmt::format("f.toml:{}: {}", row.line, row.message));
    };
    expect_refused(parse_pins(row.text, "f.toml"));
    expect_refused(parse_profile(row.text, "f.toml"));
    expect_refused(parse_calibration(row.text, "f.toml"));
  }
}

TEST(Toml, ReadsWhatOnlyLooksDeep) {
  for (const std::string& text :
       {"name = \"" + repeated("a.[{", 100) + "\"", "name = '" + repeated("a.[{", 100) + "'",
        "name = 'a' # " + repeated("a.[{'", 100),
        "name = \"\"\"\n" + repeated("a.[{\n", 100) + "\"\"\"\"\""}) {
    const auto parsed = parse_profile(text, "f.toml");
    EXPECT_TRUE(parsed) << parsed.error().message;
  }
}

/// Returns the nesting depth of tables and lists.
int depth_of(const toml::node& node) {
  int deepest = 0;
  if (const toml::array* const array = node.as_array())
    for (const toml::node& each : *array) deepest = std::max(deepest, 1 + depth_of(each));
  if (const toml::table* const table = node.as_table())
    for (const auto& [key, each] : *table) deepest = std::max(deepest, 1 + depth_of(each));
  return deepest;
}

/// Strings of all kinds, many of them invalid, before a key: comments and strings must be
/// recognized as the parser recognizes them.
TEST(Toml, SkipsStringsAndCommentsAsTheParserDoes) {
  constexpr std::array<std::string_view, 4> kQuotes = {"\"", "'", "\"\"\"", "'''"};
  constexpr std::array<std::string_view, 12> kPieces = {
      "\"", "'", "\"\"", "''", "\\", "\\\"", "a.a.a.a.a", "[[[[[", "#", "\n", "\\\\", "x"};
  constexpr TomlLimits kLimits = {4, 4};
  std::minstd_rand random(1);
  int read = 0, deep = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string_view quotes = kQuotes[random() % kQuotes.size()];
    std::string text = fmt::format("a = {}", quotes);
    for (int pieces = static_cast<int>(random() % 5); pieces > 0; --pieces)
      text += kPieces[random() % kPieces.size()];
    text += fmt::format("{}{}\n{} = 1\n", quotes, random() % 4 == 0 ? " # '\"" : "",
                        random() % 2 == 0 ? "b" : "b.c.d.e.f.g");
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) continue;
    const bool is_deep = depth_of(parsed.table()) > kLimits.key_parts;
    EXPECT_EQ(find_deep_toml(text, kLimits).has_value(), is_deep) << text;
    ++read;
    deep += is_deep ? 1 : 0;
  }
  EXPECT_GT(deep, 1000);
  EXPECT_GT(read - deep, 1000);
}

}  // namespace
}  // namespace parallax
