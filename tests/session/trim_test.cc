// What sessions hold while callers run other sizes, and what is left after Session::trim() and
// Runtime::trim().
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "delegate_host/test_delegate_util.h"
#include "parallax/planner.h"
#include "parallax/session.h"
#include "session/runtime_impl.h"
#include "session/session_impl.h"
#include "session/session_test_util.h"

namespace parallax {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr int kLengths = 24, kPasses = 5;

struct SizesModel {
  const char* name;
  const char* text;
};

/// Nodes by themselves, so that values between them have memory; sizes are known, or only running
/// tells them.
constexpr SizesModel kKnownSizes{"KnownSizes", R"(
    symbols n
    input x f32 [n, 64]
    a = Transpose(x) {perm = [1, 0]}
    b = Softmax(a) {axis = 0}
    y = Transpose(b) {perm = [1, 0]}
    output y)"};
constexpr SizesModel kDataDependent{"DataDependent", R"(
    symbols n
    input x f32 [n, 64]
    a = NonZero(x)
    b = Transpose(a) {perm = [1, 0]}
    output b)"};

std::vector<float> ones(std::int64_t length) {
  return std::vector<float>(static_cast<std::size_t>(length * kWidth), 1.0F);
}

Status run_length(Session& session, std::int64_t length) {
  const std::vector<float> x = ones(length);
  const NamedInput input{"x", {DType::kF32, {length, kWidth}, std::as_bytes(std::span(x))}};
  const auto outputs = session.run({&input, 1});
  if (!outputs) return tl::unexpected(outputs.error());
  return {};
}

std::int64_t held_by(const Session& session) {
  return impl_of(session).account->memory.held_bytes();
}

std::vector<std::int64_t> lengths_in(const std::string& order) {
  std::vector<std::int64_t> all, pass(kLengths);
  std::iota(pass.begin(), pass.end(), 1);
  if (order == "falling") std::ranges::reverse(pass);
  std::mt19937 random(3);
  for (int i = 0; i < kPasses; ++i) {
    if (order == "random") std::ranges::shuffle(pass, random);
    for (const std::int64_t length : pass) all.push_back(40 * length);
  }
  return all;
}

class SessionSizes : public testing::TestWithParam<SizesModel> {};

TEST_P(SessionSizes, CallersHoldWhatTheirLongestRunsNeed) {
  const Model model = model_of(GetParam().text, {"fuse_chain"});
  const SessionOptions options{.threads = 1};
  auto alone = *Session::create(model, options);
  ASSERT_TRUE(run_length(alone, 40 * kLengths));
  const std::int64_t longest = alone.peak_arena_bytes();
  ASSERT_GT(longest, 100'000);
  for (const char* const order : {"rising", "falling", "random"}) {
    for (const std::int64_t callers : {1, 2, 4}) {
      auto session = *Session::create(model, options);
      const std::vector<std::int64_t> lengths = lengths_in(order);
      std::barrier together(callers);
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (std::int64_t caller = 0; caller < callers; ++caller) {
        threads.emplace_back([&, caller] {
          for (std::size_t i = 0; i + 4 <= lengths.size(); i += static_cast<std::size_t>(callers)) {
            together.arrive_and_wait();
            if (!run_length(session, lengths[i + static_cast<std::size_t>(caller)])) ++wrong;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(wrong, 0);
      EXPECT_LE(session.peak_arena_bytes(), callers * longest * 11 / 10) << order << callers;
      session.trim();
      EXPECT_EQ(held_by(session), 0);
      EXPECT_TRUE(run_length(session, 40));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SessionSizes, testing::Values(kKnownSizes, kDataDependent),
                         [](const auto& each) { return each.param.name; });

TEST(Trim, KeepsTheLatestPlanOnly) {
  auto session = *Session::create(model_of(kKnownSizes.text), {.threads = 1});
  for (const std::int64_t length : {40, 80, 120}) ASSERT_TRUE(run_length(session, length));
  const std::int64_t plans = Planner(session).cache_bytes();
  EXPECT_GT(held_by(session), 0);
  session.trim();
  EXPECT_EQ(held_by(session), 0);
  EXPECT_LT(Planner(session).cache_bytes(), plans / 2);
  EXPECT_GT(Planner(session).cache_bytes(), 0);
  EXPECT_TRUE(run_length(session, 80));
}

TEST(Trim, OfARuntimeReachesItsSessions) {
  const Runtime runtime = *Runtime::create({.threads = 1});
  const Runtime stranger = *Runtime::create({.threads = 1});
  const Model model = model_of(kKnownSizes.text);
  const auto session_on = [&](const Runtime& on) {
    auto session = *Session::create(model, {.threads = 1}, on);
    EXPECT_TRUE(run_length(session, 40));
    return session;
  };
  const Session one = session_on(runtime), two = session_on(runtime), other = session_on(stranger);
  Runtime(runtime).trim();
  EXPECT_EQ(held_by(one), 0);
  EXPECT_EQ(held_by(two), 0);
  EXPECT_GT(held_by(other), 0);
}

TEST(Trim, FreesPiecesOfADevicesMemory) {
  WithFaults faults;
  faults.own_memory = true;
  const px_delegate table = test_delegate();
  const Runtime runtime = *Runtime::create({.threads = 1});
  impl_of(runtime).delegates.add(&table);
  SessionOptions options;
  options.threads = 1;
  options.delegates = {"test"};
  options.offload = Offload::kAll;
  options.rates = Rates::kDeclared;
  options.delegate_time_limit_ms = 0;
  auto session = *Session::create(model_of(R"(
    symbols n
    input x f32 [n, 64]
    a = Neg(x) @a
    b = Exp(a) @b
    output b)"),
                                  options, runtime);
  for (const std::int64_t length : {10, 20, 40}) ASSERT_TRUE(run_length(session, length));
  ASSERT_GT(faults.pieces, 0);
  session.trim();
  // Threads that nothing waits for free what later runs outgrew.
  for (int i = 0; i < 5000 && faults.pieces > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(faults.pieces, 0);
  EXPECT_TRUE(run_length(session, 40));
}

TEST(Trim, WorksWhileSessionsRun) {
  const Runtime runtime = *Runtime::create({.threads = 2});
  auto session = *Session::create(model_of(kKnownSizes.text), {.threads = 1}, runtime);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t caller = 0; caller < 4; ++caller) {
    threads.emplace_back([&, caller] {
      for (std::int64_t run = 0; run < 50; ++run) {
        if (!run_length(session, 40 * (1 + (run * 7 + caller) % 10))) ++wrong;
        if (run % 10 == 0) session.trim();
        if (run % 10 == 5) Runtime(runtime).trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(impl_of(session).account->memory.busy_bytes(), 0);
}

}  // namespace
}  // namespace parallax
