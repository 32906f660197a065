// Plans of a session after a delegate refused regions: the CPU runs these as it would without the
// delegate, in the run after the one that noticed, and for as long as the refusal holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "cache/test_folder.h"
#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two regions, {r, q} and {e}, which the CPU would put into the kernels around them.
constexpr std::string_view kRefusedText = R"(
    symbols n
    input x f32 [n, 64]
    const w f32 [64, 64] = fill 0.0625
    m = MatMul(x, w) @m
    r = Relu(m) @r
    q = Neg(r) @q
    t = Tanh(q) @t
    k = MatMul(t, w) @k
    e = Relu(k) @e
    output e)";

class RefusedPlans : public FolderTest {
 protected:
  RefusedPlans() {
    impl_of(runtime_).delegates.add(&table_);
    options_.delegates = {"test"};
    options_.threads = 1;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 60'000;  // the machine may be busy
  }
  Session session() { return *Session::create(model_, options_, runtime_); }

  /// The nodes that the CPU ran, with their kernels, and the regions that the delegate began.
  struct Ran {
    std::vector<std::string> kernels;
    int regions = 0, problems = 0;
    std::vector<std::byte> bits;
  };
  static Ran run(Session& session, std::int64_t rows = 4) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    const NamedInput input{"x", {DType::kF32, {rows, 64}, std::as_bytes(std::span(x))}};
    RunTrace trace;
    const auto got = session.run({&input, 1}, {.trace = &trace});
    EXPECT_TRUE(got) << got.error().to_string();
    Ran ran;
    for (const NodeEvent& event : trace.nodes)
      ran.kernels.push_back(event.node + " " + event.op + " " + event.kernel + " " + event.shapes);
    std::ranges::sort(ran.kernels);
    ran.regions = static_cast<int>(trace.regions.size());
    for (const RegionEvent& event : trace.regions) ran.problems += event.problem.empty() ? 0 : 1;
    ran.bits = bits_of(got);
    return ran;
  }
  void expect_as_without_delegate(Session& session, std::int64_t rows = 4) {
    Session alone = *Session::create(model_, {.threads = 1}, runtime_);
    const Ran expected = run(alone, rows), ran = run(session, rows);
    EXPECT_EQ(ran.kernels, expected.kernels);
    EXPECT_EQ(ran.bits, expected.bits);
    EXPECT_EQ(ran.regions, 0);
  }
  /// Both regions are refused in the next run.
  static void refuse_both(std::atomic<int>& fault) { fault = 2; }
  static std::vector<std::string> reasons(const Session& session) {
    const DelegateReport report = session.delegates()[0];
    std::vector<std::string> list;
    for (const auto& failure : report.failures) list.push_back(failure.reason);
    return list;
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  std::mutex mutex_;
  std::vector<std::string> warnings_;
  const Runtime runtime_ =
      *Runtime::create({.threads = 2, .log = [this](LogLevel level, auto line) {
                          const std::lock_guard lock(mutex_);
                          if (level == LogLevel::kWarning) warnings_.emplace_back(line);
                        }});
  const Model model_ = model_of(kRefusedText);
  SessionOptions options_;
};

TEST_F(RefusedPlans, TheSecondRunIsThatOfTheCpuAlone) {
  struct Row {
    std::atomic<int>* fault;
    px_code code;
  };
  for (const Row& row :
       {Row{&faults_.refuse_compile, PX_UNSUPPORTED}, Row{&faults_.refuse_bind, PX_UNSUPPORTED},
        Row{&faults_.refuse_bind, PX_BUDGET_EXCEEDED}, Row{&faults_.refuse_run, PX_IO},
        Row{&faults_.fail_run, PX_IO}, Row{&faults_.fail_run, PX_OUT_OF_MEMORY}}) {
    SCOPED_TRACE(row.code);
    faults_.bind_code = faults_.run_code = row.code;
    Session session = this->session();
    refuse_both(*row.fault);
    const Ran first = run(session);
    EXPECT_EQ(first.problems, 2) << "the substitute";
    for (int i = 0; i < 3; ++i) expect_as_without_delegate(session);
    EXPECT_EQ(session.delegates()[0].failures.size(), 2U);
  }
}

TEST_F(RefusedPlans, ReportsAreThoseOfTheCpuAlone) {
  Session session = this->session(), alone = *Session::create(model_, {.threads = 1}, runtime_);
  refuse_both(faults_.fail_run);
  (void)run(session);
  const DimValue n{"n", 4};
  const PlanReport plan = *Planner(session).plan({&n, 1}), expected = *Planner(alone).plan({&n, 1});
  EXPECT_EQ(plan.regions, 0);
  EXPECT_EQ(plan.nodes, expected.nodes);
  EXPECT_EQ(plan.branches, expected.branches);
  EXPECT_EQ(plan.steps_per_layer, expected.steps_per_layer);
  EXPECT_EQ(plan.arena_bytes.parallax, expected.arena_bytes.parallax);
  ASSERT_EQ(plan.kernel_reports.size(), expected.kernel_reports.size());
  for (std::size_t i = 0; i < plan.kernel_reports.size(); ++i)
    EXPECT_EQ(plan.kernel_reports[i].kernel, expected.kernel_reports[i].kernel);
  ASSERT_EQ(plan.cpu_nodes.size(), 6U);
  EXPECT_EQ(plan.cpu_nodes[1].reason, "refused: device lost");
}

TEST_F(RefusedPlans, TheOtherRegionsStay) {
  Session session = this->session();
  EXPECT_EQ(run(session).regions, 2);
  faults_.fail_run = 1;
  EXPECT_EQ(run(session).kernels.size(), 5U) << "m, r, q, t and k";
  const Ran second = run(session);
  EXPECT_EQ(second.regions, 1);
  EXPECT_EQ(second.problems, 0);
  EXPECT_LT(second.kernels.size(), 5U) << "r is in the product again";
  EXPECT_EQ(faults_.compiled, 2) << "the other region is compiled already";
}

TEST_F(RefusedPlans, PlansOfOtherSizesFollow) {
  Session session = this->session();
  for (const std::int64_t rows : {4, 8}) EXPECT_EQ(run(session, rows).problems, 0);
  faults_.fail_run = 2;
  EXPECT_EQ(run(session, 4).problems, 2);
  EXPECT_EQ(run(session, 8).problems, 2) << "its plan is older";
  for (const std::int64_t rows : {4, 8, 16}) expect_as_without_delegate(session, rows);
  session.retry_delegates();
  for (const std::int64_t rows : {16, 8, 4}) {
    const Ran ran = run(session, rows);
    EXPECT_EQ(ran.regions, 2);
    EXPECT_EQ(ran.problems, 0);
  }
  EXPECT_THAT(reasons(session), IsEmpty());
}

TEST_F(RefusedPlans, ARefusalOfSizesIsOfTheseSizes) {
  faults_.bind_code = PX_UNSUPPORTED;
  Session session = this->session();
  EXPECT_EQ(run(session, 8).problems, 0);
  refuse_both(faults_.refuse_bind);
  EXPECT_EQ(run(session, 1024).problems, 2);
  for (const std::int64_t rows : {16, 8}) EXPECT_EQ(run(session, rows).problems, 0);
  const int bound = faults_.bound;
  session.trim();  // forgets plans, not refusals
  for (int i = 0; i < 40; ++i) EXPECT_EQ(run(session, 1024).regions, 0);
  EXPECT_EQ(faults_.bound, bound);
  EXPECT_THAT(reasons(session), Contains("with some sizes: no room for these sizes").Times(2));
  session.retry_delegates();
  EXPECT_EQ(run(session, 1024).problems, 0);
}

TEST_F(RefusedPlans, ShortMemoryIsTriedAgainAfterEverLongerPauses) {
  for (const px_code code : {PX_BUDGET_EXCEEDED, PX_OUT_OF_MEMORY}) {
    faults_.run_code = code;
    Session session = this->session();
    for (const int pause : {16, 32}) {
      refuse_both(faults_.fail_run);
      EXPECT_EQ(run(session).problems, 2);
      EXPECT_EQ(run(session, 8).problems, 0) << "other sizes may need less";
      for (int i = 0; i < pause; ++i) EXPECT_EQ(run(session).regions, 0) << i;
    }
    EXPECT_THAT(reasons(session), Contains("for a while: device lost").Times(2));
    for (int i = 0; i < 40; ++i) {
      const Ran ran = run(session);
      EXPECT_EQ(ran.regions, 2);
      EXPECT_EQ(ran.problems, 0);
    }
    refuse_both(faults_.fail_run);
    EXPECT_EQ(run(session).problems, 2);
    session.retry_delegates();
    EXPECT_EQ(run(session).regions, 2) << "no pause is left";
  }
}

TEST_F(RefusedPlans, EachKindOfRefusalIsToldOnce) {
  faults_.bind_code = PX_UNSUPPORTED;
  faults_.run_code = PX_OUT_OF_MEMORY;
  Session session = this->session();
  for (std::int64_t rows = 1; rows <= 4; ++rows) {
    refuse_both(faults_.refuse_bind);
    (void)run(session, rows);
  }
  EXPECT_THAT(warnings_, testing::SizeIs(2));
  for (std::int64_t rows = 5; rows <= 8; ++rows) {
    refuse_both(faults_.fail_run);
    (void)run(session, rows);
  }
  EXPECT_THAT(warnings_, testing::SizeIs(4));
  faults_.run_code = PX_IO;
  for (std::int64_t rows = 9; rows <= 12; ++rows) {
    refuse_both(faults_.fail_run);
    (void)run(session, rows);
  }
  EXPECT_THAT(warnings_, testing::SizeIs(6));
  EXPECT_EQ(session.delegates()[0].failures.size(), 6U);
}

TEST_F(RefusedPlans, ASilentDeviceIsLeftOutWhateverTheSizes) {
  options_.delegate_time_limit_ms = 50;
  Session session = this->session();
  faults_.silent = true;
  EXPECT_EQ(run(session).problems, 2) << "the run begins once more";
  faults_.silent = false;
  const int compiled = faults_.compiled, bound = faults_.bound;
  for (const std::int64_t rows : {4, 9}) expect_as_without_delegate(session, rows);
  EXPECT_EQ(faults_.compiled, compiled);
  EXPECT_EQ(faults_.bound, bound);
  faults_.answer_held();
}

TEST_F(RefusedPlans, APinnedPlanIsKeptForLater) {
  options_.pinned_plan = folder_ / "pinned.toml";
  Session session = this->session();
  EXPECT_EQ(run(session).regions, 2);
  const std::string pinned = read(options_.pinned_plan);
  faults_.fail_run = 1;
  EXPECT_EQ(run(session).problems, 1);
  EXPECT_EQ(run(session).regions, 1);
  EXPECT_EQ(run(session, 8).regions, 1) << "nothing is pinned for these sizes";
  EXPECT_EQ(read(options_.pinned_plan), pinned);
  session.retry_delegates();
  EXPECT_EQ(run(session).regions, 2);
}

/// The nodes of a split graph have other names than those of the model.
TEST_F(RefusedPlans, WhatWasSplitIsWholeAgain) {
  faults_.profile = R"(
name = "test"
[delegate]
name = "test"
launch_seconds = 2e-5
macs_per_second = 5e10
bytes_per_second = 1e12
cpu_macs_per_second = 5e10
memory_bytes = 1000000000
dtypes = ["f32"]
operators = ["MatMul", "Relu"]
)";
  const Model model = model_of(R"(
      input x f32 [2048, 256]
      const w f32 [256, 256] = fill 0.25
      a = MatMul(x, w)
      b = Relu(a)
      c = MatMul(b, w)
      output c)");
  const Runtime runtime = *Runtime::create({.threads = 1});
  impl_of(runtime).delegates.add(&table_);
  options_.offload = Offload::kProfitable;
  options_.co_execution = true;
  Session session = *Session::create(model, options_, runtime);
  ASSERT_NE(Planner(session).plan({})->co_execution, "");
  faults_.refuse_compile = 1000;
  const std::vector<float> x(std::size_t{2048} * 256, 0.5F);
  const NamedInput input{"x", {DType::kF32, {2048, 256}, std::as_bytes(std::span(x))}};
  const auto regions_of_run = [&] {
    RunTrace trace;
    EXPECT_TRUE(session.run({&input, 1}, {.trace = &trace}));
    return trace.regions.size();
  };
  EXPECT_GT(regions_of_run(), 0U);
  const int compiled = faults_.compiled;
  EXPECT_EQ(regions_of_run(), 0U);
  EXPECT_EQ(faults_.compiled, compiled);
  EXPECT_EQ(Planner(session).plan({})->co_execution, "");
}

TEST_F(RefusedPlans, FullDelegationTriesEachRun) {
  const Model all = model_of("symbols n\ninput x f32 [n, 64]\ny = Neg(x)\nz = Exp(y)\noutput z");
  options_.require_full_delegation = true;
  faults_.run_code = PX_BUDGET_EXCEEDED;
  Session session = *Session::create(all, options_, runtime_);
  const std::vector<float> x(256, 0.5F);
  const NamedInput input{"x", {DType::kF32, {4, 64}, std::as_bytes(std::span(x))}};
  faults_.fail_run = 1;
  const auto refused = session.run({&input, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExceeded);
  EXPECT_TRUE(session.run({&input, 1}));
}

}  // namespace
}  // namespace parallax
