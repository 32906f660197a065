// Tests regions on a delegate: correct, late, wrong and missing answers, in its memory and the
// host's.
#include "delegate_host/delegate_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "base/status.h"
#include "delegate_host/delegate_device_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

TEST_P(DelegateDeviceIn, Runs) {
  for (int i = 0; i < 20; ++i) {
    faults_.at_once = i % 2 == 0;
    expect_right();
  }
  EXPECT_EQ(faults_.compiled, 2);
  EXPECT_EQ(faults_.bound, 2);
  EXPECT_EQ(faults_.runs, 40);
  EXPECT_TRUE(lines_.empty());
  EXPECT_LE(faults_.pieces, 6) << "memory serves again";
}

TEST_P(DelegateDeviceIn, ANewShapeIsBoundAndCompilesNothing) {
  expect_right();
  use(std::vector<float>(80, 0.25F));
  expect_right();
  EXPECT_EQ(faults_.compiled, 2);
  EXPECT_EQ(faults_.bound, 4);
}

TEST_P(DelegateDeviceIn, PreparesNoRegionAfterItsTime) {
  static std::stop_source stop;
  stop = {};
  table_.compile = [](void* device, const px_region* region, px_compiled* out, px_status* status) {
    stop.request_stop();
    return test_compile(device, region, out, status);
  };
  opened_ = *open_delegate(*check_table(&table_, ""), "test", "", log_);
  store_ = std::make_shared<RegionStore>();
  use(x_);
  const Status status = device_->prepare(log_, Deadline({}, stop.get_token()));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(faults_.compiled, 1);
  expect_right();
  EXPECT_EQ(faults_.compiled, 2) << "goes on with the second";
}

TEST_P(DelegateDeviceIn, WhatThrowsRefuses) {
  const px_delegate right = table_;
  const auto expect_refused = [&](const char* what) {
    opened_ = *open_delegate(*check_table(&table_, ""), "test", "", log_);
    store_ = std::make_shared<RegionStore>();
    use(x_);
    expect_right();
    ASSERT_EQ(store_->refusals().size(), 2U) << what;
    EXPECT_THAT(store_->refusals()[0].why, HasSubstr("no driver")) << what;
    table_ = right;
  };
  table_.compile = [](void*, const px_region*, px_compiled*, px_status*) -> px_code {
    throw std::runtime_error("no driver");
  };
  expect_refused("compile");
  table_.bind = [](void*, void*, const px_sizes*, px_binding*, px_status*) -> px_code {
    throw std::runtime_error("no driver");
  };
  expect_refused("bind");
  table_.open = [](const px_open_options*, void**, px_status*) -> px_code {
    throw std::runtime_error("no driver");
  };
  const auto opened = open_delegate(*check_table(&table_, ""), "test", "", log_);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("no driver"));
}

TEST_P(DelegateDeviceIn, RegionsGoWithTheLastPlanThatUsesThem) {
  std::string renamed(kTwoRegions);
  for (const std::string_view name : {"@r0", "@r1"})
    for (std::size_t at = 0; (at = renamed.find(name, at)) != std::string::npos; ++at)
      renamed.insert(at + name.size(), "_other_");
  expect_right();
  auto first = device_;
  plain_ = context_of(renamed);
  context_ = with_regions(plain_);
  use(x_);
  expect_right();
  EXPECT_EQ(faults_.regions, 4);
  first.reset();
  EXPECT_EQ(faults_.regions, 2);
  use(std::vector<float>(80, 0.25F));
  EXPECT_EQ(faults_.regions, 2) << "the next plan may share those of the last one";
  expect_right();
  EXPECT_EQ(faults_.compiled, 4);
}

TEST_P(DelegateDeviceIn, ToleratesSecondAnswers) {
  faults_.twice = true;
  for (int i = 0; i < 10; ++i) expect_right();
}

struct Fault {
  const char* name;
  std::atomic<int> TestFaults::*count;
  const char* message;
  bool copies;  ///< needs a memory of its own
};
const Fault kFaults[] = {
    {"compile", &TestFaults::refuse_compile, "no program for this", false},
    {"bind", &TestFaults::refuse_bind, "no room for these sizes", false},
    {"start", &TestFaults::refuse_run, "the device is lost", false},
    {"run", &TestFaults::fail_run, "device lost", false},
    {"copy", &TestFaults::fail_copy, "no copy", true},
    {"allocate", &TestFaults::refuse_memory, "device full", true},
};

TEST_P(DelegateDeviceIn, TheCpuRunsWhatFailsUntilToldToTryAgain) {
  for (const Fault& fault : kFaults) {
    if (fault.copies && !(GetParam().own && !GetParam().host_sees_it)) continue;
    SCOPED_TRACE(fault.name);
    store_ = std::make_shared<RegionStore>();
    // A branch parallel to the first region may have its value copied ahead of the second one. If
    // such a copy fails, the region copies again.
    if (fault.copies) settings_.scheduler = Scheduler::kSequential;
    use(x_);
    faults_.*fault.count = 1;
    lines_.clear();
    expect_right();
    EXPECT_EQ(faults_.*fault.count, 0);
    const auto failures = store_->refusals();
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_THAT(failures[0].why, HasSubstr(fault.message));
    ASSERT_FALSE(lines_.empty());
    EXPECT_THAT(lines_[0], HasSubstr(fault.message));
    const int runs = faults_.runs;
    RunTrace trace;
    settings_.trace = &trace;
    expect_right();
    settings_.trace = nullptr;
    EXPECT_EQ(faults_.runs, runs + 1) << "the region that failed is not tried again";
    ASSERT_EQ(trace.regions.size(), 2U);
    EXPECT_TRUE(std::ranges::any_of(trace.regions, [&](const RegionEvent& event) {
      return event.problem.find(fault.message) != std::string::npos;
    }));
    store_->forget_failures();
    expect_right();
    EXPECT_EQ(faults_.runs, runs + 3);
    EXPECT_TRUE(store_->refusals().empty());
  }
}

/// Memory is short for the sizes of the run, and what bind does not want are sizes; the rest is the
/// region's.
TEST_P(DelegateDeviceIn, OtherSizesStayUnlessTheRegionIsRefused) {
  struct Row {
    std::atomic<int> TestFaults::*count;
    px_code code;
    bool others;
  };
  for (const Row& row : {Row{&TestFaults::refuse_compile, PX_OUT_OF_MEMORY, false},
                         Row{&TestFaults::refuse_bind, PX_OUT_OF_MEMORY, true},
                         Row{&TestFaults::refuse_bind, PX_UNSUPPORTED, true},
                         Row{&TestFaults::refuse_bind, PX_BUDGET_EXCEEDED, true},
                         Row{&TestFaults::refuse_bind, PX_IO, false},
                         Row{&TestFaults::fail_run, PX_OUT_OF_MEMORY, true},
                         Row{&TestFaults::fail_run, PX_BUDGET_EXCEEDED, true},
                         Row{&TestFaults::fail_run, PX_UNSUPPORTED, false}}) {
    SCOPED_TRACE(row.code);
    store_ = std::make_shared<RegionStore>();
    use(x_);
    faults_.bind_code = faults_.run_code = row.code;
    faults_.*row.count = 1;
    expect_right();
    EXPECT_EQ(store_->refusals().size(), 1U);
    int runs = faults_.runs;
    expect_right();
    EXPECT_EQ(faults_.runs, runs + 1) << "not with these sizes";
    use(std::vector<float>(80, 0.25F));
    runs = faults_.runs;
    expect_right();
    EXPECT_EQ(faults_.runs, runs + (row.others ? 2 : 1));
    EXPECT_EQ(store_->refusals().size(), 1U);
  }
}

TEST_P(DelegateDeviceIn, EachKindOfRefusalCostsOneWarning) {
  faults_.bind_code = PX_UNSUPPORTED;
  faults_.run_code = PX_OUT_OF_MEMORY;
  std::size_t rows = 0;
  const auto warnings = [&](std::atomic<int>& fault) {
    rows += 8;
    use(std::vector<float>(rows, 0.25F));
    fault = 2;  // once for each region
    lines_.clear();
    expect_right();
    return lines_.size();
  };
  EXPECT_EQ(warnings(faults_.refuse_bind), 2U);
  EXPECT_THAT(lines_[0], HasSubstr("with some sizes: no room for these sizes"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(warnings(faults_.refuse_bind), 0U);
  EXPECT_EQ(warnings(faults_.fail_run), 2U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(warnings(faults_.fail_run), 0U);
  EXPECT_EQ(store_->refusals().size(), 4U);
  store_->forget_failures();
  EXPECT_TRUE(store_->refusals().empty());
  EXPECT_EQ(warnings(faults_.refuse_bind), 2U);
}

/// Regions that it has not compiled yet would wait for it as long.
TEST_P(DelegateDeviceIn, ALostDeviceCompilesNothing) {
  store_->fail_all({Stage::kRun, ErrorCode::kLimitExceeded, {}, "no answer"});
  expect_right();
  EXPECT_EQ(faults_.compiled, 0);
  ASSERT_EQ(store_->refusals().size(), 2U);
  EXPECT_EQ(store_->refusals()[0].why, "no answer");
  store_->forget_failures();
  expect_right();
  EXPECT_EQ(faults_.runs, 2);
}

TEST_P(DelegateDeviceIn, TellsAPlanOnceWhatItIsBetterMadeWithout) {
  auto planned = std::make_shared<PlannedRegions>();
  planned->nodes.push_back({"r0", "r0b"});
  planned->nodes.push_back({"r1", "r1b", "r1c"});
  faults_.refuse_bind = 1;
  device_ = std::make_shared<DelegateDevice>(
      std::vector<DelegateUse>{{opened_, store_}}, program_->bound->compiled,
      IdVector<RegionId, std::shared_ptr<RegionTimes>>{}, TimedSplit{}, planned);
  EXPECT_TRUE(device_->take_refused().empty());
  expect_right();
  const std::vector<RefusedRegion> refused = device_->take_refused();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].kind, Refusal::kSizes);
  EXPECT_EQ(refused[0].nodes, planned->nodes[RegionId{0}]);
  EXPECT_EQ(refused[0].why, "no room for these sizes");
  store_->fail_all({Stage::kRun, ErrorCode::kLimitExceeded, {}, "no answer"});
  EXPECT_TRUE(device_->take_refused().empty());
}

TEST_P(DelegateDeviceIn, RefusesNullHandles) {
  faults_.null_handles = true;
  expect_right();
  EXPECT_EQ(store_->refusals().size(), 2U);
  EXPECT_EQ(faults_.runs, 0);
}

TEST_P(DelegateDeviceIn, ASilentDeviceEndsTheRunAndIsNotAskedAgain) {
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    store_ = std::make_shared<RegionStore>();
    use(x_);
    settings_.scheduler = scheduler;
    settings_.region_time = std::chrono::milliseconds(20);
    faults_.silent = true;
    const auto got = run();
    faults_.silent = false;
    settings_.region_time = {};  // the machine may be busy
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kLimitExceeded) << got.error().to_string();
    EXPECT_THAT(got.error().message, HasSubstr("did not answer within 0.02 s"));
    EXPECT_TRUE(late_);
    const int runs = faults_.runs;
    expect_right();
    EXPECT_EQ(faults_.runs, runs);
    faults_.answer_held();  // late, into memory that waited
    expect_right();
    store_->forget_failures();
    expect_right();
    EXPECT_EQ(faults_.runs, runs + 2);
  }
}

TEST_P(DelegateDeviceIn, ALateRegionWaitsForNoCompilation) {
  static std::atomic<bool> compiles, may_end;
  compiles = may_end = false;
  table_.compile = [](void* device, const px_region* region, px_compiled* out, px_status* status) {
    compiles = true;
    compiles.notify_all();
    may_end.wait(false);
    return test_compile(device, region, out, status);
  };
  opened_ = *open_delegate(*check_table(&table_, ""), "test", "", log_);
  use(x_);
  std::thread other([&] { EXPECT_TRUE(device_->prepare(log_)); });
  compiles.wait(false);
  device_->late(RegionId{1}, Error{Stage::kRun, ErrorCode::kLimitExceeded, {}, "late"});
  may_end = true;
  may_end.notify_all();
  other.join();
  const auto problem = device_->problem(RegionId{0});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->message, "late") << "all that the device had is the CPU's";
}

TEST_P(DelegateDeviceIn, IsToldOfRunsThatNobodyWaitsFor) {
  settings_.region_time = std::chrono::milliseconds(20);
  faults_.silent = true;
  faults_.heeds_cancel = true;
  const auto got = run();
  ASSERT_FALSE(got);
  faults_.silent = false;
  const bool copied_first = GetParam().own && !GetParam().host_sees_it;
  EXPECT_EQ(faults_.cancelled, copied_first ? 0 : 1) << "copies cannot be cancelled";
  if (copied_first) return;
  // It has answered: the memory of the run is back.
  EXPECT_EQ(memory_->busy_bytes(), 0);
}

TEST_P(DelegateDeviceIn, NeedsNoFunctionToCancel) {
  table_.cancel = nullptr;
  opened_ = *open_delegate(*check_table(&table_, ""), "test", "", log_);
  use(x_);
  settings_.region_time = std::chrono::milliseconds(20);
  faults_.silent = true;
  EXPECT_FALSE(run());
  faults_.silent = false;
  EXPECT_EQ(faults_.cancelled, 0);
  faults_.answer_held();
}

INSTANTIATE_TEST_SUITE_P(Memories, DelegateDeviceIn,
                         testing::Values(DelegateMemory{"Host", false, false},
                                         DelegateMemory{"Own", true, false},
                                         DelegateMemory{"Visible", true, true}),
                         [](const auto& memory) { return std::string(memory.param.name); });

}  // namespace
}  // namespace parallax
