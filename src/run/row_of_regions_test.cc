// Regions that follow each other on a device: which thread begins the next, and late or failed
// ones.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "run/async_steps.h"
#include "run/device_test_util.h"
#include "run/regions_test_util.h"
#include "run/run_test_util.h"

namespace parallax {
namespace {

/// A chain of regions, each of which waits only for the one before, while the CPU runs other nodes.
class RowOfRegions : public testing::Test {
 protected:
  static constexpr int kRegions = 4;
  static constexpr std::string_view kRow = R"(
      input x f32 [4, 64]
      s = Relu(x)
      a = Neg(s) @r0
      b = Abs(a) @r1
      c = Neg(b) @r2
      d = Abs(c) @r3
      e = Tanh(s)
      f = Exp(e)
      g = Add(d, f)
      output g)";

  RowOfRegions() {
    settings_.device = &device_;
    settings_.lease_owner = memory_;
    settings_.reference_only = true;
    expected_ = floats((*parallax::run(plain_, inputs_))[0]);
  }
  Result<std::vector<Tensor>> run() {
    return parallax::run(*program_, pool_, *memory_, inputs_, settings_);
  }
  void expect_done() {
    const auto got = run();
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(floats((*got)[0]), expected_);
  }

  const Inputs inputs_ = {bytes_of(std::vector<float>(4 * 64, 0.5F))};
  const std::shared_ptr<GraphContext> plain_ = context_of(kRow), context_ = delegated(plain_, true);
  const std::shared_ptr<RunMemory> memory_ = std::make_shared<RunMemory>();
  TestDevice device_{context_->graph, context_->delegation.region_of};
  WorkerPool pool_{2};
  Settings settings_;
  const std::shared_ptr<const Program> program_ = *program_of(context_, settings_);
  std::vector<float> expected_;
};

TEST_F(RowOfRegions, TheThreadThatEndsOneBeginsTheNext) {
  expect_done();
  EXPECT_EQ(device_.begun_by_answers(), (std::vector<RegionId>{kR1, kR2, kR3}));
}

TEST_F(RowOfRegions, WhatAnswersAtOnceGoesBackToThePool) {
  for (const RegionId region : {kR0, kR1, kR2, kR3}) device_.will(region, Answer::kAtOnce);
  for (int round = 0; round < 20; ++round) expect_done();
}

TEST_F(RowOfRegions, TheCpuRunsTheNextWhereItFails) {
  for (const Answer answer : {Answer::kError, Answer::kThrows, Answer::kNone, Answer::kTwice}) {
    for (const RegionId failing : {kR1, kR2, kR3}) {
      device_.will(failing, answer);
      for (int round = 0; round < 5; ++round) expect_done();
      device_.will(failing, Answer::kDone);
    }
  }
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_F(RowOfRegions, ACallerMayCancelWhileTheNextBegins) {
  for (int round = 0; round < 100; ++round) {
    std::stop_source caller;
    settings_.stop = caller.get_token();
    std::thread asks([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(round * 10));
      caller.request_stop();
    });
    const auto got = run();
    asks.join();
    if (got) {
      EXPECT_EQ(floats((*got)[0]), expected_);
    } else {
      EXPECT_EQ(got.error().code, ErrorCode::kCancelled) << got.error().to_string();
    }
  }
  settings_.stop = {};
  expect_done();
}

TEST_F(RowOfRegions, TheNextMayBeLate) {
  for (const RegionId late : {kR1, kR3}) {
    device_.will(late, Answer::kNever);
    for (std::chrono::milliseconds limit(2); device_.silent() == 0; limit *= 2) {
      settings_.time_limit = limit;
      const auto got = run();
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
    }
    settings_.time_limit.reset();
    device_.will(late, Answer::kDone);
    expect_done();
    device_.answer_all();
    while (memory_->busy_bytes() > 0) std::this_thread::yield();
  }
}

TEST_F(RowOfRegions, WhileMemoryIsShortThePoolBeginsThem) {
  settings_.budget_later = [] { return RunBudget{std::int64_t{1} << 40, false}; };
  expect_done();
  EXPECT_TRUE(device_.begun_by_answers().empty());
}

/// A device that lets another thread check whether its regions are wanted, and waits for that
/// thread. If it is called under a lock of the run, neither thread ends.
class AskingDevice final : public Device {
 public:
  void start(RegionRun, Completion done) override {
    {
      const MutexLock lock(mutex_);
      begun_.push_back(done);
    }
    if (fails) done(tl::unexpected(Error{Stage::kRun, ErrorCode::kIo, {}, "device lost"}));
  }
  void late(RegionId, const Error&) noexcept override { ask(); }
  void ask() {
    ++asked;
    std::thread([this] {
      for (const Completion& done : begun()) (void)done.is_wanted();
    }).join();
  }
  void answer_all() {
    for (const Completion& done : begun()) done({});
  }
  std::atomic<bool> fails{false};
  std::atomic<int> asked{0};

 private:
  std::vector<Completion> begun() {
    const MutexLock lock(mutex_);
    return begun_;
  }
  Mutex mutex_;
  std::vector<Completion> begun_ PX_GUARDED_BY(mutex_);
};

TEST_F(RowOfRegions, TheDeviceHearsOfLateRegionsWithoutLocks) {
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    AskingDevice device;
    settings_.device = &device;
    settings_.scheduler = scheduler;
    settings_.region_time = std::chrono::milliseconds(1);
    const auto got = run();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
    EXPECT_EQ(device.asked, 1);
    device.answer_all();
    EXPECT_EQ(memory_->busy_bytes(), 0);
  }
}

TEST_F(RowOfRegions, TheLogHearsOfFailuresWithoutLocks) {
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    AskingDevice device;
    const Logger log([&](LogLevel, std::string_view) { device.ask(); });
    device.fails = true;
    settings_.device = &device;
    settings_.scheduler = scheduler;
    settings_.log = &log;
    expect_done();
    EXPECT_EQ(device.asked, kRegions);
  }
}

}  // namespace
}  // namespace parallax
