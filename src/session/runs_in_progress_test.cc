#include "session/runs_in_progress.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stop_token>

namespace parallax {
namespace {

TEST(RunsInProgress, WaitsForTheEndOfAnother) {
  RunsInProgress runs;
  auto other = std::make_unique<RunsInProgress::Run>(runs);
  std::promise<void> is_there;
  auto has_ended = std::async(std::launch::async, [&] {
    const RunsInProgress::Run run(runs);
    const std::uint64_t before = runs.ended();
    is_there.set_value();
    return runs.wait_for_end(before, {});
  });
  is_there.get_future().wait();
  other.reset();
  EXPECT_TRUE(has_ended.get());
}

TEST(RunsInProgress, AllWhoWaitForEachOtherGiveUp) {
  RunsInProgress runs;
  const auto wait = [&] {
    const RunsInProgress::Run run(runs);
    return runs.wait_for_end(runs.ended(), {});
  };
  auto first = std::async(std::launch::async, wait), second = std::async(std::launch::async, wait);
  // The one that gives up first ends, which the other one may observe.
  const bool both = first.get() && second.get();
  EXPECT_FALSE(both);
}

TEST(RunsInProgress, KnowsOfARunThatEndedBeforeTheWait) {
  RunsInProgress runs;
  const RunsInProgress::Run run(runs);
  const std::uint64_t before = runs.ended();
  { const RunsInProgress::Run other(runs); }
  EXPECT_TRUE(runs.wait_for_end(before, {}));
}

TEST(RunsInProgress, DoesNotWaitForRunsThatWait) {
  RunsInProgress runs;
  const RunsInProgress::Run run(runs);
  EXPECT_FALSE(runs.wait_for_end(runs.ended(), {}));
}

TEST(RunsInProgress, WaitsNoLongerThanTheDeadline) {
  RunsInProgress runs;
  const RunsInProgress::Run run(runs), other(runs);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(runs.wait_for_end(runs.ended(), Deadline({}, stop.get_token())));
}

}  // namespace
}  // namespace parallax
