#include "cache/block_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cstring>

#include "base/checked.h"
#include "base/files/replace_file.h"
#include "cache/test_folder.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

class BlockFileTest : public FolderTest {
 protected:
  BlockFileTest() {
    contents_.version = "packers 7";
    contents_.sources = {{{1, 2, 3, 4, 5}, {6, 7}}, {{8, 9, 10, -11, 12}, {13, 14}}};
    contents_.blocks = {{{1, 0}, as_bytes(first_)}, {{2, 0}, {}}, {{3, 9}, as_bytes(second_)}};
  }

  /// Returns "" if the file can be read and has the contents that were written.
  std::string check() const {
    const auto file = MappedFile::open(path_);
    if (!file) return file.error().message;
    const auto read = read_block_file(**file);
    if (!read) return read.error().message;
    EXPECT_EQ(read->version, contents_.version);
    EXPECT_EQ(read->sources.size(), 2U);
    EXPECT_EQ(read->sources[1].identity, contents_.sources[1].identity);
    EXPECT_EQ(read->sources[1].content, contents_.sources[1].content);
    EXPECT_EQ(read->blocks.size(), 3U);
    for (std::size_t i = 0; i < read->blocks.size(); ++i) {
      const Block& block = read->blocks[i];
      EXPECT_EQ(block.key, contents_.blocks[i].key);
      EXPECT_EQ(text_of(block.bytes), text_of(contents_.blocks[i].bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.bytes.data()) % kAlignment, 0U);
    }
    return "";
  }

  // Header, version, two sources, three blocks.
  static constexpr std::size_t kChecksumAt = 48, kIndexBytes = 56 + 9 + 2 * 56 + 3 * 40;
  const fs::path path_ = folder_ / "deeper" / "a.cache";
  const std::string first_ = std::string(100, 'x'), second_ = "some more";
  BlockFile contents_;
};

TEST_F(BlockFileTest, ReadsWhatWasWritten) {
  const auto written = write_block_file(path_, contents_);
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_TRUE(*written);
  EXPECT_EQ(check(), "");
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp"));
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read);
}

TEST_F(BlockFileTest, RefusesAFileThatIsTornAnywhere) {
  ASSERT_TRUE(write_block_file(path_, contents_));
  const std::string whole = read(path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_unseen(path_, whole.substr(0, size));
    EXPECT_NE(check(), "") << size << " of " << whole.size() << " bytes";
  }
  write_unseen(path_, whole + "x");
  EXPECT_NE(check(), "");
  write_unseen(path_, whole);
  EXPECT_EQ(check(), "");
}

TEST_F(BlockFileTest, SeesEveryFlippedByte) {
  ASSERT_TRUE(write_block_file(path_, contents_));
  const std::string whole = read(path_);
  const auto sealed = fs::last_write_time(path_);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x40);
    write(path_, flipped);
    const bool padding = whole[i] == 0 && i >= kIndexBytes;
    EXPECT_EQ(check() == "", padding) << "byte " << i;
    // The index is checked even if the time of modification is unchanged.
    if (i >= kIndexBytes) continue;
    fs::last_write_time(path_, sealed);
    EXPECT_NE(check(), "") << "byte " << i;
  }
}

TEST_F(BlockFileTest, BelievesNoCountAndNoOffset) {
  ASSERT_TRUE(write_block_file(path_, contents_));
  const std::string whole = read(path_);
  constexpr std::uint64_t kHuge[] = {~0ULL, ~0ULL / 2, 1ULL << 60, 4096};
  // All 8 bytes of header and tables in turn, with a checksum that is right again.
  for (std::size_t at = 8; at + 8 <= kIndexBytes; ++at) {
    for (const std::uint64_t value : kHuge) {
      std::string forged = whole;
      std::memcpy(forged.data() + at, &value, 8);
      std::memset(forged.data() + kChecksumAt, 0, 8);
      const std::uint64_t checksum = hash64(as_bytes(forged).first(kIndexBytes));
      std::memcpy(forged.data() + kChecksumAt, &checksum, 8);
      write(path_, forged);
      const auto file = MappedFile::open(path_);
      ASSERT_TRUE(file);
      const auto read = read_block_file(**file);  // must not crash
      if (!read) continue;
      for (const Block& block : read->blocks) EXPECT_LE(block.bytes.size(), whole.size());
    }
  }
}

TEST_F(BlockFileTest, ReplacesWhatAKilledWriterLeft) {
  fs::create_directories(path_.parent_path());
  write(path_.string() + ".tmp", std::string(100000, 'z'));
  ASSERT_TRUE(write_block_file(path_, contents_));
  EXPECT_EQ(check(), "");
}

TEST_F(BlockFileTest, LeavesTheFileToAnotherWriter) {
  ASSERT_TRUE(write_block_file(path_, contents_));
  const int other = ::open((path_.string() + ".tmp").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  contents_.version = "packers 8";
  const auto written = write_block_file(path_, contents_);
  ASSERT_TRUE(written);
  EXPECT_FALSE(*written);
  ::close(other);
  contents_.version = "packers 7";
  EXPECT_EQ(check(), "");
}

TEST_F(BlockFileTest, WhatIsMappedIsReplacedAndNeverWrittenTo) {
  const std::string large(1 << 20, 'x');
  contents_.blocks[0].bytes = as_bytes(large);
  ASSERT_TRUE(write_block_file(path_, contents_));
  const auto mapped = MappedFile::open(path_);
  ASSERT_TRUE(mapped);
  contents_.blocks[0].bytes = as_bytes(first_);
  ASSERT_TRUE(write_block_file(path_, contents_));
  fs::remove(path_);
  const auto read = read_block_file(**mapped);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_of(read->blocks[0].bytes), large);
}

TEST_F(BlockFileTest, WritesThroughNoLink) {
  fs::create_directories(path_.parent_path());
  write(folder_ / "precious", "mine");
  const std::string partial = path_.string() + ".tmp";
  fs::create_symlink(folder_ / "precious", partial);
  EXPECT_FALSE(write_block_file(path_, contents_));
  fs::remove(partial);
  fs::create_hard_link(folder_ / "precious", partial);
  EXPECT_FALSE(write_block_file(path_, contents_));
  EXPECT_EQ(read(folder_ / "precious"), "mine");
}

/// Returns the exit status of a process that may write files of `limit` bytes: 0 if the file is
/// rejected with an error, and signals are unchanged.
int write_within(rlim_t limit, const fs::path& path, const BlockFile& contents) {
  const rlimit files = {limit, limit};
  if (::setrlimit(RLIMIT_FSIZE, &files) != 0) return 2;
  const auto written = write_block_file(path, contents);
  if (written || written.error().code != ErrorCode::kIo) return 3;
  if (written.error().message.find("File too large") == std::string::npos) return 4;
  sigset_t blocked, pending;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  ::sigpending(&pending);
  if (::sigismember(&blocked, SIGXFSZ) != 0 || ::sigismember(&pending, SIGXFSZ) != 0) return 5;
  struct sigaction action = {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  return action.sa_handler == SIG_DFL ? 0 : 6;
}

TEST_F(BlockFileTest, ALimitOfTheFileSizeIsAnErrorAndNoSignal) {
  ASSERT_TRUE(write_block_file(path_, contents_));
  const auto size = fs::file_size(path_);
  ASSERT_GT(size, 300U);
  for (const rlim_t limit : {rlim_t{0}, rlim_t{200}, static_cast<rlim_t>(size - 1)})
    EXPECT_EXIT(::_exit(write_within(limit, path_, contents_)), testing::ExitedWithCode(0), "");
  EXPECT_FALSE(fs::exists(path_.string() + ".tmp"));
  EXPECT_EQ(check(), "");  // the old one is still there
}

/// Returns 0 if a signal that was pending before still is.
int write_with_a_pending_signal(const fs::path& path, const BlockFile& contents) {
  sigset_t signal, pending;
  ::sigemptyset(&signal);
  ::sigaddset(&signal, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signal, nullptr);
  ::raise(SIGXFSZ);
  if (!write_block_file(path, contents)) return 2;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGXFSZ) == 1 ? 0 : 3;
}

TEST_F(BlockFileTest, ASignalThatTheUserBlocksStaysPending) {
  EXPECT_EXIT(::_exit(write_with_a_pending_signal(path_, contents_)), testing::ExitedWithCode(0),
              "");
}

TEST_F(BlockFileTest, ErrorsAreTyped) {
  write(folder_ / "file", "");
  for (const fs::path& path : {folder_ / "file" / "a.cache", fs::path("/proc/a.cache")}) {
    const auto written = write_block_file(path, contents_);
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().code, ErrorCode::kIo);
    EXPECT_NE(written.error().message.find("cannot write"), std::string::npos);
  }
}

}  // namespace
}  // namespace parallax
