// Runs that their callers cancel: before they begin, while they wait and while they compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <thread>

#include "parallax/session.h"
#include "session/branches_test_util.h"
#include "session/memory_account.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

testing::AssertionResult is_cancelled(const Result<std::vector<Tensor>>& result) {
  if (result) return testing::AssertionFailure() << "it went through";
  if (result.error().code == ErrorCode::kCancelled) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().to_string();
}

/// Branches whose nodes have several tiles, and a loop that ends when `go` is false or after `most`
/// trips.
constexpr std::string_view kBranchesAndLoop = R"(
    symbols n
    input x f32 [n, 64]
    input most i64 []
    const go bool [] = [1]
    s = Relu(x)
    a1 = Exp(s)
    a2 = Neg(a1)
    b1 = Tanh(s)
    b2 = Abs(b1)
    c = Add(a2, b2)
    y = Loop(most, go, c)
    body
      outer_symbols n
      input i i64 []
      input go bool []
      input v f32 [n, 64]
      u = Neg(v)
      output go, u
    end
    output y)";

class Cancel : public testing::TestWithParam<Scheduler> {
 protected:
  Cancel() {
    for (std::int64_t i = 0; i < 300 * 64; ++i)
      x_.mutable_view().as<float>()[i] = static_cast<float>(i % 17) - 8;
  }
  Session session(MemoryBudget budget = {}, std::shared_ptr<MemoryAccount> account = {}) const {
    RuntimeOptions runtime{.threads = 2};
    runtime.account = std::move(account);
    return *Session::create(model_,
                            {.scheduler = GetParam(),
                             .threads = 2,
                             .budget = budget,
                             .max_loop_trips = std::numeric_limits<std::int64_t>::max()},
                            *Runtime::create(runtime));
  }
  Result<std::vector<Tensor>> run(Session& session, std::int64_t trips, std::stop_token stop = {}) {
    Tensor most = *Tensor::allocate(DType::kI64, {});
    *most.mutable_view().as<std::int64_t>() = trips;
    const std::vector<NamedInput> inputs = {{"x", x_.view()}, {"most", most.view()}};
    return session.run(inputs, {.stop = std::move(stop)});
  }
  static std::vector<float> values(const Result<std::vector<Tensor>>& outputs) {
    if (!outputs) return {};
    const TensorView view = outputs->front().view();
    return {view.as<float>(), view.as<float>() + view.dims.elements()};
  }

  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
  const Model model_ = model_of(kBranchesAndLoop);
  Tensor x_ = *Tensor::allocate(DType::kF32, {300, 64});
};

TEST_P(Cancel, BeforeItBegins) {
  Session session = this->session();
  std::stop_source caller;
  const auto expected = values(run(session, 3, caller.get_token()));
  ASSERT_FALSE(expected.empty());
  caller.request_stop();
  EXPECT_TRUE(is_cancelled(run(session, 3, caller.get_token())));
  EXPECT_EQ(values(run(session, 3)), expected);
}

TEST_P(Cancel, ARunThatWouldNeverEnd) {
  Session session = this->session();
  std::stop_source caller;
  std::thread asks([&] { caller.request_stop(); });
  EXPECT_TRUE(is_cancelled(run(session, kForEver, caller.get_token())));
  asks.join();
}

TEST_P(Cancel, AtAnyMomentLeavesTheSessionAsItWas) {
  Session session = this->session();
  const auto expected = values(run(session, 20));
  for (int moment = 0; moment < 60; ++moment) {
    std::stop_source caller;
    std::atomic<bool> begins{false};
    std::thread asks([&] {
      while (!begins) std::this_thread::yield();
      for (int i = 0; i < moment; ++i) std::this_thread::yield();
      caller.request_stop();
    });
    begins = true;
    const auto outputs = run(session, 20, caller.get_token());
    asks.join();
    if (outputs) {
      EXPECT_EQ(values(outputs), expected);
    } else {
      EXPECT_TRUE(is_cancelled(outputs));
    }
  }
  EXPECT_EQ(values(run(session, 20)), expected);
}

TEST_P(Cancel, AWaitForMemory) {
  const auto account = *make_memory_account();
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  Session session = this->session(MemoryBudget::of_bytes(kBytes), account);
  std::optional<RunMemory::Lease> held;
  held.emplace(*account->memory.acquire({kBytes, {}, false}));
  std::stop_source caller;
  std::thread waits([&] { EXPECT_TRUE(is_cancelled(run(session, 3, caller.get_token()))); });
  while (account->memory.waiting() == 0) std::this_thread::yield();
  caller.request_stop();
  waits.join();
  EXPECT_EQ(account->memory.waiting(), 0U);
  held.reset();
  EXPECT_TRUE(run(session, 3));
}

TEST_P(Cancel, AWaitForItsTurn) {
  const Runtime runtime = *Runtime::create({.threads = 2});
  Session session =
      *Session::create(model_, {.scheduler = GetParam(), .max_loop_trips = kForEver}, runtime);
  // As many runs as have places.
  std::stop_source all, one;
  std::vector<std::thread> runs;
  const auto& pool = impl_of(runtime).workers.pool();
  for (int i = 0; i < 9; ++i)
    runs.emplace_back([&] { EXPECT_TRUE(is_cancelled(run(session, kForEver, all.get_token()))); });
  while (pool.waiting() != 1) std::this_thread::yield();
  runs.emplace_back([&] { EXPECT_TRUE(is_cancelled(run(session, 3, one.get_token()))); });
  while (pool.waiting() != 2) std::this_thread::yield();
  one.request_stop();
  while (pool.waiting() != 1) std::this_thread::yield();
  all.request_stop();
  for (std::thread& each : runs) each.join();
  EXPECT_TRUE(run(session, 3));
}

INSTANTIATE_TEST_SUITE_P(Schedulers, Cancel,
                         testing::Values(Scheduler::kSequential, Scheduler::kLayers,
                                         Scheduler::kDataflow),
                         scheduler_name);

}  // namespace
}  // namespace parallax
