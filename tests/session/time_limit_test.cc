// The time limit of a run, from the call to the last node: who plans, who waits and what runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/run_admission.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

testing::AssertionResult is_late(const Status& status) {
  if (status) return testing::AssertionFailure() << "in time";
  if (status.error().code == ErrorCode::kLimitExceeded &&
      status.error().message == "the time limit of the run is over")
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.error().to_string();
}
template <class T>
testing::AssertionResult is_late(const Result<T>& result) {
  return is_late(result ? Status() : tl::unexpected(result.error()));
}

TEST(TimeLimit, AWaitForAnotherThreadThatPacksEndsWithTheTime) {
  const Model model = model_of(R"(
    symbols n
    input x f32 [n, 64]
    const w f32 [64, 64] = fill 1
    y = MatMul(x, w)
    output y)");
  std::promise<void> packing, go_on;
  std::once_flag first;
  const ParallelFor pack = [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    std::call_once(first, [&] {
      packing.set_value();
      go_on.get_future().wait();
    });
    serial_for(count, body);
  };
  PlanCache plans(impl_of(model).forms, {.threads = 1}, pack);
  const auto account = *make_memory_account();
  RunAdmission admission(plans, *account, [] { return RunBudget{}; });
  const Binding binding{{5}};
  std::thread other([&] { EXPECT_TRUE(admission.admit(binding, {})); });
  packing.get_future().wait();
  for (const milliseconds time : {milliseconds(-1), milliseconds(0), milliseconds(20)}) {
    EXPECT_TRUE(is_late(admission.admit(binding, steady_clock::now() + time)));
    EXPECT_TRUE(
        is_late(admission.admit_smaller(binding, steady_clock::now() + time, Program{}, 1)));
  }
  EXPECT_EQ(account->memory.peak_bytes(), 0);
  go_on.set_value();
  other.join();
  EXPECT_TRUE(admission.admit(binding, {}));
  EXPECT_TRUE(plans.get(binding, {}, false, steady_clock::now()));  // no run to wait for
}

class TimeLimitOfSession : public testing::Test {
 protected:
  /// A loop that ends by the limit of its trips, after seconds.
  const Model model_ = model_of(R"(
    input x f32 [4]
    const go bool [] = [1]
    y = Loop(_, go, x)
    body
      input i i64 []
      input go bool []
      input v f32 [4]
      u = Neg(v)
      output go, u
    end
    output y)");
  const Tensor x_ = *Tensor::allocate(DType::kF32, {4});
  const NamedInput input_{"x", x_.view()};
};

TEST_F(TimeLimitOfSession, IsOverBeforeAnyMemoryIsTaken) {
  auto session = Session::create(model_, {.time_limit_ms = 1e-6});
  ASSERT_TRUE(session);
  EXPECT_TRUE(is_late(session->run({&input_, 1})));
  EXPECT_EQ(session->peak_arena_bytes(), 0);
  EXPECT_GT(Planner(*session).times().plan_ms, 0);  // planning came before
}

TEST_F(TimeLimitOfSession, EndsARunBetweenNodes) {
  auto session = Session::create(model_, {.time_limit_ms = 200});
  ASSERT_TRUE(session);
  ASSERT_TRUE(Planner(*session).plan({}));
  EXPECT_TRUE(is_late(session->run({&input_, 1})));
}

TEST_F(TimeLimitOfSession, EndsAWaitForOtherRuns) {
  RuntimeOptions options;
  const auto account = options.account = *make_memory_account();
  constexpr std::int64_t kBytes = 1 << 20;
  auto session = Session::create(
      model_, {.budget = MemoryBudget::of_bytes(kBytes), .max_loop_trips = 10, .time_limit_ms = 20},
      *Runtime::create(options));
  ASSERT_TRUE(session);
  ASSERT_TRUE(Planner(*session).plan({}));
  const auto held = account->memory.acquire({kBytes, {}, false});
  ASSERT_TRUE(held);
  EXPECT_TRUE(is_late(session->run({&input_, 1})));
  EXPECT_EQ(account->memory.peak_bytes(), kBytes);
}

}  // namespace
}  // namespace parallax
