// Runs that end early: an error, a limit or a budget in one branch while others are inside If, Loop
// and Scan. What was stopped is never taken for done.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execute/run_test_util.h"

namespace parallax {
namespace {

/// The bytes that these bodies give lie nowhere before the trip that makes them: `w` has a length
/// that only running tells (8, as v is without zeros).
constexpr std::string_view kStep = R"(
        const zero i64 [1] = [0]
        const long i64 [] = [4]
        found = NonZero(v)
        flat = Squeeze(found, zero)
        u = Gather(v, flat)
        t = Neg(u)
        w = Neg(t)
)";

/// Four branches: the one with the most work ahead, which ends in a Gather that fails where i is
/// out of range; a Loop in a Loop; a Scan; a Loop in an If.
std::string mixed() {
  const std::string loop = fmt::format(R"(
        input k i64 []
        input go bool []
        input v f32 [8]
        {}
        output go, w
      end
)",
                                       kStep);
  return fmt::format(R"(
      input x f32 [8]
      input xs f32 [2000, 8]
      input z f32 [256, 256]
      input big i64 []
      input i i64 [1]
      input c bool []
      z1 = Tanh(z)
      z2 = Tanh(z1)
      z3 = Tanh(z2)
      picked = Gather(z3, i) @pick
      b = Loop(big, _, x) @long
      body
        input k i64 []
        input go bool []
        input v f32 [8]
        const m i64 [] = [3]
        w = Loop(m, _, v) @inner
        body
{0}
        output go, w
      end
      d, e = Scan(x, xs) {{num_scan_inputs = 1}} @scan
      body
        input s f32 [8]
        input v f32 [8]
{1}
        output w, u
      end
      g = If(c; x, big) @if
      body
        input x f32 [8]
        input big i64 []
        y = Loop(big, _, x) @deep
        body
{0}
        output y
      end
      body
        input x f32 [8]
        input big i64 []
        y = Neg(x)
        output y
      end
      all = Concat(b, d, g) {{axis = 0}}
      output all, e, picked)",
                     loop, kStep);
}

constexpr int kScans = 2000;

Inputs inputs(std::int64_t index, std::int64_t big) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> xs;
  for (int i = 0; i < kScans; ++i) xs.insert(xs.end(), x.begin(), x.end());
  return {bytes_of(x),
          bytes_of(xs),
          bytes_of(std::vector<float>(256 * 256, 0.F)),
          bytes_of<std::int64_t>({big}),
          bytes_of<std::int64_t>({index}),
          kYes};
}

struct Stop {
  const char* name;
  std::int64_t index = 0;
  std::int64_t max_trips = 1'000'000;
  bool limited_time = false;
  std::optional<std::int64_t> budget_above_plan = {};
  ErrorCode code;
  const char* node;  ///< where the error is; empty: anywhere
};

const std::vector<Stop> kStops = {
    {.name = "index", .index = 256, .code = ErrorCode::kOutOfRange, .node = "pick"},
    {.name = "trips", .max_trips = 3000, .code = ErrorCode::kLimitExceeded, .node = ""},
    {.name = "time", .limited_time = true, .code = ErrorCode::kLimitExceeded, .node = ""},
    {.name = "budget", .budget_above_plan = 400, .code = ErrorCode::kBudgetExceeded, .node = ""},
};

/// A program that many runs share, one after the other.
class Runs {
 public:
  Runs(const std::shared_ptr<GraphContext>& context, int threads, Scheduler scheduler)
      : settings_{.threads = threads, .max_trips = 1'000'000, .scheduler = scheduler},
        program_(*program_of(context, settings_)),
        pool_(threads) {}

  /// Ends with the error of `stop`, somewhere in the middle, and names a node.
  void expect_stop(const Stop& stop, int round) {
    Settings settings = settings_;
    settings.max_trips = stop.max_trips;
    if (stop.limited_time) settings.time_limit = std::chrono::microseconds(200 * round);
    if (stop.budget_above_plan) settings.budget = program_->bytes + *stop.budget_above_plan;
    // Long enough not to end before the others do, and short where it has to.
    const bool beside = settings.threads > 1 && settings.scheduler == Scheduler::kDataflow;
    const bool whole = stop.budget_above_plan || (stop.index != 0 && !beside);
    const auto got =
        run(*program_, pool_, memory_, inputs(stop.index, whole ? 10 : 5000), settings);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, stop.code) << got.error().to_string();
    EXPECT_EQ(got.error().stage, Stage::kExecute);
    EXPECT_FALSE(got.error().node.empty());
    if (*stop.node != 0) {
      EXPECT_EQ(got.error().node, stop.node);
    }
  }

  /// Nothing is left of runs that were stopped.
  void expect_done() {
    const auto got = run(*program_, pool_, memory_, inputs(2, 5), settings_);
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
  const auto context = context_of(mixed());
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

/// An error in a body ends the bodies around it and beside it at their next node, however deep.
TEST(StoppedRun, TheFirstErrorIsTheOneReported) {
  const auto context = context_of(mixed());
  Runs runs(context, 4, Scheduler::kDataflow);
  for (int round = 0; round < 50; ++round) runs.expect_stop(kStops[0], round);
  runs.expect_done();
}

}  // namespace
}  // namespace parallax
