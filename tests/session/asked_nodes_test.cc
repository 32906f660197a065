// Delegates that are asked about nodes before a plan gives them any (px_delegate::supports).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kAskedText = R"(
    symbols n
    input x f32 [n, 64]
    r = Relu(x) @r
    e = Exp(r) @e
    q = Neg(e) @q
    t = Tanh(q) @t
    output t)";

class AskedNodes : public testing::Test {
 protected:
  Session session() {
    impl_of(runtime_).delegates.add(&table_);
    SessionOptions options;
    options.delegates = {"test"};
    options.threads = 1;
    options.offload = Offload::kAll;
    options.rates = Rates::kDeclared;
    options.delegate_time_limit_ms = 60'000;  // the machine may be busy
    return *Session::create(model_of(kAskedText), options, runtime_);
  }
  /// Runs, and returns how many regions the delegate ran.
  static int regions_of_run(Session& session) {
    const std::vector<float> x(4 * 64, 0.5F);
    const NamedInput input{"x", {DType::kF32, {4, 64}, std::as_bytes(std::span(x))}};
    RunTrace trace;
    const auto got = session.run({&input, 1}, {.trace = &trace});
    EXPECT_TRUE(got) << got.error().to_string();
    for (const RegionEvent& event : trace.regions) EXPECT_EQ(event.problem, "");
    return static_cast<int>(trace.regions.size());
  }
  static PlanReport plan_of(Session& session) {
    const DimValue n{"n", 4};
    return *Planner(session).plan({&n, 1});
  }
  void expect_failure(int regions, std::size_t cpu_nodes, const char* reason) {
    Session session = this->session();
    const PlanReport plan = plan_of(session);
    EXPECT_EQ(plan.regions, regions);
    ASSERT_EQ(plan.cpu_nodes.size(), cpu_nodes);
    EXPECT_THAT(plan.cpu_nodes[0].reason, HasSubstr(reason));
    EXPECT_EQ(regions_of_run(session), regions);
  }

  WithFaults faults_;
  px_delegate table_ = test_delegate();
  const Runtime runtime_ = *Runtime::create({.threads = 2});
};

TEST_F(AskedNodes, ARefusedOperatorStaysOnTheCpuWithTheReason) {
  faults_.unsupported = "Exp";
  Session session = this->session();
  const PlanReport plan = plan_of(session);
  EXPECT_EQ(faults_.asked, 3) << "the description has no Tanh";
  EXPECT_EQ(plan.regions, 2);
  ASSERT_EQ(plan.cpu_nodes.size(), 2U);
  EXPECT_EQ(plan.cpu_nodes[0].node, "e");
  EXPECT_EQ(plan.cpu_nodes[0].reason, "refused: not today");
  EXPECT_THAT(plan.cpu_nodes[1].reason, StartsWith("operator: "));
  EXPECT_EQ(regions_of_run(session), 2);
  EXPECT_TRUE(session.delegates()[0].failures.empty()) << "nothing was tried in vain";
}

TEST_F(AskedNodes, TheReasonIsCut) {
  const std::string text(10'000, 'x');
  faults_.unsupported = "Exp";
  faults_.unsupported_text = text.c_str();
  Session session = this->session();
  EXPECT_EQ(plan_of(session).cpu_nodes[0].reason, "refused: " + std::string(500, 'x'));
}

TEST_F(AskedNodes, AFailureIsARefusal) {
  faults_.unsupported = "Neg";
  faults_.unsupported_code = 4711;
  faults_.unsupported_text = nullptr;
  expect_failure(1, 2, "the delegate failed when asked: error 4711");
}

TEST_F(AskedNodes, ADelegateThatThrowsGetsNothing) {
  faults_.throws_when_asked = true;
  expect_failure(0, 4, "the delegate failed when asked: ");
}

TEST_F(AskedNodes, AnOlderDelegateIsNotAsked) {
  faults_.unsupported = "Exp";
  table_.size = offsetof(px_delegate, supports);
  Session session = this->session();
  EXPECT_EQ(plan_of(session).regions, 1);
  EXPECT_EQ(regions_of_run(session), 1);
  EXPECT_EQ(faults_.asked, 0);
}

}  // namespace
}  // namespace parallax
