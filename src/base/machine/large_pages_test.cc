#include "base/machine/large_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/files/mapped_file.h"

namespace parallax {
namespace {

/// Only the system knows whether there are any; but what it says is about this file.
TEST(LargePages, OfAFileAreWholeAndNoMoreThanItHas) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("large_pages_" + std::to_string(::getpid()));
  for (const std::int64_t bytes :
       {std::int64_t{1}, kLargePage - 1, kLargePage, 5 * kLargePage + 3}) {
    std::ofstream(path, std::ios::binary) << std::string(static_cast<std::size_t>(bytes), 'x');
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file);
    const std::int64_t large = map_in_large_pages((*file)->bytes());
    EXPECT_EQ(large % kLargePage, 0) << bytes;
    EXPECT_GE(large, 0) << bytes;
    EXPECT_LE(large, bytes);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace parallax
