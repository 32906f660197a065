// Callers that run ever new sizes on delegates under a budget that keeps few plans, so that plans
// are compiled, bound, run and destroyed concurrently. In builds with assertions, a lock out of
// order or foreign code under a lock (base/lock_order.h) ends the test, whether threads collide or
// not.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <ostream>
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

constexpr int kCallers = 3;

/// kReflectedText of the rows that have an element above 0.
constexpr const char* kRunTimeSizes = R"(
    symbols n
    input x f32 [n, 64]
    const axis i64 [1] = [1]
    const first i64 [] = [0]
    most = ReduceMax(x, axis) {keepdims = 0}
    found = NonZero(most) @found
    rows = Gather(found, first)
    picked = Gather(x, rows) @picked
    a = Neg(picked) @a
    b = Sub(a, picked) @b
    c = Abs(b) @c
    y = Add(c, a) @y
    output y)";

struct LockWay {
  const char* name;
  const char* delegate;
  bool own_memory = false;  ///< of the test delegate
  int sizes = 20;           ///< of each caller
};
constexpr LockWay kLockWays[] = {
    {"Cores", "cores"},
    {"OpenCl", "opencl", false, 3},  // the driver compiles for each size
    {"TestInHostMemory", "test"},
    {"TestInOwnMemory", "test", true}};
void PrintTo(const LockWay& way, std::ostream* out) { *out << way.name; }

class DelegateLocks : public testing::TestWithParam<LockWay> {
 protected:
  DelegateLocks() {
    faults_.own_memory = GetParam().own_memory;
    faults_.binding_bytes = 2000;
    faults_.shared_bytes = 4000;
    faults_.region_bytes = 100;
    faults_.microseconds = 20;
    faults_.profile.replace(faults_.profile.find("dtypes"), 6, "dynamic_shapes = true\ndtypes");
    runtime_ = *Runtime::create({.threads = 2, .log = [](LogLevel, std::string_view) {}});
    impl_of(*runtime_).delegates.add(&table_);
    options_.threads = 2;
    options_.delegates = {GetParam().delegate};
    options_.offload = Offload::kAll;
    options_.rates = Rates::kDeclared;
    options_.delegate_time_limit_ms = 600'000;  // the machine may be busy
    options_.budget = MemoryBudget::of_bytes(250'000);
  }

  bool opens() { return impl_of(*runtime_).delegates.open(GetParam().delegate).has_value(); }

  void run_callers(const char* text) {
    Session session = *Session::create(model_of(text), options_, *runtime_);
    std::vector<std::thread> threads;
    for (int caller = 0; caller < kCallers; ++caller)
      threads.emplace_back([&, caller] {
        for (int i = 0; i < GetParam().sizes; ++i) {
          run_size(session, 1 + i * kCallers + caller);
          if (i % 7 == 2 * caller + 1) session.trim();
          if (i % 7 != 2 * caller) continue;
          session.retry_delegates();
          run_size(session, 1 + i * kCallers + caller);  // what was bound before is replaced
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(right_.exchange(0), 0);
    EXPECT_LT(impl_of(session).plans.bindings(), kCallers * GetParam().sizes)
        << "plans were evicted";
  }

  void run_size(Session& session, std::int64_t rows) {
    const Status status = run_reflected(session, rows);
    if (!status && has_run_time_sizes_) {  // other callers may leave too little
      EXPECT_EQ(status.error().code, ErrorCode::kBudgetExceeded) << status.error().to_string();
      return;
    }
    ASSERT_TRUE(status) << status.error().to_string();
    ++right_;
  }

  WithFaults faults_;
  const px_delegate table_ = test_delegate();
  std::optional<Runtime> runtime_;
  SessionOptions options_;
  bool has_run_time_sizes_ = false;
  std::atomic<int> right_{0};
};

TEST_P(DelegateLocks, CallersRunNewSizesUnderASmallBudget) {
  if (!opens()) GTEST_SKIP() << "there is no such device";
  run_callers(kReflectedText);
  has_run_time_sizes_ = true;
  run_callers(kRunTimeSizes);
}

INSTANTIATE_TEST_SUITE_P(Delegates, DelegateLocks, testing::ValuesIn(kLockWays),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace parallax
