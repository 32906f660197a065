#include "planning/plan_pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "cache/test_folder.h"
#include "ir/text/text.h"
#include "ops/infer.h"
#include "session/threads_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

Graph graph_of(std::string_view text) {
  Graph graph = *parse_graph(text);
  (void)infer_graph(graph);
  return graph;
}

class PlanPinTest : public FolderTest {
 protected:
  std::shared_ptr<PlanPin> open() {
    auto pin = PlanPin::open(file_, "test", graph_);
    EXPECT_TRUE(pin) << pin.error().to_string();
    return pin ? *std::move(pin) : nullptr;
  }
  static Binding sizes(int n) { return {{n}}; }
  static PinnedPlans::Regions regions(const std::string& name, int n) {
    return {{name, std::to_string(n)}, {std::string(static_cast<std::size_t>(n % 7) * 1000, 'r')}};
  }
  Status keep(PlanPin& pin, int n, const std::string& name = "a") {
    return pin.keep(graph_, sizes(n), regions(name, n), log_);
  }
  std::optional<PinnedPlans::Regions> find(const PlanPin& pin, int n) {
    return *pin.find(graph_, sizes(n));
  }
  /// Writes some sizes that all writers write, and some of its own; returns 0 if it succeeds.
  int write_all(int writer) {
    const auto pin = PlanPin::open(file_, "test", graph_);
    if (!pin) return 1;
    for (int i = 0; i < kEach; ++i) {
      if (!keep(**pin, 1 + i)) return 2;
      if (!keep(**pin, 1 + (writer + 1) * kEach + i)) return 3;
    }
    return 0;
  }
  void expect_all_written() {
    const auto pin = open();
    ASSERT_NE(pin, nullptr);
    for (int n = 1; n <= (kWriters + 1) * kEach; ++n)
      EXPECT_EQ(find(*pin, n), regions("a", n)) << n;
    const std::string text = read(file_);
    std::size_t entries = 0;
    for (std::size_t at = 0; (at = text.find("[[plans]]", at)) != std::string::npos; ++at)
      ++entries;
    EXPECT_EQ(entries, static_cast<std::size_t>(kWriters + 1) * kEach) << "one for each size";
  }

  static constexpr int kWriters = 4, kEach = 25;
  const Graph graph_ = graph_of("symbols n\ninput x f32 [n, 4]\ny = Neg(x)\noutput y");
  const std::filesystem::path file_ = folder_ / "pins.toml";
  std::vector<std::string> lines_;
  const Logger log_{Log([this](LogLevel, std::string_view line) { lines_.emplace_back(line); })};
};

TEST_F(PlanPinTest, AddsAnEntryForEachNewSize) {
  const auto pin = open();
  ASSERT_TRUE(keep(*pin, 1));
  const std::string first = read(file_);
  ASSERT_TRUE(keep(*pin, 2));
  const std::string both = read(file_);
  EXPECT_TRUE(both.starts_with(first)) << both;
  ASSERT_TRUE(keep(*pin, 1, "other"));
  EXPECT_EQ(read(file_), both);
  EXPECT_EQ(find(*pin, 1), regions("a", 1)) << "the first plan counts";
  const auto later = open();
  EXPECT_EQ(find(*later, 1), regions("a", 1));
  EXPECT_EQ(find(*later, 2), regions("a", 2));
  EXPECT_EQ(find(*later, 3), std::nullopt);
}

TEST_F(PlanPinTest, ThreadsLoseNothing) {
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([this, i] { EXPECT_EQ(write_all(i), 0); });
  for (std::thread& writer : writers) writer.join();
  expect_all_written();
}

TEST_F(PlanPinTest, ProcessesLoseNothing) {
  if (kForkLeavesLocks) GTEST_SKIP() << "the address sanitizer's locks are left as they are";
  std::vector<pid_t> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    ::alarm(kPatienceOfChildren);
    ::_exit(write_all(i));
  }
  for (const pid_t writer : writers) {
    int status = -1;
    EXPECT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  expect_all_written();
}

TEST_F(PlanPinTest, ASessionStaysWithItsPlanAndTheFileWithTheFirst) {
  const auto one = open(), other = open();
  ASSERT_TRUE(keep(*one, 1, "a"));
  ASSERT_TRUE(keep(*other, 1, "b"));
  EXPECT_EQ(find(*one, 1), regions("a", 1));
  EXPECT_EQ(find(*other, 1), regions("b", 1));
  EXPECT_EQ(find(*open(), 1), regions("a", 1));
}

TEST_F(PlanPinTest, WhatAKilledWriterLeftIsReplaced) {
  const auto keep_both = [&](PlanPin& pin) {
    return pin.keep(graph_, sizes(1), {{"a", "b"}, {"c"}}, log_) &&
           pin.keep(graph_, sizes(2), {{"d"}}, log_);
  };
  ASSERT_TRUE(keep_both(*open()));
  const std::string whole = read(file_);
  for (std::size_t written = 0; written < whole.size(); ++written) {
    SCOPED_TRACE(written);
    write(file_, whole.substr(0, written));
    const auto pin = open();
    ASSERT_NE(pin, nullptr);
    ASSERT_TRUE(keep_both(*pin));
    const auto later = open();
    ASSERT_NE(later, nullptr);
    EXPECT_EQ(find(*later, 1), (PinnedPlans::Regions{{"a", "b"}, {"c"}}));
    EXPECT_EQ(find(*later, 2), (PinnedPlans::Regions{{"d"}}));
  }
}

TEST_F(PlanPinTest, AFullFileIsLeftAsItIs) {
  ASSERT_TRUE(keep(*open(), 1));
  const std::string full =
      read(file_) + "#" + std::string(kMaxPinBytes - read(file_).size() - 50, 'x');
  write(file_, full);
  const auto pin = open();
  for (int n = 1; n < 5; ++n) EXPECT_TRUE(keep(*pin, n)) << "runs go on";
  EXPECT_EQ(read(file_).size(), full.size());
  EXPECT_THAT(lines_, testing::ElementsAre(HasSubstr("pins.toml' is full")));
  EXPECT_EQ(find(*pin, 1), regions("a", 1));
  EXPECT_EQ(find(*pin, 2), std::nullopt);
  write(file_, full + std::string(100, 'x'));
  EXPECT_THAT(PlanPin::open(file_, "test", graph_).error().message, HasSubstr("larger than"));
}

TEST_F(PlanPinTest, WhatCannotBeWrittenIsNotKept) {
  const auto pin = open();
  std::filesystem::create_directory(file_);
  EXPECT_EQ(keep(*pin, 1).error().code, ErrorCode::kIo);
  EXPECT_EQ(find(*pin, 1), std::nullopt);
  std::filesystem::remove(file_);
  EXPECT_EQ(pin->keep(graph_, sizes(1), {{"\xff"}}, log_).error().code, ErrorCode::kInvalidInput);
  EXPECT_TRUE(keep(*pin, 1));
  EXPECT_EQ(find(*open(), 1), regions("a", 1));
}

TEST_F(PlanPinTest, AFileThatAnotherModelHasBegunIsRefused) {
  const auto pin = open();
  const Graph other = graph_of("symbols n\ninput x f32 [n, 4]\ny = Exp(x)\noutput y");
  ASSERT_TRUE((*PlanPin::open(file_, "test", other))->keep(other, sizes(1), {{"y"}}, log_));
  const std::string before = read(file_);
  EXPECT_THAT(keep(*pin, 1).error().message, HasSubstr("keeps a plan of another model"));
  EXPECT_EQ(read(file_), before);
}

TEST_F(PlanPinTest, AFileThatWasRemovedIsBegunAgain) {
  const auto pin = open();
  ASSERT_TRUE(keep(*pin, 1));
  std::filesystem::remove(file_);
  ASSERT_TRUE(keep(*pin, 2));
  EXPECT_EQ(find(*open(), 2), regions("a", 2));
}

}  // namespace
}  // namespace parallax
