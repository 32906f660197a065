// Regions whose sizes only a run determines: on a device if it accepts them and there is memory,
// else on the CPU, in the same run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <thread>

#include "run/async_steps.h"
#include "run/device_test_util.h"
#include "run/run_test_util.h"

namespace parallax {
namespace {

/// y has as many elements as x has nonzero elements. R0 ends in a graph output, R1 reads values of
/// R0 and the CPU, the sizes of R2 are known before the run.
constexpr std::string_view kNotZero = R"(
    symbols n
    input x f32 [n]
    const zero i64 [1] = [0]
    k = Neg(x) @r2
    m = NonZero(k)
    row = Squeeze(m, zero)
    y = Gather(x, row)
    u = Tanh(y)
    a = Add(y, u) @r0
    b = Neg(a) @r0b
    c = Abs(a) @r0c
    t = Exp(c)
    d = Add(b, t) @r1
    e = Add(d, c) @r1b
    f = Exp(e)
    output f, b)";
constexpr RegionId kFirst{0}, kSecond{1};

std::shared_ptr<GraphContext> with_regions(const std::shared_ptr<GraphContext>& plain,
                                           bool substitute) {
  Delegation delegation;
  delegation.substitute = substitute;
  for (const Node& node : plain->graph.nodes) {
    const bool in_region = node.name.size() > 1 && node.name[0] == 'r';
    delegation.region_of.push_back(in_region ? RegionId{node.name[1] - '0'} : RegionId{});
  }
  for (int region = 0; region < 3; ++region) delegation.seconds.push_back(1e-3);
  return std::make_shared<GraphContext>(plain->graph, std::move(delegation));
}

struct RunWay {
  Scheduler scheduler;
  int threads;
};
std::string name_of(const RunWay& way) {
  const char* const names[] = {"Sequential", "Layers", "Dataflow"};
  return fmt::format("{}{}", names[static_cast<int>(way.scheduler)], way.threads);
}
void PrintTo(const RunWay& way, std::ostream* out) { *out << name_of(way); }

constexpr std::int64_t kLength = 40000;

class RunTimeRegionsOf : public testing::TestWithParam<RunWay> {
 protected:
  RunTimeRegionsOf() {
    settings_.symbols = {kLength};
    settings_.scheduler = GetParam().scheduler;
    settings_.threads = GetParam().threads;
    settings_.device = &device_;
    settings_.lease_owner = memory_;
    program_ = *program_of(with_cpu_, settings_);
  }

  /// Makes an input with `left` nonzero elements.
  static Inputs inputs(std::int64_t left) {
    std::vector<float> x(kLength);
    for (std::int64_t i = 0; i < left; ++i)
      x[static_cast<std::size_t>(i * kLength / left)] = static_cast<float>(i % 19) / 8 - 1.3F;
    return {parallax::bytes_of(x)};
  }
  Result<std::vector<Tensor>> run(const Inputs& inputs) {
    return parallax::run(*program_, pool_, *memory_, inputs, settings_);
  }
  void expect_right(std::int64_t left) {
    const Inputs x = inputs(left);
    const auto expected = parallax::run(plain_, x, {.symbols = {kLength}});
    const auto got = run(x);
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < got->size(); ++i) {
      EXPECT_EQ((*got)[i].dims(), (Dims{left}));
      EXPECT_EQ(floats((*got)[i]), floats((*expected)[i])) << left;
    }
  }
  void expect_error(ErrorCode code, std::string_view node) {
    const auto got = run(inputs(700));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, code) << got.error().to_string();
    EXPECT_EQ(got.error().node, node);
  }
  void expect_all_back() {
    while (memory_->busy_bytes() > 0) std::this_thread::yield();
    EXPECT_EQ(memory_->fixed_bytes(), 0);
  }

  const std::shared_ptr<GraphContext> plain_ = context_of(kNotZero),
                                      with_cpu_ = with_regions(plain_, true);
  std::shared_ptr<RunMemory> memory_ = std::make_shared<RunMemory>();
  TestDevice device_{with_cpu_->graph, with_cpu_->delegation.region_of};
  WorkerPool pool_{GetParam().threads};
  Settings settings_;
  std::shared_ptr<const Program> program_;
};

TEST_P(RunTimeRegionsOf, SizesMayChangeFromRunToRun) {
  for (const std::int64_t left : {700, 1, 30000, 700, 40000, 3}) {
    device_.bindings = device_.starts = 0;
    expect_right(left);
    EXPECT_EQ(device_.bindings, 2) << "the third is bound before the run";
    EXPECT_EQ(device_.starts, 3);
    expect_all_back();
  }
}

TEST_P(RunTimeRegionsOf, BindingsGoWithTheRunOnItsThread) {
  for (int run = 0; run < 10; ++run) expect_right(700);
  EXPECT_EQ(device_.destroyed_by_answers, 0);
}

TEST_P(RunTimeRegionsOf, WithoutASubstituteToo) {
  program_ = *program_of(with_regions(plain_, false), settings_);
  for (const std::int64_t left : {700, 30000}) expect_right(left);
  device_.will(kSecond, Answer::kError);
  expect_error(ErrorCode::kOutOfMemory, "r1");
  device_.refused_bindings = 1;
  expect_error(ErrorCode::kOutOfMemory, "r0");
  expect_all_back();
}

TEST_P(RunTimeRegionsOf, TheCpuRunsWhatHasNoElements) {
  RunTrace trace;
  settings_.trace = &trace;
  const auto got = run(inputs(0));
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ((*got)[0].dims(), (Dims{0}));
  EXPECT_EQ(device_.bindings, 0);
  EXPECT_EQ(device_.starts, 1);
  ASSERT_EQ(trace.regions.size(), 3U);
  int empty = 0;
  for (const RegionEvent& event : trace.regions)
    empty += event.problem.find("has no elements") != std::string::npos ? 1 : 0;
  EXPECT_EQ(empty, 2);
  expect_right(7);
}

TEST_P(RunTimeRegionsOf, TheCpuRunsWhatTheDeviceFailsToRun) {
  for (const Answer answer : {Answer::kError, Answer::kThrows, Answer::kNone}) {
    for (const RegionId region : {kFirst, kSecond}) {
      device_.will(region, answer);
      expect_right(700);
      expect_right(30000);
      device_.will(region, Answer::kDone);
      expect_all_back();
    }
  }
  for (const Answer answer : {Answer::kAtOnce, Answer::kTwice}) {
    device_.will(kFirst, answer);
    device_.will(kSecond, answer);
    expect_right(700);
  }
}

TEST_P(RunTimeRegionsOf, TheCpuRunsWhatCannotBeBound) {
  for (const int refused : {1, 2}) {
    device_.refused_bindings = refused;
    device_.starts = 0;
    expect_right(700);
    EXPECT_EQ(device_.starts, 3 - refused);
  }
  expect_all_back();
}

TEST_P(RunTimeRegionsOf, TheCpuRunsAllWithoutADevice) {
  settings_.device = nullptr;
  expect_right(700);
}

TEST_P(RunTimeRegionsOf, ASilentDeviceKeepsTheMemoryThatItMayTouch) {
  const std::int64_t results = 2 * 30000 * 4;
  bool late = false;
  settings_.late = &late;
  for (const RegionId region : {kFirst, kSecond}) {
    device_.will(region, Answer::kNever);
    for (std::chrono::milliseconds limit(2); device_.silent() == 0; limit *= 2) {
      settings_.region_time = limit;
      const auto got = run(inputs(30000));
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
      EXPECT_TRUE(late);
    }
    EXPECT_GE(memory_->busy_bytes(), program_->bytes + results);
    EXPECT_GE(memory_->fixed_bytes(), program_->bytes + results);
    device_.will(region, Answer::kDone);
    settings_.region_time = {};
    expect_right(30000);  // in other memory
    EXPECT_GE(memory_->busy_bytes(), program_->bytes + results);
    device_.answer_all();
    expect_all_back();
    expect_right(3);
  }
  settings_.late = nullptr;
}

TEST_P(RunTimeRegionsOf, ACallerNeedNotWaitForADevice) {
  for (const RegionId region : {kFirst, kSecond}) {
    device_.will(region, Answer::kNever);
    {
      const ImpatientCaller caller(device_, settings_.stop);
      expect_error(ErrorCode::kCancelled, "");
    }
    device_.will(region, Answer::kDone);
    device_.answer_all();
    expect_all_back();
    expect_right(700);
  }
}

TEST_P(RunTimeRegionsOf, AnAnswerMayComeWhenAllElseIsGone) {
  device_.will(kFirst, Answer::kNever);
  for (std::chrono::milliseconds limit(2); device_.silent() == 0; limit *= 2) {
    settings_.time_limit = limit;
    ASSERT_FALSE(run(inputs(30000)));
  }
  const std::weak_ptr<RunMemory> memory = memory_;
  memory_.reset();
  settings_.lease_owner.reset();
  program_.reset();
  EXPECT_FALSE(memory.expired()) << "the device may still write";
  device_.answer_all();
  while (!memory.expired()) std::this_thread::yield();
}

/// The region reads two tensors and makes two; the CPU frees the former before it makes the latter.
TEST_P(RunTimeRegionsOf, TheBudgetHolds) {
  if (GetParam().scheduler != Scheduler::kSequential)
    GTEST_SKIP() << "what runs in parallel varies";
  const auto context = with_regions(context_of(R"(
      symbols n
      input x f32 [n]
      const zero i64 [1] = [0]
      m = NonZero(x)
      row = Squeeze(m, zero)
      y = Gather(x, row)
      u = Tanh(y)
      a = Add(y, u) @r0
      b = Neg(a) @r0b
      c = Abs(a) @r0c
      p = ReduceMax(b, zero)
      q = ReduceMax(c, zero)
      output p, q)"),
                                    true);
  TestDevice device(context->graph, context->delegation.region_of);
  program_ = *program_of(context, settings_);
  const Inputs x = inputs(kLength);
  settings_.device = nullptr;
  settings_.budget = program_->bytes;
  while (!run(x)) *settings_.budget += 1024;
  const auto expected = *run(x);
  int warnings = 0;
  const Logger log(
      [&](LogLevel level, std::string_view) { warnings += level == LogLevel::kWarning ? 1 : 0; });
  settings_.log = &log;
  settings_.device = &device;
  for (const int starts : {0, 1}) {
    const auto got = run(x);
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(floats((*got)[i]), floats(expected[i]));
    EXPECT_EQ(device.starts, starts);
    EXPECT_EQ(warnings, 1) << "the first time";
    EXPECT_LE(memory_->peak_bytes(), *settings_.budget);
    *settings_.budget += kLength * 4;
  }
  expect_all_back();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, RunTimeRegionsOf,
    testing::Values(RunWay{Scheduler::kSequential, 1}, RunWay{Scheduler::kLayers, 3},
                    RunWay{Scheduler::kLayers, 1}, RunWay{Scheduler::kDataflow, 1},
                    RunWay{Scheduler::kDataflow, 3}, RunWay{Scheduler::kDataflow, 4}),
    [](const auto& row) { return name_of(row.param); });

}  // namespace
}  // namespace parallax
