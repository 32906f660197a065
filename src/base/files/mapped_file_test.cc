#include "base/files/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "base/files/resident_test_util.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("mapped_file_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(std::string_view name, std::size_t size) {
    std::ofstream out(folder_ / name, std::ios::binary);
    for (std::size_t i = 0; i < size; ++i) out.put(static_cast<char>(i % 251));
    return folder_ / name;
  }

  fs::path folder_;
};

std::size_t sum(std::span<const std::byte> bytes) {
  std::size_t total = 0;
  for (const std::byte b : bytes) total += static_cast<std::size_t>(b);
  return total;
}

TEST_F(MappedFileTest, HasTheBytes) {
  const auto file = MappedFile::open(write("a", 10000));
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_EQ((*file)->bytes().size(), 10000U);
  for (std::size_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(static_cast<std::size_t>((*file)->bytes()[i]), i % 251);
  }
  const auto empty = MappedFile::open(write("empty", 0));
  ASSERT_TRUE(empty);
  EXPECT_TRUE((*empty)->bytes().empty());
}

TEST_F(MappedFileTest, MapsAnOpenFile) {
  const fs::path path = write("a", 300);
  const auto file = MappedFile::map(Descriptor(::open(path.c_str(), O_RDONLY)), "its name");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ((*file)->bytes()[299], std::byte{48});
  EXPECT_EQ((*file)->identity(), (*MappedFile::open(path))->identity());
  const auto folder = MappedFile::map(Descriptor(::open(folder_.c_str(), O_RDONLY)), "its name");
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("'its name': Is a directory"), std::string::npos);
}

TEST_F(MappedFileTest, ErrorsAreTyped) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("loop", folder_ / "loop");
  const std::vector<std::pair<fs::path, std::string>> cases = {
      {folder_ / "missing", "No such file"}, {folder_, "Is a directory"},
      {folder_ / "fifo", "not a regular"},   {"/dev/zero", "not a regular"},
      {folder_ / "loop", "symbolic links"},  {"", "No such file"}};
  for (const auto& [path, reason] : cases) {
    const auto file = MappedFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, ErrorCode::kIo);
    EXPECT_NE(file.error().message.find(reason), std::string::npos) << file.error().message;
  }
}

TEST_F(MappedFileTest, ReleasedPagesComeBackFromTheFile) {
  const std::size_t size = 1 << 20;
  const auto file = MappedFile::open(write("big", size));
  ASSERT_TRUE(file);
  const auto bytes = (*file)->bytes();
  const std::size_t before = sum(bytes);
  const long full = resident_kib(bytes.data());
  release_pages(bytes.subspan(1, size - 1));
  EXPECT_GE(full, 1024);
  EXPECT_LE(resident_kib(bytes.data()), 8) << "the first page is not wholly inside";
  EXPECT_EQ(sum(bytes), before);
}

TEST(ReleasePages, LeavesOtherMemoryAlone) {
  std::vector<std::byte> heap(1 << 20, std::byte{7});
  release_pages(heap);
  EXPECT_EQ(std::ranges::count(heap, std::byte{7}), 1 << 20);
  release_pages({});
}

TEST_F(MappedFileTest, ThreadsMayMapAndReleaseAtOnce) {
  const fs::path path = write("shared", 1 << 16);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const auto file = MappedFile::open(path);
        ASSERT_TRUE(file);
        release_pages((*file)->bytes());
        ASSERT_EQ((*file)->bytes()[300], std::byte{49});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace parallax
