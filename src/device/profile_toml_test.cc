#include "device/profile_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

namespace parallax {
namespace {

using testing::HasSubstr;

constexpr std::string_view kProfile = R"(name = "phone"
memory_bytes = 1000
[[cores]]
name = "big"
count = 2
hertz = 2.8e9
relative_speed = 1
[delegate]
name = "gpu"
launch_seconds = 2e-4
macs_per_second = 1e12
bytes_per_second = 5e10
cpu_macs_per_second = 1e9
memory_bytes = 100
dtypes = ["f32", "i8"]
max_rank = 4
operators = ["Conv", "Relu"]
bridges = ["Softmax"]
[delegate.limits.Conv]
max_rank = 5
slowdown = 2
attributes = { group = { max = 1 }, auto_pad = { one_of = ["NOTSET"] } }
)";

TEST(Profile, SourceAndClockMayBeLeftOut) {
  const std::string plain(kProfile);
  EXPECT_EQ(parse_profile(plain, "p.toml")->source, "");
  EXPECT_EQ(parse_profile("source = \"a book\"\n" + plain, "p.toml")->source, "a book");
  EXPECT_THAT(parse_profile("source = 7\n" + plain, "p.toml").error().message,
              HasSubstr("'source' must be a text"));
  std::string without_clock = plain;
  without_clock.erase(plain.find("hertz"), std::string_view("hertz = 2.8e9\n").size());
  const auto profile = parse_profile(without_clock, "p.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->cores[0].peaks.hertz, 0);
}

TEST(Profile, IsRead) {
  const auto profile = parse_profile(kProfile, "phone.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->name, "phone");
  EXPECT_EQ(profile->memory_bytes, 1000);
  ASSERT_EQ(profile->cores.size(), 1U);
  EXPECT_EQ(profile->cores[0].count, 2);
  EXPECT_EQ(profile->cores[0].peaks.hertz, 2.8e9);
  ASSERT_TRUE(profile->delegate.has_value());
  const Delegate& delegate = *profile->delegate;
  EXPECT_EQ(delegate.launch_seconds, 2e-4);
  EXPECT_EQ(delegate.macs_per_second, 1e12);
  EXPECT_EQ(delegate.bytes_per_second, 5e10);
  EXPECT_EQ(delegate.cpu_macs_per_second, 1e9);
  EXPECT_EQ(delegate.memory_bytes, 100);
  EXPECT_FALSE(delegate.dynamic_shapes);
  ASSERT_EQ(delegate.operators.size(), 3U);
  const OperatorLimits& conv = delegate.operators.at(OpKind::kConv);
  EXPECT_EQ(conv.dtypes, (std::vector{DType::kF32, DType::kI8}));
  EXPECT_EQ(conv.max_rank, 5);
  EXPECT_EQ(conv.slowdown, 2);
  EXPECT_FALSE(conv.bridge);
  ASSERT_EQ(conv.attributes.size(), 2U);
  EXPECT_EQ(conv.attributes[0].one_of, std::vector<std::string>{"NOTSET"});
  EXPECT_EQ(conv.attributes[1].max, 1.0);
  EXPECT_TRUE(delegate.operators.at(OpKind::kSoftmax).bridge);
  EXPECT_EQ(delegate.operators.at(OpKind::kSoftmax).max_rank, 4);
}

TEST(Profile, ImagesHaveChannelsFirstOrLast) {
  const auto with = [](const std::string& line) {
    std::string text(kProfile);
    return parse_profile(text.insert(text.find("dtypes"), line + "\n"), "p.toml");
  };
  EXPECT_FALSE(with("")->delegate->channels_last);
  EXPECT_FALSE(with("images = \"channels_first\"")->delegate->channels_last);
  EXPECT_TRUE(with("images = \"channels_last\"")->delegate->channels_last);
  EXPECT_THAT(with("images = \"NHWC\"").error().message, HasSubstr("'NHWC' is not an order"));
  EXPECT_THAT(with("images = 7").error().message, HasSubstr("'images' must be a text"));
}

TEST(Profile, ADelegateMayTakeSizesThatOnlyRunningTells) {
  std::string text(kProfile);
  const std::size_t at = text.find("max_rank");
  text.insert(at, "dynamic_shapes = true\n");
  const auto profile = parse_profile(text, "p.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_TRUE(profile->delegate->dynamic_shapes);
  text.replace(text.find("= true"), 6, "= 1");
  EXPECT_THAT(parse_profile(text, "p.toml").error().message,
              HasSubstr("'dynamic_shapes' must be true or false"));
}

TEST(Profile, ACpuWithSamplesNeedsNoDelegate) {
  const auto profile = parse_profile(R"(name = "this machine"
[cpu]
macs_per_second = 5e10
bytes_per_second = 2e10
cache_bytes = 1000
node_seconds = 1e-6
share_seconds = 2e-6
[[cpu.samples]]
op = "Conv"
kernel = "simd"
shapes = "1 -> 1"
macs = 3
bytes = 4
seconds = 1e-3
)",
                                     "p.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_FALSE(profile->delegate.has_value());
  EXPECT_EQ(profile->cpu.macs_per_second, 5e10);
  EXPECT_EQ(profile->cpu.cache_bytes, 1000);
  ASSERT_EQ(profile->cpu.samples.size(), 1U);
  EXPECT_EQ(profile->cpu.samples[0].shapes, "1 -> 1");
  EXPECT_EQ(profile->cpu.samples[0].seconds, 1e-3);
  EXPECT_FALSE(parse_profile("name = \"x\"\n[cpu]\nmacs_per_second = 1", "p.toml"));
}

constexpr std::string_view kBuilt = R"(name = "phone"
[[cores]]
name = "big"
count = 1
hertz = 3e9
macs_per_cycle = 16
bytes_per_cycle = 48
[[cores]]
name = "little"
count = 4
hertz = 2e9
macs_per_cycle = 4
bytes_per_cycle = 8
[cpu]
bytes_per_second = 5e10
cache_bytes = 4194304
node_seconds = 1e-6
share_seconds = 1e-6
)";

TEST(Profile, CoresMayBeDescribedByHowTheyAreBuilt) {
  const auto profile = parse_profile(kBuilt, "p.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->cores.size(), 2U);
  EXPECT_EQ(profile->cores[0].peaks.macs_per_cycle, 16);
  EXPECT_EQ(profile->cores[1].peaks.bytes_per_cycle, 8);
  EXPECT_DOUBLE_EQ(profile->cores[0].relative_speed, 1);
  EXPECT_DOUBLE_EQ(profile->cores[1].relative_speed, 4 * 2e9 / (16 * 3e9));
  EXPECT_EQ(profile->cpu.macs_per_second, 0);
}

/// Returns `profile` with the first `from` replaced.
std::string changed(std::string_view from, std::string_view to,
                    std::string_view profile = kProfile) {
  std::string text(profile);
  return text.replace(text.find(from), from.size(), to);
}

TEST(Profile, ErrorsNameFileAndLine) {
  struct Row {
    std::string text, message;
  };
  const std::vector<Row> rows = {
      {changed("name = \"phone\"", ""), "p.toml:1: 'name' is missing"},
      {changed("= 2.8e9", "= \"fast\""), "p.toml:6: 'hertz' must be a number from 1 to 1e+12"},
      {changed("= 1e12", "= 0"), "p.toml:11: 'macs_per_second' must be a number"},
      {changed("= 1e12", "= nan"), "p.toml:11: 'macs_per_second' must be a number"},
      {changed("= 1e12", "= inf"), "p.toml:11: 'macs_per_second' must be a number"},
      {changed("= 2e-4", "= -1"), "p.toml:10: 'launch_seconds' must be"},
      {changed("count = 2", "count = 2.5"), "p.toml:5: 'count' must be an integer from 1 to 1024"},
      {changed("count = 2", "cuont = 2"), "p.toml:3: 'count' is missing"},
      {changed("max_rank = 4", "max_rank = 4\nmin_rank = 1"),
       "p.toml:17: key 'min_rank' is not known"},
      {changed("\"i8\"", "\"f99\""), "p.toml:15: 'f99' is not an element type"},
      {changed("\"Relu\"", "\"Rleu\""), "p.toml:17: 'Rleu' is not an operator"},
      {changed("\"Relu\"", "\"Conv\""), "p.toml:17: 'Conv' stands here twice"},
      {changed("\"Relu\"", "7"), "p.toml:17: 'operators' must be a list of texts"},
      {changed("limits.Conv", "limits.Add"), "p.toml:19: limits of 'Add'"},
      {changed("group = {", "groups = {"), "p.toml:22: Conv has no attribute 'groups'"},
      {changed("{ max = 1 }", "1"), "p.toml:22: 'group' must be a table"},
      {changed("[[cores]]", "[cores]"), "p.toml:3: 'cores' must be a list of tables"},
      {changed("[delegate]", "[delegat]"), "p.toml:19: 'name' is missing"},
      {changed("[delegate]", "delegate]"), "p.toml:8: "},
      {changed("hertz = 3e9\n", "", kBuilt), "p.toml:2: 'hertz' is missing"},
      {changed("bytes_per_cycle = 8\n", "", kBuilt), "p.toml:8: 'bytes_per_cycle' is missing"},
      {changed("macs_per_cycle = 16", "macs_per_cycle = 0", kBuilt),
       "p.toml:6: 'macs_per_cycle' must be a number"},
      {changed("macs_per_cycle = 16", "macs_per_cycle = 16\nrelative_speed = 1", kBuilt),
       "p.toml:7: key 'relative_speed' is not known"},
      {changed("macs_per_cycle = 4\nbytes_per_cycle = 8", "relative_speed = 1", kBuilt),
       "p.toml:8: 'macs_per_cycle' must be given for every kind of core, or for none"},
      {changed("[cpu]", "[cpu]\nmacs_per_second = 1e9", kBuilt),
       "p.toml:14: the cores have 'macs_per_cycle'"},
      {std::string(2U << 20, ' '), "larger than 1048576 bytes"},
      {"a = " + std::string(100000, '['), "p.toml:1: "},
  };
  for (const Row& row : rows) {
    const auto profile = parse_profile(row.text, "p.toml");
    ASSERT_FALSE(profile) << row.message;
    EXPECT_THAT(profile.error().message, HasSubstr(row.message));
    EXPECT_EQ(profile.error().stage, Stage::kPartition);
    EXPECT_EQ(profile.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(ProfileProperty, AnyTextIsReadOrRefused) {
  EXPECT_TRUE(rc::check([](const std::string& noise) {
    std::string text(kProfile);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text.insert(at, noise.substr(0, 8));
    text.resize(*rc::gen::inRange<std::size_t>(0, text.size()));
    const auto profile = parse_profile(text, "p");
    RC_ASSERT(profile || !profile.error().message.empty());
  }));
}

TEST(Profile, TextThatIsNoTableIsRefused) {
  for (const char* text : {"[", "[!b = 1", "[\nb = 1", "[[}", "a.!", "a = {!", "\u00e9",
                           "a\u00b5 = 1", "a = \u0499", "a = 1 \u3001", "a =\uff11", "\u16ff"})
    EXPECT_FALSE(parse_profile(text, "p")) << text;
}

TEST(Profile, ThoseThatShipAreRead) {
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(PX_SOURCE_DIR) + "/profiles")) {
    const auto profile = load_profile(file.path());
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->name, file.path().stem().string());
    EXPECT_TRUE(profile->delegate && !profile->delegate->operators.empty());
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(Profile, AFileThatIsNotThere) {
  const auto profile = load_profile("/nowhere/phone.toml");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::kIo);
}

TEST(Calibration, IsReadOrRefused) {
  const auto read = parse_calibration(
      "launch_seconds = 1e-4\n[rates.Conv]\ndelegate = 1e11\ncpu = 1e10\n", "c.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->launch_seconds, 1e-4);
  EXPECT_FALSE(read->bytes_per_second);
  EXPECT_EQ(read->rates.at(OpKind::kConv).delegate, 1e11);
  EXPECT_EQ(read->rates.at(OpKind::kConv).cpu, 1e10);
  EXPECT_TRUE(parse_calibration("", "c.toml"));
  struct Row {
    std::string_view text, message;
  };
  for (const Row& row : {Row{"[rates.Conv]\ncpu = 1", "c.toml:1: 'delegate' is missing"},
                         Row{"[rates.Cnov]\ncpu = 1", "c.toml:1: 'Cnov' is not an operator"},
                         Row{"rates.Conv = 1", "c.toml:1: a rate must be a table"},
                         Row{"x = 1", "c.toml:1: key 'x' is not known"}}) {
    const auto refused = parse_calibration(row.text, "c.toml");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, row.message);
  }
}

}  // namespace
}  // namespace parallax
