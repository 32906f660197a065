// A folder for each test, and functions that damage files in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace parallax {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Writes a file, even a read-only one.
  static void write(const std::filesystem::path& path, std::string_view text) {
    std::error_code none_yet;
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add, none_yet);
    std::ofstream(path, std::ios::binary) << text;
  }
  /// Writes a file but keeps its times, as damage on a disk does.
  static void write_unseen(const std::filesystem::path& path, std::string_view text) {
    const auto time = std::filesystem::last_write_time(path);
    write(path, text);
    std::filesystem::last_write_time(path, time);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("cache_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
       std::to_string(::getpid()));
};

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace parallax
