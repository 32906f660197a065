#include "load/names.h"

#include <gtest/gtest.h>

namespace parallax {
namespace {

TEST(CheckName, AcceptsUtf8) {
  for (const std::string& name :
       {std::string(), std::string("conv/1:0 x"), std::string("größe"), std::string("名前"),
        std::string("\xF0\x9F\x98\x80"), std::string(65535, 'a')}) {
    EXPECT_TRUE(check_name("a node", name)) << name;
  }
}

TEST(CheckName, RefusesWhatCannotBePrinted) {
  for (const std::string& name :
       {std::string("a\0b", 3), std::string("a\nb"), std::string("\x1b[31m"), std::string("\x7f"),
        std::string("\xff"), std::string("\x80"), std::string("\xC3"), std::string("\xC0\x80"),
        std::string("\xE0\x80\x80"), std::string("\xED\xA0\x80"), std::string("\xF0\x80\x80\x80"),
        std::string("\xF4\x90\x80\x80"), std::string("a\xE5\x90"), std::string(65536, 'a')}) {
    const auto status = check_name("a node", name);
    ASSERT_FALSE(status) << name.size();
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidModel);
    EXPECT_TRUE(check_name("", status.error().message)) << "message can be printed";
  }
}

TEST(CheckName, LooksAtEveryByte) {
  for (std::size_t size = 1; size <= 25; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string name(size, '~');
        name[at] = static_cast<char>(byte);
        EXPECT_EQ(check_name("a node", name).has_value(), byte >= 0x20 && byte < 0x7F)
            << size << ' ' << at << ' ' << byte;
      }
    }
  }
}

TEST(Quote, ShortensLongNames) {
  EXPECT_EQ(quote("x"), "'x'");
  EXPECT_EQ(quote(std::string(60, 'a') + "middle" + std::string(60, 'b')),
            "'" + std::string(60, 'a') + "..." + std::string(60, 'b') + "'");
  std::string umlauts;
  for (int i = 0; i < 101; ++i) umlauts += "ü";
  EXPECT_TRUE(check_name("", quote("a" + umlauts + "b"))) << "cut between characters";
}

}  // namespace
}  // namespace parallax
