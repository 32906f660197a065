// Sessions with regions whose sizes only running tells: the bits of the CPU, whatever the sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <thread>

#include "delegate_host/refusal.h"
#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// Rows are picked by what is in the input; what follows has as many rows.
constexpr std::string_view kPicks = R"(
    symbols n
    input x f32 [n, 16]
    const axis i64 [1] = [1]
    const first i64 [] = [0]
    const w f32 [16, 24] = fill 0.25
    most = ReduceMax(x, axis) {keepdims = 0}
    found = NonZero(most) @found
    rows = Gather(found, first)
    y = Gather(x, rows) @picked
    a = MatMul(y, w) @a
    b = Relu(a) @b
    c = Softmax(b) {axis = -1} @c
    d = Add(c, b) @d
    total = ReduceSum(d, axis) {keepdims = 1} @total
    output d, total)";

std::vector<float> with_rows(std::int64_t rows, std::int64_t left, std::int64_t columns = 16) {
  std::vector<float> x(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < left * columns; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<float>(1 + i % 7) / 4;
  return x;
}

NamedInput input_of(const std::vector<float>& x, std::int64_t columns = 16) {
  const auto rows = static_cast<std::int64_t>(x.size()) / columns;
  return {"x", {DType::kF32, {rows, columns}, std::as_bytes(std::span(x))}};
}

SessionOptions beside_cores() {
  SessionOptions options;
  options.threads = 2;
  options.delegates = {"cores"};
  options.offload = Offload::kAll;
  options.delegate_time_limit_ms = 0;  // the machine may be busy
  return options;
}

int problems(const RunTrace& trace) {
  return static_cast<int>(std::ranges::count_if(
      trace.regions, [](const RegionEvent& event) { return !event.problem.empty(); }));
}

TEST(RunTimeRegions, CoresGivesTheBitsOfTheCpu) {
  const Model model = model_of(kPicks);
  Session alone = *Session::create(model, {.threads = 2});
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    SessionOptions options = beside_cores();
    options.scheduler = scheduler;
    Session beside = *Session::create(model, options);
    for (const std::int64_t left : {5, 64, 1, 0, 33, 5, 34, 35, 36, 37, 64}) {
      const std::vector<float> x = with_rows(64, left);
      const NamedInput input = input_of(x);
      RunTrace trace;
      const auto got = beside.run({&input, 1}, {.trace = &trace});
      ASSERT_TRUE(got) << got.error().to_string();
      EXPECT_EQ((*got)[0].dims(), (Dims{left, 24}));
      EXPECT_TRUE(same_bits(*got, *alone.run({&input, 1}))) << left;
      ASSERT_EQ(trace.regions.size(), 2U) << "one is known before, one is not";
      EXPECT_EQ(problems(trace), left == 0 ? 1 : 0) << left;
    }
    EXPECT_TRUE(beside.delegates()[0].failures.empty());
  }
}

TEST(RunTimeRegions, ThreadsRunOtherSizesAtOnce) {
  const Model model = model_of(kPicks);
  Session alone = *Session::create(model, {.threads = 1});
  Session beside = *Session::create(model, beside_cores());
  std::vector<std::thread> callers;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    callers.emplace_back([&, seed] {
      std::minstd_rand random(seed);
      for (int i = 0; i < 60; ++i) {
        const auto rows = static_cast<std::int64_t>(1 + random() % 40);
        const auto left = static_cast<std::int64_t>(random() % 41) % (rows + 1);
        const std::vector<float> x = with_rows(rows, left);
        const NamedInput input = input_of(x);
        const auto got = beside.run({&input, 1});
        ASSERT_TRUE(got) << got.error().to_string();
        EXPECT_TRUE(same_bits(*got, *alone.run({&input, 1})));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(RunTimeRegions, PlansSayWhatSizeIsAssumed) {
  Session beside = *Session::create(model_of(kPicks), beside_cores());
  const DimValue n{"n", 64};
  const auto plan = Planner(beside).plan({&n, 1});
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->regions, 2);
  ASSERT_EQ(plan->region_reports.size(), 2U);
  EXPECT_THAT(plan->region_reports[1].reason, HasSubstr("only running tells taken as 256"));
  EXPECT_THAT(plan->region_reports[1].node_names, testing::Contains("total"));
}

/// Where the device's sizes find no room in the budget, the CPU runs them.
TEST(RunTimeRegions, ALargerBudgetSufficesToo) {
  const Model model = model_of(kPicks);
  const std::vector<float> x = with_rows(4000, 3000);
  const NamedInput input = input_of(x);
  Session alone = *Session::create(model, {.threads = 1});
  const auto expected = *alone.run({&input, 1});
  SessionOptions options = beside_cores();
  bool ran = false;
  for (std::int64_t kib = 256; kib <= 6144; kib += 96) {
    options.budget = MemoryBudget::of_bytes(kib << 10);
    Session session = *Session::create(model, options);
    for (int i = 0; i < 2; ++i) {
      const auto got = session.run({&input, 1});
      ran = ran || got;
      if (!ran) {
        EXPECT_EQ(got.error().code, ErrorCode::kBudgetExceeded) << got.error().to_string();
        continue;
      }
      ASSERT_TRUE(got) << kib << " KiB: " << got.error().to_string();
      EXPECT_TRUE(same_bits(*got, expected));
    }
  }
  EXPECT_TRUE(ran);
}

class RunTimeFaults : public testing::TestWithParam<bool> {
 protected:
  RunTimeFaults() {
    faults_.own_memory = GetParam();
    faults_.profile.replace(faults_.profile.find("dtypes"), 6, "dynamic_shapes = true\ndtypes");
    impl_of(runtime_).delegates.add(&table_);
    options_.delegates = {"test"};
    options_.threads = 2;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 60'000;
  }
  void expect_right(Session& session, std::int64_t left, RunTrace* trace = nullptr) {
    const std::vector<float> x = with_rows(50, left, 4);
    const NamedInput input = input_of(x, 4);
    const auto got = session.run({&input, 1}, {.trace = trace});
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_TRUE(same_bits(*got, *alone_.run({&input, 1}))) << left;
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  const Runtime runtime_ = *Runtime::create({.threads = 2});
  /// The device has k, and a to d: it makes a for itself, reads what it made before, and t of the
  /// CPU's.
  const Model model_ = model_of(R"(
      symbols n
      input x f32 [n, 4]
      const axis i64 [1] = [1]
      const first i64 [] = [0]
      k = Neg(x) @k
      least = ReduceMax(k, axis) {keepdims = 0}
      found = NonZero(least)
      rows = Gather(found, first)
      y = Gather(k, rows)
      a = Abs(y) @a
      b = Neg(a) @b
      t = Tanh(b)
      c = Add(t, b) @c
      d = Add(c, y) @d
      output d, b)");
  Session alone_ = *Session::create(model_, {.threads = 1});
  SessionOptions options_;
};

TEST_P(RunTimeFaults, AFewBindingsAreKept) {
  Session session = *Session::create(model_, options_, runtime_);
  for (int i = 0; i < 3; ++i)
    for (const std::int64_t left : {3, 50, 7}) expect_right(session, left);
  EXPECT_EQ(faults_.compiled, 3);
  EXPECT_EQ(faults_.bound, 1 + 2 * 3);
  EXPECT_EQ(faults_.runs, 3 * 9);
  for (std::int64_t left = 10; left < 20; ++left) expect_right(session, left);
  EXPECT_EQ(faults_.bindings, 1 + 2 * 4);
}

TEST_P(RunTimeFaults, TheCpuRunsWhatFails) {
  Session session = *Session::create(model_, options_, runtime_);
  expect_right(session, 0);
  faults_.refuse_bind = 1;
  expect_right(session, 9);
  EXPECT_EQ(session.delegates()[0].failures.size(), 1U);
  session.retry_delegates();
  RunTrace trace;
  expect_right(session, 9, &trace);
  EXPECT_EQ(problems(trace), 0);
  faults_.good_runs = 1;
  faults_.fail_run = 1;
  expect_right(session, 11, &trace);
  EXPECT_EQ(problems(trace), 1);
  session.retry_delegates();
  faults_.fail_copy = 1;
  expect_right(session, 12);
}

TEST_P(RunTimeFaults, RefusedSizesAreNotAskedForAgain) {
  faults_.bind_code = PX_UNSUPPORTED;
  Session session = *Session::create(model_, options_, runtime_);
  expect_right(session, 7);
  faults_.refuse_bind = 1;
  expect_right(session, 9);
  const int bound = faults_.bound;
  RunTrace trace;
  for (int i = 0; i < 3; ++i) {
    trace = {};
    expect_right(session, 9, &trace);
    EXPECT_EQ(problems(trace), 1);
  }
  EXPECT_EQ(faults_.bound, bound);
  trace = {};
  expect_right(session, 10, &trace);
  EXPECT_EQ(problems(trace), 0) << "other sizes are";
  session.retry_delegates();
  trace = {};
  expect_right(session, 9, &trace);
  EXPECT_EQ(problems(trace), 0);
}

TEST_P(RunTimeFaults, ShortMemoryIsTriedAgainAfterAPause) {
  faults_.run_code = PX_OUT_OF_MEMORY;
  Session session = *Session::create(model_, options_, runtime_);
  const auto problems_of_run = [&](std::int64_t left) {
    RunTrace trace;
    expect_right(session, left, &trace);
    return problems(trace);
  };
  faults_.good_runs = 1;
  faults_.fail_run = 1;
  EXPECT_EQ(problems_of_run(11), 1);
  for (int run = 1; run < RetryPause::kFirst; ++run) EXPECT_EQ(problems_of_run(11), 1) << run;
  EXPECT_EQ(problems_of_run(12), 0) << "other sizes may need less";
  EXPECT_EQ(problems_of_run(11), 0);
  EXPECT_EQ(problems_of_run(11), 0);
}

TEST_P(RunTimeFaults, ASilentDeviceLosesTheRun) {
  options_.delegate_time_limit_ms = 50;
  Session session = *Session::create(model_, options_, runtime_);
  faults_.silent = true;
  expect_right(session, 30);
  faults_.silent = false;
  faults_.answer_held();
  expect_right(session, 20);
}

/// A run that finds no room beside what other plans keep is repeated in the place of them all.
TEST_P(RunTimeFaults, TheLastTryWaitsForNoDevice) {
  const Model model = model_of(R"(
      symbols n
      input x f32 [n, 4]
      const rows_axis i64 [1] = [0]
      const axis i64 [1] = [1]
      const first i64 [] = [0]
      least = ReduceMax(x, axis) {keepdims = 0}
      found = NonZero(least)
      rows = Gather(found, first)
      y = Gather(x, rows)
      total = ReduceSum(y, rows_axis) {keepdims = 1}
      a = Abs(total) @a
      output a)");
  options_.delegate_time_limit_ms = 2;
  faults_.binding_bytes = 3000;
  int fitted = 0;
  for (std::int64_t bytes = 5'000; bytes <= 40'000; bytes += 500) {
    options_.budget = MemoryBudget::of_bytes(bytes);
    Session session = *Session::create(model, options_, runtime_);
    for (const std::int64_t rows : {10, 20, 400}) {
      faults_.silent = rows == 400;
      const std::vector<float> x = with_rows(rows, rows, 4);
      const NamedInput input = input_of(x, 4);
      const auto got = session.run({&input, 1});
      fitted += got ? 1 : 0;
      if (!got) {
        EXPECT_EQ(got.error().code, ErrorCode::kBudgetExceeded)
            << bytes << ": " << got.error().to_string();
      }
    }
    faults_.silent = false;
    faults_.answer_held();
  }
  EXPECT_GT(fitted, 0);
}

INSTANTIATE_TEST_SUITE_P(Memories, RunTimeFaults, testing::Values(false, true),
                         [](const auto& row) { return row.param ? "Own" : "Host"; });

}  // namespace
}  // namespace parallax
