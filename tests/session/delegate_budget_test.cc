// Budgets that the CPU alone keeps, with delegates whose bindings hold memory of the same budget.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "delegate_host/test_delegate_util.h"
#include "parallax/session.h"
#include "session/reflected_test_util.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxBudgetRows = 40;

struct BudgetWay {
  const char* name;
  const char* delegate;
  int callers;
  std::int64_t binding_bytes;  ///< of the test delegate
  int times = 1;               ///< what the CPU alone needs: the budget
  bool own = false;            ///< it allocates
  std::int32_t in_host_memory = 0;
  std::int64_t staging_bytes = 0;  ///< of each piece
};
constexpr BudgetWay kBudgetWays[] = {{"Cores", "cores", 1, 0},
                                     {"CoresForThree", "cores", 3, 0},
                                     {"SmallBindings", "test", 1, 4'000},
                                     {"SmallBindingsForThree", "test", 3, 4'000},
                                     {"LargeBindings", "test", 1, 8'000},
                                     {"LargeBindingsForThree", "test", 3, 8'000},
                                     {"TooLargeBindings", "test", 1, 100'000},
                                     {"Pieces", "test", 1, 0, 5, true, 1},
                                     {"Staging", "test", 1, 0, 5, true, 0, 2'000},
                                     {"TooMuchStaging", "test", 1, 0, 5, true, 0, 100'000}};
void PrintTo(const BudgetWay& way, std::ostream* out) { *out << way.name; }

class DelegateBudget : public testing::TestWithParam<BudgetWay> {
 protected:
  DelegateBudget() {
    faults_.binding_bytes = GetParam().binding_bytes;
    faults_.own_memory = GetParam().own;
    faults_.in_host_memory = GetParam().in_host_memory;
    faults_.staging_bytes = GetParam().staging_bytes;
    runtime_ = *Runtime::create({.threads = 2, .log = [](LogLevel, std::string_view) {}});
    impl_of(*runtime_).delegates.add(&table_);
    options_.threads = 1;
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 600'000;  // the machine may be busy
    Session cpu = *Session::create(model_, options_, *runtime_);
    // Of a chain of operators, more rows may need less: there are more parts then.
    for (std::int64_t rows = 1; rows <= kMaxBudgetRows; ++rows) run_size(cpu, rows);
    options_.budget = MemoryBudget::of_bytes(GetParam().times * cpu.peak_arena_bytes());
    options_.delegates = {GetParam().delegate};
  }

  void run_size(Session& session, std::int64_t rows) {
    const Status status = run_reflected(session, rows);
    ASSERT_TRUE(status) << rows << " rows: " << status.error().to_string();
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  const Model model_ = model_of(kReflectedText);
  std::optional<Runtime> runtime_;
  SessionOptions options_;
};

TEST_P(DelegateBudget, SufficesForEachSize) {
  Session session = *Session::create(model_, options_, *runtime_);
  std::vector<std::thread> threads;
  for (int caller = 0; caller < GetParam().callers; ++caller)
    threads.emplace_back([&, caller] {
      for (std::int64_t rows = 1; rows <= kMaxBudgetRows; ++rows)  // rising, or falling
        for (int run = 0; run < 3; ++run)
          run_size(session, caller % 2 == 0 ? rows : kMaxBudgetRows + 1 - rows);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(session.peak_arena_bytes(), options_.budget.bytes);
  EXPECT_TRUE(session.delegates()[0].problem.empty()) << session.delegates()[0].problem;
}

TEST_P(DelegateBudget, SufficesWhileDelegatesAreRetried) {
  Session session = *Session::create(model_, options_, *runtime_);
  std::atomic<bool> done = false;
  std::thread retrying([&] {
    while (!done) {
      session.retry_delegates();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (int run = 0; run < 3; ++run)
    for (std::int64_t rows = 1; rows <= kMaxBudgetRows; ++rows) run_size(session, rows);
  done = true;
  retrying.join();
  EXPECT_LE(session.peak_arena_bytes(), options_.budget.bytes);
}

TEST_P(DelegateBudget, LeavesTheDelegateWhatFits) {
  Session session = *Session::create(model_, options_, *runtime_);
  for (std::int64_t rows = 1; rows <= kMaxBudgetRows; ++rows) run_size(session, rows);
  run_size(session, 1);
  RunTrace trace;
  const std::vector<float> x(kReflectedColumns);
  const NamedInput input{"x", {DType::kF32, {1, kReflectedColumns}, std::as_bytes(std::span(x))}};
  ASSERT_TRUE(session.run({&input, 1}, {.trace = &trace}));
  const bool fits = GetParam().binding_bytes + GetParam().staging_bytes < 50'000;
  EXPECT_EQ(!trace.regions.empty(), fits) << "what larger sizes hold is given up";
}

/// Only running tells most sizes: it is then that what the binding of the first region leaves of
/// the budget is too little.
constexpr const char* kGrowingText = R"(
    symbols n
    input x f32 [n, 64]
    const axis i64 [] = [0]
    planned = Neg(x) @planned
    found = NonZero(planned)
    rows = Gather(found, axis)
    a = Gather(planned, rows)
    b = Min(a, a) @b
    c = Relu(b) @c
    d = Add(a, c) @d
    e = Add(d, c) @e
    f = Add(b, c) @f
    g = Min(f, e) @g
    h = Add(g, b) @h
    y = Add(h, c) @y
    output y, b)";

TEST(DelegateBudgetAtRunTime, WhatSufficesForTheCpuSuffices) {
  WithFaults faults;
  faults.binding_bytes = 4'000;
  const px_delegate table = test_delegate();
  const Runtime runtime =
      *Runtime::create({.threads = 2, .log = [](LogLevel, std::string_view) {}});
  impl_of(runtime).delegates.add(&table);
  const Model model = model_of(kGrowingText);
  SessionOptions options;
  options.threads = 1;
  options.offload = Offload::kAll;
  options.rates = Rates::kDeclared;
  options.delegate_time_limit_ms = 600'000;
  const auto run = [&]() -> Status {
    Session session = *Session::create(model, options, runtime);
    for (const std::int64_t rows : {24, 3, 24, 23, 22, 21, 24, 5, 24}) {
      const std::vector<float> x(static_cast<std::size_t>(rows * kReflectedColumns), 1);
      const NamedInput input{"x",
                             {DType::kF32, {rows, kReflectedColumns}, std::as_bytes(std::span(x))}};
      const auto got = session.run({&input, 1});
      if (!got) return tl::unexpected(got.error());
    }
    EXPECT_LE(session.peak_arena_bytes(), options.budget.bytes);
    return {};
  };
  for (std::int64_t bytes = 1'300'000;; bytes -= 4'000) {
    options.budget = MemoryBudget::of_bytes(bytes);
    options.delegates.clear();
    if (!run()) break;
    options.delegates = {"test"};
    const Status status = run();
    EXPECT_TRUE(status) << bytes << ": " << status.error().to_string();
  }
  EXPECT_GT(faults.runs, 0);
  EXPECT_LT(options.budget.bytes, 1'250'000) << "the first budgets suffice";
}

INSTANTIATE_TEST_SUITE_P(Delegates, DelegateBudget, testing::ValuesIn(kBudgetWays),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace parallax
