// Regions inside If, Loop and Scan: reports on plans, and runs on delegates that work and that
// fail.
#include "planning/delegated_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "cache/test_folder.h"
#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A model with regions in both branches of an If, in a Loop, and in a branch of an If inside it.
/// `p` is a different node in each branch.
constexpr std::string_view kNested = R"(
    symbols n
    input x f32 [n, 64]
    input c bool []
    const m i64 [] = [3]
    a = If(c; x) @if
    body
      outer_symbols n
      input x f32 [n, 64]
      p = Neg(x) @p
      q = Tanh(p) @q
      r = Abs(q) @r
      output r
    end
    body
      outer_symbols n
      input x f32 [n, 64]
      p = Abs(x) @p
      q = Tanh(p) @q
      output q
    end
    b = Loop(m, _, x; a, c) @loop
    body
      outer_symbols n
      input i i64 []
      input go bool []
      input v f32 [n, 64]
      input a f32 [n, 64]
      input c bool []
      u = Add(v, a) @u
      w = Tanh(u) @w
      z = If(c; w, a) @inner
      body
        outer_symbols n
        input w f32 [n, 64]
        input a f32 [n, 64]
        k = Neg(w) @k
        l = Add(k, a) @l
        output l
      end
      body
        outer_symbols n
        input w f32 [n, 64]
        input a f32 [n, 64]
        k = Tanh(w) @k
        l = Mul(k, a) @l
        output l
      end
      output go, z
    end
    output a, b)";

class DelegatedBodies : public FolderTest {
 protected:
  DelegatedBodies() {
    options_.delegates = {"test"};
    options_.threads = 2;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 60'000;  // the machine may be busy
  }
  Runtime runtime() {
    const Runtime runtime = *Runtime::create({.threads = 2});
    impl_of(runtime).delegates.add(&table_);
    return runtime;
  }
  Session session(const Runtime& runtime) { return *Session::create(model_, options_, runtime); }
  static Result<std::vector<Tensor>> run(Session& session, bool taken, std::int64_t rows = 4,
                                         RunTrace* trace = nullptr) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 8 - 0.5F;
    const std::byte condition{taken ? std::byte{1} : std::byte{0}};
    const NamedInput inputs[] = {
        {"x", {DType::kF32, {rows, 64}, std::as_bytes(std::span(x))}},
        {"c", {DType::kBool, {}, std::span(&condition, 1)}},
    };
    return session.run(inputs, {.trace = trace});
  }
  void expect_right(Session& session, bool taken, std::int64_t rows = 4,
                    RunTrace* trace = nullptr) {
    Session alone = *Session::create(model_, {.threads = 1});
    const auto got = run(session, taken, rows, trace), expected = run(alone, taken, rows);
    ASSERT_TRUE(expected) << expected.error().to_string();
    ASSERT_TRUE(got) << got.error().to_string();
    EXPECT_TRUE(same_bits(*got, *expected));
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  const Model model_ = model_of(kNested);
  SessionOptions options_;
};

TEST_F(DelegatedBodies, PlansNameThem) {
  const Runtime own = runtime();
  Session session = this->session(own);
  const DimValue n{"n", 4};
  const auto plan = Planner(session).plan({&n, 1});
  ASSERT_TRUE(plan) << plan.error().to_string();
  EXPECT_EQ(plan->regions, 5);
  ASSERT_EQ(plan->region_reports.size(), 5U);
  std::vector<std::string> lines;
  for (const RegionReport& region : plan->region_reports) {
    std::ostringstream line;
    line << region.id << " " << region.body << " x " << region.trips << ":";
    for (const std::string& name : region.node_names) line << " " << name;
    lines.push_back(line.str());
  }
  EXPECT_THAT(
      lines, ElementsAre("0 if/then_branch/ x 1: if/then_branch/p",
                         "1 if/then_branch/ x 1: if/then_branch/r",
                         "2 if/else_branch/ x 1: if/else_branch/p", "3 loop/body/ x 3: loop/body/u",
                         "4 loop/body/inner/then_branch/ x 3: loop/body/inner/then_branch/k "
                         "loop/body/inner/then_branch/l"));
  std::vector<std::string> names;
  for (const CpuNodeReport& node : plan->cpu_nodes) names.push_back(node.node);
  EXPECT_THAT(names, ElementsAre("if", "loop", "if/then_branch/q", "if/else_branch/q",
                                 "loop/body/w", "loop/body/inner", "loop/body/inner/else_branch/k",
                                 "loop/body/inner/else_branch/l"));
  EXPECT_EQ(plan->body_reports[0].regions, 2);
  EXPECT_GT(plan->predicted_ms, 0);
}

TEST_F(DelegatedBodies, TheMostRegionsAreOfTheWholeModel) {
  const Runtime own = runtime();
  Session session = this->session(own);
  const DimValue n{"n", 4};
  for (const int most : {0, 1, 3, 9}) {
    PlanOptions wanted;
    wanted.max_regions = most;
    const auto plan = Planner(session).plan({&n, 1}, wanted);
    ASSERT_TRUE(plan) << plan.error().to_string();
    EXPECT_EQ(plan->regions, std::min(most, 5));
  }
}

TEST_F(DelegatedBodies, EachTripRunsThem) {
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    const Runtime own = runtime();
    for (const Scheduler scheduler :
         {Scheduler::kSequential, Scheduler::kLayers, Scheduler::kDataflow}) {
      options_.scheduler = scheduler;
      Session session = this->session(own);
      for (const bool taken : {true, false}) {
        const int before = faults_.runs;
        RunTrace trace;
        expect_right(session, taken, 4, &trace);
        const int expected = taken ? 2 + 3 + 3 : 1 + 3;
        EXPECT_EQ(faults_.runs, before + expected);
        EXPECT_EQ(trace.regions.size(), static_cast<std::size_t>(expected));
        for (const RegionEvent& event : trace.regions) EXPECT_EQ(event.problem, "");
      }
      EXPECT_TRUE(session.delegates()[0].failures.empty());
    }
  }
}

TEST_F(DelegatedBodies, AreCompiledOnceAndBoundOnceForEachSize) {
  const Runtime own = runtime();
  Session session = this->session(own);
  for (const std::int64_t rows : {1, 7, 1, 7}) expect_right(session, rows == 1, rows);
  EXPECT_EQ(faults_.compiled, 5);
  EXPECT_EQ(faults_.bound, 10);
}

TEST_F(DelegatedBodies, WhatFailsIsTheCpusFromThatTripOn) {
  const Runtime own = runtime();
  Session session = this->session(own);
  faults_.good_runs = 2;  // the regions of the If
  faults_.fail_run = 1;
  RunTrace trace;
  expect_right(session, true, 4, &trace);
  EXPECT_EQ(faults_.runs, 2 + 1 + 3) << "of the Loop's own region the first trip";
  const auto failures = session.delegates()[0].failures;
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].node, "loop/body/u");
  EXPECT_EQ(std::ranges::count_if(trace.regions, [](const auto& e) { return !e.problem.empty(); }),
            3);
  trace = {};
  expect_right(session, true, 4, &trace);
  EXPECT_EQ(faults_.runs, 6 + 2 + 3);
  EXPECT_EQ(trace.regions.size(), 5U) << "the plan has the node on the CPU";
  session.retry_delegates();
  expect_right(session, true);
  EXPECT_EQ(faults_.runs, 11 + 2 + 6);
}

TEST_F(DelegatedBodies, WhatDoesNotCompileOrBindIsTheCpus) {
  for (std::atomic<int>* const refuse : {&faults_.refuse_compile, &faults_.refuse_bind}) {
    const Runtime own = runtime();
    Session session = this->session(own);
    *refuse = 5;
    const int before = faults_.runs;
    expect_right(session, true);
    EXPECT_EQ(faults_.runs, before);
    EXPECT_EQ(session.delegates()[0].failures.size(), 5U);
    session.retry_delegates();
    expect_right(session, true);
    EXPECT_EQ(faults_.runs, before + 8);
  }
}

TEST_F(DelegatedBodies, ASilentDelegateLosesItsPartInTheSameRun) {
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    options_.delegate_time_limit_ms = 50;
    const Runtime own = runtime();
    Session session = this->session(own);
    faults_.silent = true;
    expect_right(session, true);
    faults_.silent = false;
    ASSERT_EQ(session.delegates()[0].failures.size(), 5U) << "all that it had";
    const int runs = faults_.runs;
    expect_right(session, false);
    EXPECT_EQ(faults_.runs, runs);
    faults_.answer_held();
    expect_right(session, true);
  }
}

TEST_F(DelegatedBodies, KeepTheBudget) {
  const DimValue n{"n", 32};
  for (const bool own_memory : {false, true}) {
    faults_.own_memory = own_memory;
    const Runtime own = runtime();
    std::int64_t bytes = 0;
    {
      Session roomy = this->session(own);
      bytes = Planner(roomy).plan({&n, 1})->thread_bytes[0].min_bytes;
    }
    SessionOptions tight = options_;
    tight.threads = 1;
    tight.budget = MemoryBudget::of_bytes(3 * bytes);
    Session session = *Session::create(model_, tight, own);
    for (const bool taken : {true, false}) {
      const int before = faults_.runs;
      expect_right(session, taken, 32);
      EXPECT_GT(faults_.runs, before);
    }
    EXPECT_LE(session.peak_arena_bytes(), 3 * bytes);
    EXPECT_GT(session.peak_arena_bytes(), 0);
  }
}

TEST_F(DelegatedBodies, APinnedPlanKeepsThem) {
  options_.pinned_plan = folder_ / "pinned.toml";
  const Runtime own = runtime();
  {
    Session first = this->session(own);
    expect_right(first, true);
  }
  std::string text = read(options_.pinned_plan);
  EXPECT_THAT(text, HasSubstr(R"(["loop/body/inner/then_branch/k", "loop/body/inner/then_)"));
  const int before = faults_.runs;
  options_.offload = Offload::kProfitable;
  faults_.profile.replace(faults_.profile.find("launch_seconds = 1e-6"), 21,
                          "launch_seconds = 10.0");
  const Runtime other = runtime();
  Session second = this->session(other);
  expect_right(second, true);
  EXPECT_EQ(faults_.runs, before + 8) << "though it does not pay";
  text.replace(text.find("loop/body/u"), 11, "loop/body/?");
  write(options_.pinned_plan, text);
  Session third = this->session(other);
  const auto refused = run(third, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("there is no node 'loop/body/?'"));
}

TEST_F(DelegatedBodies, WhatDoesNotPayStaysOnTheCpu) {
  options_.offload = Offload::kProfitable;
  faults_.profile.replace(faults_.profile.find("launch_seconds = 1e-6"), 21,
                          "launch_seconds = 10.0");
  const Runtime own = runtime();
  Session session = this->session(own);
  expect_right(session, true);
  EXPECT_EQ(faults_.compiled, 0);
}

TEST_F(DelegatedBodies, RunsAtOnceWithRandomFaults) {
  faults_.own_memory = true;
  const Runtime own = runtime();
  Session session = this->session(own);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 20; ++i) {
        std::atomic<int>* const counts[] = {&faults_.fail_run, &faults_.fail_copy,
                                            &faults_.refuse_run, &faults_.refuse_memory};
        if (i % 3 == caller) *counts[i % 4] = 1;
        if (i % 5 == 0) session.retry_delegates();
        expect_right(session, (i + caller) % 2 == 0, 1 + i % 3);
      }
    });
  for (std::thread& caller : callers) caller.join();
}

constexpr std::string_view kLoopThenScan = R"(
      symbols n
      input x f32 [n, 32]
      input xs f32 [5, n, 32]
      input m i64 []
      const w f32 [32, 32] = fill 0.0625
      s = Softmax(x) {axis = -1}
      y = Loop(m, _, x; s) @loop
      body
        outer_symbols n
        input i i64 []
        input go bool []
        input v f32 [n, 32]
        input s f32 [n, 32]
        const w f32 [32, 32] = fill 0.0625
        a = MatMul(v, w)
        b = Relu(a)
        d = Add(b, s)
        e = Softmax(d) {axis = -1}
        output go, e
      end
      last, all = Scan(y, xs) {num_scan_inputs = 1, scan_output_axes = [1]} @scan
      body
        outer_symbols n
        input h f32 [n, 32]
        input v f32 [n, 32]
        const w f32 [32, 32] = fill 0.0625
        a = MatMul(h, w)
        b = Add(a, v)
        g = Tanh(b)
        output g, b
      end
      z = MatMul(last, w)
      output z, all)";

TEST(DelegatedBodiesOnCores, GiveTheBitsOfTheCpu) {
  const Model model = model_of(kLoopThenScan);
  constexpr std::int64_t kLoopRows = 3;
  std::vector<float> x(kLoopRows * 32), xs(5 * kLoopRows * 32);
  for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i % 9) / 4 - 1;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 4;
  Session alone = *Session::create(model, {.threads = 2});
  SessionOptions options;
  options.threads = 2;
  options.offload = Offload::kAll;
  options.delegate_time_limit_ms = 0;  // the machine may be busy
  for (const char* const delegate : {"cores", "cores:opencl-mobile"}) {
    options.delegates = {delegate};
    if (std::string_view(delegate).size() > 5)
      options.delegates = {std::string("cores:") + PX_SOURCE_DIR + "/profiles/opencl-mobile.toml"};
    Session delegated = *Session::create(model, options);
    for (const std::int64_t trips : {0, 1, 4}) {
      const NamedInput inputs[] = {
          {"x", {DType::kF32, {kLoopRows, 32}, std::as_bytes(std::span(x))}},
          {"xs", {DType::kF32, {5, kLoopRows, 32}, std::as_bytes(std::span(xs))}},
          {"m", {DType::kI64, {}, std::as_bytes(std::span(&trips, 1))}},
      };
      RunTrace trace;
      const auto expected = alone.run(inputs), got = delegated.run(inputs, {.trace = &trace});
      ASSERT_TRUE(expected) << expected.error().to_string();
      ASSERT_TRUE(got) << got.error().to_string();
      EXPECT_TRUE(same_bits(*got, *expected)) << delegate << " " << trips;
      const auto in_bodies =
          std::ranges::count_if(trace.regions, [](const auto& e) { return !e.body.empty(); });
      EXPECT_GE(in_bodies, 5 + trips);
      EXPECT_TRUE(delegated.delegates()[0].failures.empty());
    }
  }
}

}  // namespace
}  // namespace parallax
