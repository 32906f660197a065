// Sessions with a delegate: it runs its regions; the CPU runs all others and those that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "delegate_host/test_delegate_util.h"
#include "load/onnx_test_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

/// A graph with two regions for the test delegate, and nodes for the CPU between and next to them.
constexpr std::string_view kText = R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Exp(a) @b
    c = Tanh(b) @c
    t = Tanh(x) @t
    d = Add(c, t) @d
    e = Abs(d) @e
    output e, b)";

class SessionDelegateTest : public testing::Test {
 protected:
  SessionDelegateTest() {
    impl_of(runtime_).delegates.add(&table_);
    options_.delegates = {"test"};
    options_.threads = 2;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    // The machine may be busy.
    options_.delegate_time_limit_ms = 60'000;
  }

  Session session(const Model& model) { return *Session::create(model, options_, runtime_); }
  static std::vector<float> numbers(std::int64_t rows) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    return x;
  }
  static Result<std::vector<Tensor>> run(Session& session, const std::vector<float>& x,
                                         RunTrace* trace = nullptr) {
    const Dims dims{static_cast<std::int64_t>(x.size() / 64), 64};
    const NamedInput input{"x", {DType::kF32, dims, std::as_bytes(std::span(x))}};
    return session.run({&input, 1}, {.trace = trace});
  }
  void expect_right(Session& session, std::int64_t rows = 4, RunTrace* trace = nullptr) {
    const std::vector<float> x = numbers(rows);
    const auto got = run(session, x, trace);
    ASSERT_TRUE(got) << got.error().to_string();
    const float* const e = (*got)[0].view().as<float>();
    const float* const b = (*got)[1].view().as<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float exp = std::exp(-x[i]);
      EXPECT_NEAR(b[i], exp, 1e-5);
      EXPECT_NEAR(e[i], std::fabs(std::tanh(exp) + std::tanh(x[i])), 1e-5);
    }
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  std::mutex lines_mutex_;
  std::vector<std::string> lines_;
  const Runtime runtime_ = *Runtime::create({.threads = 2, .log = [this](LogLevel, auto line) {
                                               const std::lock_guard lock(lines_mutex_);
                                               lines_.emplace_back(line);
                                             }});
  const Model model_ = model_of(kText);
  SessionOptions options_;
};

TEST_F(SessionDelegateTest, RunsItsRegionsOnIt) {
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    const Runtime runtime = *Runtime::create({.threads = 2});
    impl_of(runtime).delegates.add(&table_);
    for (const Scheduler scheduler :
         {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
      options_.scheduler = scheduler;
      Session session = *Session::create(model_, options_, runtime);
      const int before = faults_.runs;
      RunTrace trace;
      expect_right(session, 4, &trace);
      EXPECT_EQ(faults_.runs, before + 2);
      ASSERT_EQ(trace.regions.size(), 2U);
      EXPECT_EQ(trace.regions[0].problem, "");
      EXPECT_EQ(trace.nodes.size(), 2U) << "Tanh and Tanh";
    }
  }
  EXPECT_EQ(faults_.opened, 2) << "once for each runtime";
}

TEST_F(SessionDelegateTest, ReadsWhatTheCpuGivesTheCaller) {
  const Model model = model_of(R"(
      symbols n
      input x f32 [n, 64]
      c = Tanh(x)
      d = Neg(c)
      e = Tanh(d)
      f = Add(c, e)
      output c, f, e)");
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    const Runtime runtime = *Runtime::create({.threads = 2});
    impl_of(runtime).delegates.add(&table_);
    Session session = *Session::create(model, options_, runtime);
    const std::vector<float> x = numbers(5);
    for (int i = 0; i < 3; ++i) {
      const auto got = run(session, x);
      ASSERT_TRUE(got) << got.error().to_string();
      for (std::size_t j = 0; j < x.size(); ++j) {
        const float c = std::tanh(x[j]), e = std::tanh(-c);
        EXPECT_NEAR((*got)[0].view().as<float>()[j], c, 1e-5);
        EXPECT_NEAR((*got)[1].view().as<float>()[j], c + e, 1e-5);
        EXPECT_NEAR((*got)[2].view().as<float>()[j], e, 1e-5);
      }
    }
  }
  EXPECT_EQ(faults_.runs, 12);
}

TEST_F(SessionDelegateTest, ANewShapeCompilesNothing) {
  Session session = this->session(model_);
  for (const std::int64_t rows : {1, 7, 3, 7, 1}) expect_right(session, rows);
  EXPECT_EQ(faults_.compiled, 2);
  EXPECT_EQ(faults_.bound, 6);
}

TEST_F(SessionDelegateTest, ARegionThatDoesNotPayStaysOnTheCpu) {
  options_.offload = Offload::kProfitable;
  faults_.profile.replace(faults_.profile.find("launch_seconds = 1e-6"), 21,
                          "launch_seconds = 10.0");
  Session session = this->session(model_);
  expect_right(session);
  EXPECT_EQ(faults_.compiled, 0);
}

TEST_F(SessionDelegateTest, RunsOnTheCpuWhereItDoesNotOpen) {
  struct Case {
    const char* spec;
    void (*change)(TestFaults&);
    const char* message;
  };
  const Case cases[] = {
      {"none", [](TestFaults&) {}, "there is no delegate 'none'; available: "},
      {"test", [](TestFaults& f) { f.refuse_open = 2; }, "delegate 'test': no such device"},
      {"test:x", [](TestFaults& f) { f.profile = "name = 1"; },
       "delegate 'test:x': its description"},
  };
  for (const Case& c : cases) {
    c.change(faults_);
    options_.delegates = {c.spec};
    options_.require_full_delegation = false;
    lines_.clear();
    Session session = this->session(model_);
    expect_right(session);
    ASSERT_EQ(session.delegates().size(), 1U);
    EXPECT_THAT(session.delegates()[0].problem, HasSubstr(c.message));
    EXPECT_THAT(lines_, testing::Contains(HasSubstr(c.message)));
    options_.require_full_delegation = true;
    const auto refused = Session::create(model_, options_, runtime_);
    ASSERT_FALSE(refused) << c.spec;
    EXPECT_THAT(refused.error().message, HasSubstr(c.message));
  }
  options_.delegates = {"test", "test"};
  EXPECT_EQ(Session::create(model_, options_, runtime_).error().code, ErrorCode::kInvalidInput);
  options_.delegates.clear();
  EXPECT_EQ(Session::create(model_, options_, runtime_).error().code, ErrorCode::kInvalidInput);
}

TEST_F(SessionDelegateTest, LibrariesThatDoNotLoadAreListed) {
  RuntimeOptions options;
  options.delegate_libraries = {"no/such.so"};
  const Runtime runtime = *Runtime::create(options);
  const auto list = runtime.delegates();
  ASSERT_FALSE(list.empty());
  EXPECT_EQ(list.back().file, "no/such.so");
  EXPECT_THAT(list.back().problem, HasSubstr("does not load"));
  Session session = *Session::create(model_, options_, runtime);
  EXPECT_THAT(session.delegates()[0].problem, HasSubstr("'no/such.so' does not load"));
}

TEST_F(SessionDelegateTest, FullDelegationNamesWhatStays) {
  options_.require_full_delegation = true;
  Session session = this->session(model_);
  const auto got = run(session, numbers(1));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("2 of 6 nodes stay on the CPU"));
  EXPECT_THAT(got.error().message, HasSubstr("'c' (Tanh), operator: test has no Tanh"));
  const Model all = model_of("symbols n\ninput x f32 [n, 64]\ny = Neg(x)\nz = Exp(y)\noutput z");
  Session whole = this->session(all);
  ASSERT_TRUE(run(whole, numbers(2)));
  faults_.fail_run = 1;
  const auto failed = run(whole, numbers(2));
  ASSERT_FALSE(failed) << "no CPU in its place";
  EXPECT_EQ(failed.error().message, "device lost");
}

TEST_F(SessionDelegateTest, WhatFailsIsTheCpusUntilToldToTryAgain) {
  Session session = this->session(model_);
  faults_.fail_run = 1;
  expect_right(session);
  ASSERT_EQ(session.delegates()[0].failures.size(), 1U);
  EXPECT_EQ(session.delegates()[0].failures[0].reason, "device lost");
  const int runs = faults_.runs;
  RunTrace trace;
  expect_right(session, 4, &trace);
  EXPECT_EQ(faults_.runs, runs + 1);
  EXPECT_EQ(trace.regions.size(), 1U) << "the plan is without the other one";
  session.retry_delegates();
  expect_right(session);
  EXPECT_EQ(faults_.runs, runs + 3);
  EXPECT_TRUE(session.delegates()[0].failures.empty());
}

TEST_F(SessionDelegateTest, ASilentDelegateLosesItsPartInTheSameRun) {
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    const Runtime runtime = *Runtime::create({.threads = 2});
    impl_of(runtime).delegates.add(&table_);
    options_.delegate_time_limit_ms = 50;
    Session session = *Session::create(model_, options_, runtime);
    faults_.silent = true;
    expect_right(session);
    faults_.silent = false;
    const auto failures = session.delegates()[0].failures;
    ASSERT_EQ(failures.size(), 2U) << "all that it had";
    EXPECT_THAT(failures[0].reason, HasSubstr("did not answer within 0.05 s"));
    const int runs = faults_.runs;
    expect_right(session);
    EXPECT_EQ(faults_.runs, runs);
    faults_.answer_held();
    expect_right(session);
  }
}

TEST_F(SessionDelegateTest, AnAnswerMayComeAfterTheSessionsEnd) {
  {
    const Runtime runtime = *Runtime::create({.threads = 2});
    impl_of(runtime).delegates.add(&table_);
    options_.delegate_time_limit_ms = 20;
    Session session = *Session::create(model_, options_, runtime);
    faults_.silent = true;
    expect_right(session);
    faults_.silent = false;
  }
  EXPECT_EQ(faults_.closed, 0);
  faults_.answer_held();
  for (int i = 0; i < 1000 && faults_.closed == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(faults_.closed, 1) << "by another thread than the delegate's";
  EXPECT_EQ(faults_.regions, 0);
}

TEST_F(SessionDelegateTest, WeightsThatAreMadeOfWeightsAreComputedBeforeItReadsThem) {
  constexpr std::int64_t kSide = 160;  // 100 KiB
  std::vector<float> w(kSide * kSide);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 101);
  const std::string bytes =
      parallax::model({{node("Transpose", {"w"}, {"m"}), node("Add", {"x", "m"}, {"y"})},
                       {float_tensor("w", {kSide, kSide}, w)},
                       {value_info("x", kOnnxFloat, {std::int64_t{kSide}, std::int64_t{kSide}})},
                       {value_info("y")}});
  const Model model =
      *Model::load(ModelBytes{std::as_bytes(std::span(bytes)), nullptr, {}}, {}, runtime_);
  Session session = this->session(model);
  const std::vector<float> x(w.size(), 1);
  const NamedInput input{"x", {DType::kF32, {kSide, kSide}, std::as_bytes(std::span(x))}};
  const auto got = session.run({&input, 1});
  ASSERT_TRUE(got) << got.error().to_string();
  EXPECT_EQ(faults_.runs, 1);
  for (std::size_t i = 0; i < w.size(); ++i)
    ASSERT_EQ((*got)[0].view().as<float>()[i], 1 + w[i % kSide * kSide + i / kSide]) << i;
}

TEST_F(SessionDelegateTest, PlansSayWhatItGets) {
  Session session = this->session(model_);
  const DimValue n{"n", 4};
  const auto plan = Planner(session).plan({&n, 1});
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->delegate, "test");
  EXPECT_EQ(plan->regions, 2);
  EXPECT_EQ(plan->cpu_nodes.size(), 2U);
}

/// Mainly for ThreadSanitizer.
TEST_F(SessionDelegateTest, RunsAtOnceWithRandomFaults) {
  faults_.own_memory = true;
  const Runtime runtime = *Runtime::create({.threads = 2});
  impl_of(runtime).delegates.add(&table_);
  Session session = *Session::create(model_, options_, runtime);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      std::minstd_rand random(static_cast<unsigned>(caller) + 1);
      for (int i = 0; i < 60; ++i) {
        switch (random() % 8) {
          case 0:
            faults_.fail_run = 1;
            break;
          case 1:
            faults_.fail_copy = 1;
            break;
          case 2:
            faults_.refuse_run = 1;
            break;
          case 3:
            faults_.refuse_memory = 1;
            break;
          case 4:
            faults_.refuse_bind = 1;
            break;
          case 5:
            faults_.twice = random() % 2 == 0;
            break;
          default:
            session.retry_delegates();
        }
        expect_right(session, 1 + static_cast<std::int64_t>(random() % 4));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace parallax
