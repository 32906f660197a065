// Tests which tables, descriptions and shared objects are accepted.
#include "delegate_host/open_delegate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "delegate_host/test_delegate_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

struct WrongTable {
  const char* name;
  void (*change)(px_delegate& table);
  ErrorCode code;
  const char* message;
};

const WrongTable kWrongTables[] = {
    {"no size", [](px_delegate& t) { t.size = 0; }, ErrorCode::kInvalidInput, "without a size"},
    {"short", [](px_delegate& t) { t.size = 24; }, ErrorCode::kInvalidInput, "no function open"},
    {"version", [](px_delegate& t) { t.abi = 7; }, ErrorCode::kUnsupported,
     "is for version 7 of delegate.h, this is version 0"},
    {"no name", [](px_delegate& t) { t.name = nullptr; }, ErrorCode::kInvalidInput,
     "may not have the name ''"},
    {"colon", [](px_delegate& t) { t.name = "a:b"; }, ErrorCode::kInvalidInput,
     "may not have the name 'a:b'"},
    {"no run", [](px_delegate& t) { t.run = nullptr; }, ErrorCode::kInvalidInput,
     "no function run"},
};

TEST(OpenDelegate, RefusesTables) {
  for (const WrongTable& wrong : kWrongTables) {
    px_delegate table = test_delegate();
    wrong.change(table);
    const auto checked = check_table(&table, "");
    ASSERT_FALSE(checked) << wrong.name;
    EXPECT_EQ(checked.error().code, wrong.code) << wrong.name;
    EXPECT_THAT(checked.error().message, HasSubstr(wrong.message)) << wrong.name;
  }
  EXPECT_THAT(check_table(nullptr, "x.so").error().message, HasSubstr("'x.so': no delegate here"));
}

struct WrongText {
  const char* from;
  const char* to;
  const char* message;
};
const WrongText kWrongTexts[] = {
    {"macs_per_second = 1e15", "macs_per_second = -1", "'macs_per_second' must be a number"},
    {"\"Relu\"", "\"Frobnicate\"", "'Frobnicate' is not an operator"},
    {"[delegate]", "[cpu]", "is missing"},
    {"\"f32\"", "\"f33\"", "'f33' is not an element type"},
    {"name = \"test\"\n[delegate]", "[delegate]", "'name' is missing"},
    {"launch_seconds = 1e-6", "launch_seconds = ", "its description"},
};

TEST(OpenDelegate, RefusesDescriptions) {
  for (const WrongText& wrong : kWrongTexts) {
    WithFaults faults;
    const std::size_t at = faults.profile.find(wrong.from);
    ASSERT_NE(at, std::string::npos) << wrong.from;
    faults.profile.replace(at, std::string(wrong.from).size(), wrong.to);
    const px_delegate table = test_delegate();
    const auto opened = open_delegate(*check_table(&table, ""), "test", "", Logger());
    ASSERT_FALSE(opened) << wrong.to;
    EXPECT_EQ(opened.error().stage, Stage::kPartition);
    EXPECT_THAT(opened.error().message, HasSubstr("delegate 'test': ")) << wrong.to;
    EXPECT_THAT(opened.error().message, HasSubstr(wrong.message)) << wrong.to;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(faults.opened, faults.closed) << "what opened is closed";
  }
}

TEST(OpenDelegate, SaysWhatItIs) {
  WithFaults faults;
  faults.device = "a\tGPU";
  std::vector<std::string> lines;
  const Logger log([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  {
    const px_delegate table = test_delegate();
    const auto opened = open_delegate(*check_table(&table, ""), "test:x", "", log);
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ((*opened)->device_name, "a GPU");
    EXPECT_EQ((*opened)->driver, "1.0");
    EXPECT_EQ((*opened)->description().operators.size(), 5U);
    EXPECT_EQ((*opened)->memory, PX_MEMORY_HOST);
  }
  EXPECT_EQ(faults.closed, 1);
  EXPECT_THAT(lines, testing::ElementsAre("open"));
}

TEST(OpenDelegate, SaysWhatFloatsAreStoredIn) {
  for (const px_dtype storage : {0, int{PX_FLOAT32}, int{PX_FLOAT16}, int{PX_INT64}}) {
    WithFaults faults;
    faults.storage = storage;
    const px_delegate table = test_delegate();
    const auto opened = open_delegate(*check_table(&table, ""), "test", "", Logger());
    if (storage == PX_INT64) {
      ASSERT_FALSE(opened);
      EXPECT_THAT(opened.error().message, HasSubstr("storage of type 7"));
    } else {
      ASSERT_TRUE(opened) << opened.error().to_string();
      EXPECT_EQ((*opened)->stores_half, storage == PX_FLOAT16);
    }
  }
}

struct DescribedMemory {
  bool own;
  std::int32_t in_host_memory;
  bool counts_there;
  const char* message;
};
constexpr DescribedMemory kDescribedMemories[] = {
    {false, 0, true, ""},
    {false, 1, true, ""},
    {true, 0, false, ""},
    {true, 1, true, ""},
    {true, 2, false, "in_host_memory is 2, not 0 or 1"}};

TEST(OpenDelegate, SaysWhoseMemoryItHas) {
  for (const DescribedMemory& memory : kDescribedMemories) {
    WithFaults faults;
    faults.own_memory = memory.own;
    faults.in_host_memory = memory.in_host_memory;
    const px_delegate table = test_delegate();
    const auto opened = open_delegate(*check_table(&table, ""), "test", "", Logger());
    if (*memory.message != 0) {
      ASSERT_FALSE(opened);
      EXPECT_THAT(opened.error().message, HasSubstr(memory.message));
    } else {
      ASSERT_TRUE(opened) << opened.error().to_string();
      EXPECT_EQ((*opened)->in_host_memory, memory.counts_there) << memory.own;
    }
  }
}

TEST(OpenDelegate, SaysWhyItDoesNotOpen) {
  WithFaults faults;
  faults.refuse_open = 1;
  const px_delegate table = test_delegate();
  const auto opened = open_delegate(*check_table(&table, ""), "test", "", Logger());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(opened.error().message, "delegate 'test': no such device");
  faults.own_memory = true;
  px_delegate without = test_delegate();
  without.write = nullptr;
  const auto half = open_delegate(*check_table(&without, ""), "test", "", Logger());
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("without allocate, release, write and read"));
}

TEST(OpenDelegate, RefusesFiles) {
  const std::string source =
      std::string(PX_SOURCE_DIR) + "/src/delegate_host/open_delegate_test.cc";
  for (const std::string& file : {std::string("no/such/file.so"), source, std::string("/")}) {
    const auto loaded = load_delegate_library(file);
    ASSERT_FALSE(loaded) << file;
    EXPECT_EQ(loaded.error().code, ErrorCode::kIo);
    EXPECT_THAT(loaded.error().message, HasSubstr("'" + file + "' does not load: "));
  }
}

}  // namespace
}  // namespace parallax
