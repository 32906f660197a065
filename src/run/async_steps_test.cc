// Regions on a device that answers from its own thread, late and in any order, with an error,
// twice, or never; and the CPU as its fallback.
#include "run/async_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <ostream>
#include <thread>

#include "run/device_test_util.h"
#include "run/regions_test_util.h"
#include "run/run_test_util.h"

namespace parallax {
namespace {

/// Four regions: R0 and R1 may run concurrently with each other and the CPU, R2 makes a graph
/// output, R3 reads a graph input.
constexpr std::string_view kText = R"(
    symbols n
    input x f32 [n, 64]
    s = Relu(x)
    a1 = Neg(s) @r0
    a2 = Abs(a1) @r0b
    b1 = Exp(s)
    b2 = Neg(b1)
    c1 = Neg(b2) @r1
    c2 = Relu(c1) @r1b
    d1 = Tanh(s)
    d2 = Abs(d1)
    e = Add(a2, d2)
    f1 = Add(e, c2) @r2
    f = Neg(f1) @r2b
    g1 = Abs(x) @r3
    g = Add(g1, s) @r3b
    h = Exp(g)
    output f, h, e)";

struct Way {
  Scheduler scheduler;
  int threads;
};

std::string name_of(const Way& way) {
  const char* const names[] = {"Sequential", "Layers", "Dataflow"};
  return fmt::format("{}{}", names[static_cast<int>(way.scheduler)], way.threads);
}
/// Printed in the names of tests instead of the bytes, some of which are padding.
void PrintTo(const Way& way, std::ostream* out) { *out << name_of(way); }

class OutsideStepsOf : public testing::TestWithParam<Way> {
 protected:
  OutsideStepsOf() {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 17) / 8 - 1;
    inputs_ = {bytes_of(x_)};
    settings_.symbols = {20};
    settings_.scheduler = GetParam().scheduler;
    settings_.threads = GetParam().threads;
    settings_.device = &device_;
    settings_.lease_owner = memory_;
    program_ = *program_of(context_, settings_);
    const auto got = parallax::run(plain_, inputs_, {.symbols = {20}});
    for (const Tensor& output : *got) expected_.push_back(floats(output));
  }

  Result<std::vector<Tensor>> run() {
    return parallax::run(*program_, pool_, *memory_, inputs_, settings_);
  }
  void expect_done() {
    const auto got = run();
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < expected_.size(); ++i) EXPECT_EQ(floats((*got)[i]), expected_[i]);
  }
  /// Makes the CPU the fallback of the device from now on.
  void substitute() { program_ = *program_of(with_cpu_, settings_); }
  void expect(ErrorCode code, std::string_view node) {
    const auto got = run();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, code) << got.error().to_string();
    EXPECT_EQ(got.error().stage, Stage::kRun);
    EXPECT_EQ(got.error().node, node);
  }

  /// Runs until the time limit, because the device never answers for `region`.
  void expect_late(RegionId region) {
    device_.will(region, Answer::kNever);
    for (std::chrono::milliseconds limit(2); device_.silent() == 0; limit *= 2) {
      settings_.time_limit = limit;
      const auto got = run();
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
    }
    settings_.time_limit.reset();
    device_.will(region, Answer::kDone);
  }

  std::vector<float> x_ = std::vector<float>(20 * 64);
  Inputs inputs_;
  const std::shared_ptr<GraphContext> plain_ = context_of(kText), context_ = delegated(plain_),
                                      with_cpu_ = delegated(plain_, true);
  std::shared_ptr<RunMemory> memory_ = std::make_shared<RunMemory>();
  TestDevice device_{context_->graph, context_->delegation.region_of};
  WorkerPool pool_{GetParam().threads};
  Settings settings_;
  std::shared_ptr<const Program> program_;
  std::vector<std::vector<float>> expected_;
};

TEST_P(OutsideStepsOf, AnyThreadCompletesThemInAnyOrder) {
  for (int round = 0; round < 50; ++round) {
    // Some answer immediately, inside start().
    for (const RegionId region : {kR0, kR1, kR2, kR3})
      device_.will(region, ((round >> region.value) & 1) == 0 ? Answer::kDone : Answer::kAtOnce);
    expect_done();
  }
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_P(OutsideStepsOf, TheFirstAnswerCounts) {
  for (const RegionId region : {kR0, kR1, kR2, kR3}) device_.will(region, Answer::kTwice);
  for (int round = 0; round < 10; ++round) expect_done();
}

TEST_P(OutsideStepsOf, ErrorsEndTheRun) {
  const std::pair<Answer, ErrorCode> rows[] = {{Answer::kError, ErrorCode::kOutOfMemory},
                                               {Answer::kThrows, ErrorCode::kOutOfMemory},
                                               {Answer::kNone, ErrorCode::kInternal}};
  for (const auto& [answer, code] : rows) {
    for (const RegionId region : {kR0, kR1, kR2, kR3}) {
      device_.will(region, answer);
      expect(code, fmt::format("r{}", region.value));
      device_.will(region, Answer::kDone);
      EXPECT_EQ(memory_->busy_bytes(), 0);
      expect_done();
    }
  }
}

TEST_P(OutsideStepsOf, ASilentDeviceKeepsTheMemoryThatItMayWrite) {
  for (const RegionId region : {kR0, kR2, kR3}) {
    expect_late(region);
    EXPECT_GE(memory_->busy_bytes(), program_->bytes);
    expect_done();  // in other memory
    EXPECT_GE(memory_->busy_bytes(), program_->bytes);
    device_.answer_all();
    while (memory_->busy_bytes() > 0) std::this_thread::yield();
    expect_done();
  }
}

TEST_P(OutsideStepsOf, ACallerNeedNotWaitForADevice) {
  for (const RegionId region : {kR0, kR1, kR2, kR3}) {
    device_.will(region, Answer::kNever);
    {
      const ImpatientCaller caller(device_, settings_.stop);
      expect(ErrorCode::kCancelled, "");
    }
    device_.will(region, Answer::kDone);
    device_.answer_all();
    expect_done();
  }
}

TEST_P(OutsideStepsOf, AnAnswerMayComeWhenAllElseIsGone) {
  expect_late(kR1);
  const std::weak_ptr<RunMemory> memory = memory_;
  memory_.reset();
  settings_.lease_owner.reset();
  program_.reset();
  EXPECT_FALSE(memory.expired()) << "the device may still write";
  device_.answer_all();
  while (!memory.expired()) std::this_thread::yield();
}

TEST_P(OutsideStepsOf, WithoutADeviceThereIsAnError) {
  settings_.device = nullptr;
  const auto got = run();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnsupported);
}

TEST_P(OutsideStepsOf, TheCpuRunsWhatADeviceFailsToRun) {
  substitute();
  std::atomic<int> warnings{0};
  const Logger log([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::kWarning && text.find("the CPU runs the region") == 0) ++warnings;
  });
  settings_.log = &log;
  for (const Answer answer : {Answer::kError, Answer::kThrows, Answer::kNone}) {
    for (unsigned failing = 0; failing < 16; ++failing) {
      const auto fails = [&](RegionId region) { return (failing >> region.value & 1) != 0; };
      for (const RegionId region : {kR0, kR1, kR2, kR3})
        device_.will(region, fails(region) ? answer : Answer::kDone);
      expect_done();
      EXPECT_EQ(warnings.exchange(0), std::popcount(failing));
      EXPECT_EQ(memory_->busy_bytes(), 0);
    }
  }
  // One output of a region outside the plan.
  EXPECT_LE(memory_->peak_bytes(), program_->bytes + 20 * 64 * 4);
}

TEST_P(OutsideStepsOf, TheCpuRunsAllWithoutADevice) {
  substitute();
  settings_.device = nullptr;
  expect_done();
}

TEST_P(OutsideStepsOf, ASilentDeviceHasNoSubstitute) {
  substitute();
  expect_late(kR1);
  EXPECT_GE(memory_->busy_bytes(), program_->bytes);
  device_.answer_all();
  while (memory_->busy_bytes() > 0) std::this_thread::yield();
  expect_done();
}

TEST_P(OutsideStepsOf, TracesSayWhoRanRegions) {
  substitute();
  RunTrace trace;
  settings_.trace = &trace;
  device_.will(kR1, Answer::kError);
  expect_done();
  std::vector<std::string> nodes;
  for (const NodeEvent& event : trace.nodes) nodes.push_back(event.node);
  EXPECT_THAT(nodes, testing::IsSupersetOf({"r1", "r1b"}));
  EXPECT_THAT(nodes, testing::Not(testing::Contains(testing::AnyOf("r0", "r2b", "r3"))));
  ASSERT_EQ(trace.regions.size(), 4U);
  for (const RegionEvent& event : trace.regions) {
    EXPECT_LE(event.start_ns, event.end_ns);
    EXPECT_EQ(event.problem, event.region == 1 ? "device lost" : "");
    EXPECT_EQ(with_cpu_->branches.region[BranchId{event.branch}], RegionId{event.region});
  }
}

/// The fallback's kernel reads packed weights.
TEST(AsyncSteps, TheCpuPacksWhenItIsASubstitute) {
  std::vector<float> weights(48 * 48), x(5 * 48);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
  const auto plain = context_of(fmt::format(R"(
    input x f32 [5, 48]
    const w f32 [48, 48] = [{}]
    y = MatMul(x, w) @r0
    output y)",
                                            fmt::join(weights, ", ")));
  const auto context = delegated(plain, true);
  TestDevice device(context->graph, context->delegation.region_of);
  device.will(RegionId{0}, Answer::kError);
  Settings settings;
  settings.reference_only = false;
  const auto expected = run(plain, {bytes_of(x)}, settings);
  settings.device = &device;
  const auto program = *program_of(context, settings);
  ASSERT_NE(program->compiled().nodes[NodeId{0}].code.packings, nullptr);
  WorkerPool pool(1);
  RunMemory memory;
  const auto got = run(*program, pool, memory, {bytes_of(x)}, settings);
  ASSERT_TRUE(expected && got) << got.error().to_string();
  EXPECT_EQ(floats(got->front()), floats(expected->front()));
}

TEST_P(OutsideStepsOf, ValuesHaveTheSpaceOfThoseWhoTouchThem) {
  std::map<std::string, MemorySpace> spaces;
  for (const ValueId id : context_->graph.values.ids())
    spaces[context_->graph.values[id].name] = program_->storage[id].space;
  using enum MemorySpace;
  EXPECT_THAT(spaces,
              testing::IsSupersetOf(
                  {std::pair("x", kHost), std::pair("s", kShared), std::pair("a1", kDevice),
                   std::pair("a2", kShared), std::pair("b1", kHost), std::pair("b2", kShared),
                   std::pair("c1", kDevice), std::pair("d1", kHost), std::pair("f1", kDevice),
                   std::pair("f", kShared), std::pair("g1", kDevice), std::pair("g", kShared)}));
}

INSTANTIATE_TEST_SUITE_P(Ways, OutsideStepsOf,
                         testing::Values(Way{Scheduler::kSequential, 1}, Way{Scheduler::kLayers, 1},
                                         Way{Scheduler::kLayers, 3}, Way{Scheduler::kDataflow, 1},
                                         Way{Scheduler::kDataflow, 2},
                                         Way{Scheduler::kDataflow, 4}),
                         [](const auto& row) { return name_of(row.param); });

}  // namespace
}  // namespace parallax
