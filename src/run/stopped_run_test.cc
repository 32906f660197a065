// Runs that end early: an error, a limit or a budget in one branch while others are inside If, Loop
// and Scan. Stopped work never counts as done.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "run/mixed_program_test_util.h"
#include "run/run_test_util.h"

namespace parallax {
namespace {

struct Stop {
  const char* name;
  std::int64_t index = 0;
  std::int64_t max_trips = 1'000'000;
  bool limited_time = false;
  std::optional<std::int64_t> budget_above_plan = {};
  bool later = false;  ///< whether the budget shrinks after some branches have started
  ErrorCode code;
  const char* node;  ///< the node of the error; empty: any
};

const std::vector<Stop> kStops = {
    {.name = "index", .index = 256, .code = ErrorCode::kOutOfRange, .node = "pick"},
    {.name = "trips", .max_trips = 3000, .code = ErrorCode::kLimitExceeded, .node = ""},
    {.name = "time", .limited_time = true, .code = ErrorCode::kLimitExceeded, .node = ""},
    {.name = "budget", .budget_above_plan = 400, .code = ErrorCode::kBudgetExceeded, .node = ""},
    {.name = "budget later",
     .budget_above_plan = 400,
     .later = true,
     .code = ErrorCode::kBudgetExceeded,
     .node = ""},
};

/// A program for many runs, one after the other.
class Runs {
 public:
  Runs(const std::shared_ptr<GraphContext>& context, int threads, Scheduler scheduler)
      : settings_{.threads = threads, .max_trips = 1'000'000, .scheduler = scheduler},
        program_(*program_of(context, settings_)),
        pool_(threads) {}

  /// Expects that a run ends with the error of `stop`, somewhere in the middle, and names a node.
  void expect_stop(const Stop& stop, int round) {
    Settings settings = settings_;
    settings.max_trips = stop.max_trips;
    if (stop.limited_time) settings.time_limit = std::chrono::microseconds(200 * round);
    std::atomic<int> readings{0};
    if (stop.later) {
      // All tasks wait for memory too, or not.
      const RunBudget fallen{program_->bytes + *stop.budget_above_plan, round % 2 == 0};
      settings.budget_later = [&readings, fallen, branches = round % 3] {
        return readings++ < branches ? RunBudget{} : fallen;
      };
    } else if (stop.budget_above_plan) {
      settings.budget = program_->bytes + *stop.budget_above_plan;
    }
    // Long enough not to end before the others; short if it must end.
    const bool concurrent = settings.threads > 1 && settings.scheduler == Scheduler::kDataflow;
    const bool whole = stop.budget_above_plan || (stop.index != 0 && !concurrent);
    const auto got =
        run(*program_, pool_, memory_, mixed_inputs(stop.index, whole ? 10 : 5000), settings);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, stop.code) << got.error().to_string();
    EXPECT_EQ(got.error().stage, Stage::kRun);
    EXPECT_FALSE(got.error().node.empty());
    if (*stop.node != 0) {
      EXPECT_EQ(got.error().node, stop.node);
    }
  }

  /// Expects that stopped runs have left nothing behind.
  void expect_done() {
    Settings settings = settings_;
    std::atomic<int> readings{0};
    settings.budget_later = [&readings] {
      return RunBudget{std::int64_t{1} << 30, readings++ % 2 == 0};
    };
    const auto got = run(*program_, pool_, memory_, mixed_inputs(2, 5), settings);
    EXPECT_GT(readings, 0);
    ASSERT_TRUE(got) << got.error().to_string();
    std::vector<float> all;
    for (int part = 0; part < 3; ++part)
      for (int i = 1; i <= 8; ++i) all.push_back(static_cast<float>(i));
    EXPECT_EQ(floats((*got)[0]), all);
    const auto rows = floats((*got)[1]);
    ASSERT_EQ(rows.size(), 8U * kScans);
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<float>(i % 8 + 1));
    EXPECT_EQ(floats((*got)[2]), std::vector<float>(256, 0.F));
    EXPECT_EQ(memory_.busy_bytes(), 0);
  }

 private:
  Settings settings_;
  std::shared_ptr<const Program> program_;
  WorkerPool pool_;
  RunMemory memory_;
};

TEST(StoppedRun, NoBodyThatWasCutShortCountsAsDone) {
  const auto context = context_of(mixed_program());
  for (const int threads : {1, 2, 4}) {
    for (const Scheduler scheduler : {Scheduler::kDataflow, Scheduler::kLayers}) {
      Runs runs(context, threads, scheduler);
      for (const Stop& stop : kStops) {
        for (int round = 0; round < 10; ++round) {
          SCOPED_TRACE(fmt::format("{} {} threads, round {}", stop.name, threads, round));
          runs.expect_stop(stop, round);
        }
        runs.expect_done();
      }
    }
  }
}

/// An error in a body ends the bodies around it, and concurrent ones, at their next node, however
/// deep.
TEST(StoppedRun, TheFirstErrorIsTheOneReported) {
  const auto context = context_of(mixed_program());
  Runs runs(context, 4, Scheduler::kDataflow);
  for (int round = 0; round < 50; ++round) runs.expect_stop(kStops[0], round);
  runs.expect_done();
}

}  // namespace
}  // namespace parallax
