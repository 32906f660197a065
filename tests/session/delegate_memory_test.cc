// The memory of delegates: what stays there, what counts, and what a silent one keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// Two regions, {a, b, c} and {e}: the CPU reads b and makes what the second one reads beside c.
constexpr std::string_view kMemoryText = R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Exp(a) @b
    c = Abs(a) @c
    d = Tanh(b) @d
    e = Add(c, d) @e
    output e)";
constexpr std::int64_t kRows = 16, kValue = kRows * 64 * 4;

class DelegateMemory : public testing::Test {
 protected:
  DelegateMemory() {
    faults_.own_memory = true;
    options_.delegates = {"test"};
    options_.threads = 1;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 60'000;  // the machine may be busy
  }
  Session session() {
    if (!runtime_) {
      runtime_ = *Runtime::create({.threads = 1, .log = [this](LogLevel, auto line) {
                                     const std::lock_guard lock(mutex_);
                                     lines_.emplace_back(line);
                                   }});
      impl_of(*runtime_).delegates.add(&table_);
    }
    return *Session::create(model_, options_, *runtime_);
  }
  void expect_right(Session& session) {
    trace_ = {};
    std::vector<float> x(static_cast<std::size_t>(kRows) * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    const NamedInput input{"x", {DType::kF32, {kRows, 64}, std::as_bytes(std::span(x))}};
    const auto got = session.run({&input, 1}, {.trace = &trace_});
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR((*got)[0].view().as<float>()[i], std::fabs(x[i]) + std::tanh(std::exp(-x[i])),
                  1e-5);
  }
  /// "x>" where it is copied to the device, "b<" where back.
  std::vector<std::string> copies() const {
    std::vector<std::string> list;
    for (const CopyEvent& copy : trace_.copies) {
      EXPECT_EQ(copy.bytes, kValue);
      EXPECT_LE(copy.start_ns, copy.end_ns);
      list.push_back(copy.value + (copy.to_device ? ">" : "<"));
    }
    return list;
  }
  std::vector<std::string> problems() const {
    std::vector<std::string> list;
    for (const RegionEvent& event : trace_.regions)
      if (!event.problem.empty()) list.push_back(event.problem);
    return list;
  }

  WithFaults faults_;
  px_delegate table_ = test_delegate();
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::optional<Runtime> runtime_;
  const Model model_ = model_of(kMemoryText);
  SessionOptions options_;
  RunTrace trace_;
};

TEST_F(DelegateMemory, WhatOnlyRegionsReadStaysThere) {
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    options_.scheduler = scheduler;
    Session session = this->session();
    for (int run = 0; run < 3; ++run) {
      expect_right(session);
      EXPECT_THAT(copies(), testing::ElementsAre("x>", "b<", "d>", "e<"));
    }
  }
  EXPECT_LE(faults_.pieces, 12) << "pieces serve again";
}

TEST_F(DelegateMemory, TheCpuGetsItWhereTheSecondRegionFails) {
  Session session = this->session();
  faults_.good_runs = 1;
  faults_.fail_run = 1;
  expect_right(session);
  EXPECT_THAT(copies(), testing::ElementsAre("x>", "b<", "d>", "c<"));
  EXPECT_THAT(problems(), testing::ElementsAre(HasSubstr("device lost")));
  expect_right(session);
  EXPECT_THAT(copies(), testing::UnorderedElementsAre("x>", "b<", "c<"))
      << "the second region is the CPU's from the start";
}

TEST_F(DelegateMemory, TheRunBeginsAnewWhereTheDeviceHasLostIt) {
  Session session = this->session();
  faults_.good_runs = 1;
  faults_.fail_run = 1;
  faults_.good_copies = 3;
  faults_.fail_copy = 1;
  expect_right(session);
  EXPECT_TRUE(copies().empty());
  EXPECT_EQ(session.delegates()[0].failures.size(), 2U) << "all that it had";
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("the run starts again: ")));
  session.retry_delegates();
  expect_right(session);
  EXPECT_EQ(copies().size(), 4U);
}

TEST_F(DelegateMemory, EachCopyMayFail) {
  for (int good = 0; good < 4; ++good) {
    Session session = this->session();
    faults_.good_copies = good;
    faults_.fail_copy = 1;
    expect_right(session);
    // A copy beside the regions that fails soon enough is tried once more by the region.
    const std::size_t failures = session.delegates()[0].failures.size();
    EXPECT_TRUE(failures == 1 || (good == 2 && failures == 0)) << good;
    expect_right(session);
  }
}

TEST_F(DelegateMemory, ReportsSayWhatIsHeld) {
  faults_.region_bytes = 1000;
  faults_.binding_bytes = 200;
  Session session = this->session();
  expect_right(session);
  const DelegateReport report = session.delegates()[0];
  EXPECT_GE(report.held_bytes, 2 * 1200);
  EXPECT_GE(report.peak_bytes, 2 * 1200 + 3 * kValue) << "b, c and a, or x";
  EXPECT_LE(report.peak_bytes, 2 * 1200 + 5 * kValue);
}

TEST_F(DelegateMemory, NoThreadHoldsWhatARunUsedWhenTheRunHasEnded) {
  // The thread that answers the copy of x returns from here when all else may be over.
  table_.run = [](void* device, void* binding, const px_run* run, px_done done, void* context,
                  px_status* status) {
    const px_code code = test_run(device, binding, run, done, context, status);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return code;
  };
  faults_.microseconds = 0;
  for (int i = 0; i < 5; ++i) {
    {
      Session session = this->session();
      expect_right(session);
      EXPECT_EQ(faults_.bindings, 2);
    }
    EXPECT_EQ(faults_.bindings, 0) << "the plan went with the session";
  }
}

TEST_F(DelegateMemory, RegionsThatDoNotFitAreTheCpus) {
  faults_.binding_bytes = 4 * kValue;
  options_.delegate_memory_bytes = 7 * kValue + 100;
  Session session = this->session();
  expect_right(session);
  EXPECT_THAT(problems(), testing::ElementsAre(HasSubstr("tensors of a region next to")));
  EXPECT_EQ(faults_.bindings, 0) << "the next plan is without the second";
  expect_right(session);
  EXPECT_TRUE(problems().empty());
  EXPECT_EQ(faults_.bindings, 1);
  EXPECT_LE(session.delegates()[0].peak_bytes, options_.delegate_memory_bytes);
  options_.delegate_memory_bytes = kValue;
  faults_.binding_bytes = 0;
  Session none = this->session();
  expect_right(none);
  EXPECT_EQ(problems().size(), 2U);
  EXPECT_THAT(problems()[0], HasSubstr("what the region reads and makes"));
}

TEST_F(DelegateMemory, InTheCpusMemoryTheBudgetIsTheCpus) {
  faults_.own_memory = false;
  faults_.shared_bytes = 100'000;
  Session free = this->session();
  expect_right(free);
  EXPECT_TRUE(problems().empty());
  EXPECT_EQ(free.delegates()[0].held_bytes, 100'000) << "two bindings that share";
  EXPECT_GE(free.peak_arena_bytes(), 100'000);
  const DimValue n{"n", kRows};
  const PlanReport plan = *Planner(free).plan({&n, 1});
  const std::int64_t bytes = plan.arena_bytes.parallax + plan.scratch_bytes + plan.staged_bytes;
  EXPECT_EQ(plan.staged_bytes, 2 * kValue) << "x and e";
  for (const std::int64_t budget :
       {bytes, 2 * bytes, 2 * bytes + 50'000, 2 * bytes + 100'000, 3 * bytes + 200'000}) {
    options_.budget = MemoryBudget::of_bytes(budget);
    Session session = this->session();
    for (int run = 0; run < 3; ++run) {
      expect_right(session);
      // Less than twice is too little for the CPU to begin anew beside a silent delegate.
      const bool refused = budget >= 2 * bytes && budget < 2 * bytes + 100'000;
      EXPECT_EQ(trace_.regions.size(), budget < 2 * bytes || (refused && run > 0) ? 0U : 2U)
          << budget;
      EXPECT_EQ(problems().size(), refused && run == 0 ? 2U : 0U) << budget;
      EXPECT_LE(session.peak_arena_bytes(), budget);
    }
  }
}

TEST_F(DelegateMemory, WhatItTakesOfTheCpusMemoryIsTheBudgets) {
  struct Row {
    std::int32_t in_host_memory;
    std::int64_t staging_bytes, least;  ///< that pieces add
  };
  const DimValue n{"n", kRows};
  for (const Row& row :
       {Row{0, 0, 0}, Row{1, 0, 3 * kValue}, Row{0, 1000, 3 * 1000}, Row{1, 1000, 3 * 5096}}) {
    runtime_.reset();
    faults_.in_host_memory = row.in_host_memory;
    faults_.staging_bytes = row.staging_bytes;
    faults_.region_bytes = 1 << 20;  // weights
    options_.budget = {};
    Session free = session();
    expect_right(free);
    EXPECT_TRUE(problems().empty());
    EXPECT_GE(free.delegates()[0].held_bytes, 2 << 20);
    const PlanReport plan = *Planner(free).plan({&n, 1});
    const std::int64_t bytes = plan.arena_bytes.parallax + plan.scratch_bytes + plan.staged_bytes;
    EXPECT_GE(free.peak_arena_bytes(), bytes + row.least);
    EXPECT_LE(free.peak_arena_bytes(), bytes + 2 * row.least) << row.in_host_memory;
    options_.budget = MemoryBudget::of_bytes(2 * bytes);  // for a run that begins again
    Session tight = session();
    for (int run = 0; run < 3; ++run) expect_right(tight);
    EXPECT_EQ(tight.delegates()[0].failures.empty(), row.least == 0);
    EXPECT_LE(tight.peak_arena_bytes(), 2 * bytes);
  }
}

TEST_F(DelegateMemory, ASilentDelegateDoesNotKeepTheRunFromItsBudget) {
  for (const bool own : {false, true}) {
    faults_.own_memory = own;
    runtime_.reset();
    options_.budget = {};
    options_.delegate_time_limit_ms = 60'000;
    const DimValue n{"n", kRows};
    Session planned = session();
    const PlanReport plan = *Planner(planned).plan({&n, 1});
    const std::int64_t bytes = plan.arena_bytes.parallax + plan.scratch_bytes + plan.staged_bytes;
    options_.delegate_time_limit_ms = 100;
    options_.budget = MemoryBudget::of_bytes(2 * bytes);
    Session session = this->session();
    faults_.silent = true;
    expect_right(session);
    faults_.silent = false;
    EXPECT_LE(session.peak_arena_bytes(), 2 * bytes);
    expect_right(session);  // beside what the delegate still has
    expect_right(session);
    faults_.answer_held();
    expect_right(session);
    EXPECT_LE(session.peak_arena_bytes(), 2 * bytes);
  }
}

}  // namespace
}  // namespace parallax
