// Sessions with two delegates: each has its regions, and what one fails at leaves the other alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// The first delegate has Neg and Abs, the second all but Tanh; nobody has Tanh.
constexpr std::string_view kTwoRegions = R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Exp(a) @b
    c = Tanh(b) @c
    t = Exp(x) @t
    d = Add(c, t) @d
    e = Abs(d) @e
    output e, b)";

class TwoDelegates : public testing::Test {
 protected:
  TwoDelegates() {
    const std::string all = R"(operators = ["Relu", "Neg", "Abs", "Exp", "Add"])";
    first_.profile.replace(first_.profile.find(all), all.size(), R"(operators = ["Neg", "Abs"])");
    second_.profile.replace(second_.profile.find("name = \"test\""), 13, "name = \"other\"");
    second_.profile.replace(second_.profile.rfind("name = \"test\""), 13, "name = \"other\"");
    options_.delegates = {"test", "second"};
    options_.threads = 2;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 60'000;  // the machine may be busy
  }
  Session session() {
    if (!runtime_) {
      runtime_ = *Runtime::create({.threads = 2});
      impl_of(*runtime_).delegates.add(&first_table_);
      impl_of(*runtime_).delegates.add(&second_table_);
    }
    return *Session::create(model_, options_, *runtime_);
  }
  void expect_right(Session& session, RunTrace* trace = nullptr) {
    std::vector<float> x(256);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    const NamedInput input{"x", {DType::kF32, {4, 64}, std::as_bytes(std::span(x))}};
    const auto got = session.run({&input, 1}, {.trace = trace});
    ASSERT_TRUE(got) << got.error().to_string();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float exp = std::exp(-x[i]);
      EXPECT_NEAR((*got)[1].view().as<float>()[i], exp, 1e-5);
      EXPECT_NEAR((*got)[0].view().as<float>()[i], std::fabs(std::tanh(exp) + std::exp(x[i])),
                  1e-5);
    }
  }

  WithFaults first_{0}, second_{1};
  const px_delegate first_table_ = test_delegate<0>(), second_table_ = test_delegate<1>();
  std::optional<Runtime> runtime_;
  const Model model_ = model_of(kTwoRegions);
  SessionOptions options_;
};

TEST_F(TwoDelegates, EachRunsItsRegions) {
  for (const Scheduler scheduler :
       {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
    for (const bool own_memory : {false, true}) {
      second_.own_memory = own_memory;
      runtime_.reset();
      options_.scheduler = scheduler;
      Session session = this->session();
      const int before = first_.runs, of_second = second_.runs;
      RunTrace trace;
      expect_right(session, &trace);
      EXPECT_EQ(first_.runs - before, 2) << "Neg, Abs";
      EXPECT_EQ(second_.runs - of_second, 2) << "Exp; Exp and Add";
      ASSERT_EQ(trace.regions.size(), 4U);
      std::multiset<std::string> names;
      for (const RegionEvent& event : trace.regions) names.insert(event.delegate);
      EXPECT_EQ(names, (std::multiset<std::string>{"second", "second", "test", "test"}));
      EXPECT_EQ(trace.nodes.size(), 1U) << "Tanh";
    }
  }
}

TEST_F(TwoDelegates, TheOrderOfTheOptionsDecides) {
  options_.delegates = {"second", "test"};
  Session session = this->session();
  expect_right(session);
  EXPECT_EQ(first_.runs, 0);
  EXPECT_EQ(second_.compiled, 2) << "Neg and Exp; Exp, Add and Abs";
}

TEST_F(TwoDelegates, WhatOneFailsAtLeavesTheOtherAlone) {
  Session session = this->session();
  expect_right(session);
  first_.fail_run = 1;
  expect_right(session);
  const int first_runs = first_.runs, second_runs = second_.runs;
  expect_right(session);
  EXPECT_EQ(first_.runs, first_runs + 1) << "the other one of its regions";
  EXPECT_EQ(second_.runs, second_runs + 2);
  EXPECT_EQ(session.delegates()[0].failures.size(), 1U);
  EXPECT_TRUE(session.delegates()[1].failures.empty());
}

TEST_F(TwoDelegates, ASilentOneLosesItsRegionsOnly) {
  options_.delegate_time_limit_ms = 1000;
  Session session = this->session();
  second_.silent = true;
  expect_right(session);
  second_.silent = false;
  EXPECT_EQ(first_.runs, 3) << "Neg before the other one fell silent, both of its regions after";
  EXPECT_TRUE(session.delegates()[0].failures.empty());
  EXPECT_EQ(session.delegates()[1].failures.size(), 2U);
  const int runs = second_.runs;
  expect_right(session);
  EXPECT_EQ(second_.runs, runs);
  second_.answer_held();
}

TEST_F(TwoDelegates, BothMayFallSilentInOneRun) {
  options_.delegate_time_limit_ms = 200;
  Session session = this->session();
  first_.silent = true;
  second_.silent = true;
  expect_right(session);
  first_.silent = false;
  second_.silent = false;
  EXPECT_EQ(session.delegates()[0].failures.size(), 2U);
  EXPECT_EQ(session.delegates()[1].failures.size(), 2U);
  first_.answer_held();
  second_.answer_held();
}

TEST_F(TwoDelegates, OneThatDoesNotOpenIsLeftOut) {
  first_.refuse_open = 1;
  Session session = this->session();
  expect_right(session);
  ASSERT_EQ(session.delegates().size(), 2U);
  EXPECT_THAT(session.delegates()[0].problem, HasSubstr("no such device"));
  EXPECT_EQ(second_.compiled, 2) << "all but Tanh is the other one's";
}

TEST_F(TwoDelegates, NoneIsNamedTwice) {
  (void)session();
  options_.delegates = {"test", "test"};
  const auto refused = Session::create(model_, options_, *runtime_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(refused.error().message, HasSubstr("'test' is named twice"));
}

TEST_F(TwoDelegates, PlansNameTheDelegateOfEachRegion) {
  Session session = this->session();
  const DimValue n{"n", 4};
  const auto plan = Planner(session).plan({&n, 1});
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->delegate, "test, other");
  EXPECT_EQ(plan->regions, 4);
  int of_first = 0;
  for (const RegionReport& region : plan->region_reports) {
    if (region.id < 0) continue;
    EXPECT_EQ(region.delegate == "test",
              region.node_names[0] == "a" || region.node_names[0] == "e");
    of_first += region.delegate == "test" ? 1 : 0;
  }
  EXPECT_EQ(of_first, 2);
  ASSERT_EQ(plan->cpu_nodes.size(), 1U);
  EXPECT_EQ(plan->cpu_nodes[0].reason,
            "test: operator: test has no Tanh; other: operator: other has no Tanh");
}

TEST_F(TwoDelegates, FullDelegationIsOfAllTogether) {
  const Model both = model_of("symbols n\ninput x f32 [n, 64]\ny = Neg(x)\nz = Exp(y)\noutput z");
  (void)session();
  options_.require_full_delegation = true;
  EXPECT_TRUE(Session::create(both, options_, *runtime_));
  Session whole = *Session::create(both, options_, *runtime_);
  const std::vector<float> x(128, 0.5F);
  const NamedInput input{"x", {DType::kF32, {2, 64}, std::as_bytes(std::span(x))}};
  EXPECT_TRUE(whole.run({&input, 1}));
  Session part = *Session::create(model_, options_, *runtime_);
  const auto got = part.run({&input, 1});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("1 of 6 nodes stay on the CPU"));
}

}  // namespace
}  // namespace parallax
