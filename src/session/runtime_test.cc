#include "parallax/runtime.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "base/machine/cpu.h"
#include "parallax/session.h"
#include "session/branches_test_util.h"
#include "session/memory_account.h"
#include "session/runtime_impl.h"
#include "session/session_test_util.h"
#include "session/threads_test_util.h"

namespace parallax {
namespace {

/// Returns the number of threads of the pool, a caller included.
int started(const Runtime& runtime) { return impl_of(runtime).workers.pool().threads(); }

TEST(Runtime, SessionsShareOnePool) {
  const Model model = model_of(kTwoBranches);
  const BranchesInput input(500);
  const std::ptrdiff_t before = threads_now();
  const Runtime runtime = *Runtime::create({.threads = 4});
  EXPECT_EQ(started(runtime), 1) << "no session needs a thread yet";
  std::vector<Session> sessions;
  sessions.push_back(*Session::create(model, {.threads = 2}, runtime));
  EXPECT_EQ(started(runtime), 2);
  for (const int threads : {4, 4, 1, 0, 100})
    sessions.push_back(*Session::create(model, {.threads = threads}, runtime));
  EXPECT_EQ(started(runtime), 4);
  const int expected[] = {2, 4, 4, 1, 4, 4};
  const auto bits = bits_of(input.run(sessions[3]));
  ASSERT_FALSE(bits.empty());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    EXPECT_EQ(sessions[i].threads(), expected[i]);
    EXPECT_EQ(bits_of(input.run(sessions[i])), bits);
  }
  EXPECT_EQ(started(runtime), 4);
  EXPECT_LE(threads_now(), before + 3);
}

TEST(Runtime, SessionsThatAreGivenNoneShareThatOfTheProcess) {
  const Model model = model_of(kTwoBranches);
  const std::ptrdiff_t before = threads_now();
  const int cpus = usable_cpus();
  {
    const Session a = *Session::create(model), b = *Session::create(model);
    const Session c = *Session::create(model, {}, *Runtime::shared());
    EXPECT_EQ(a.threads(), cpus);
    EXPECT_EQ(started(*Runtime::shared()), cpus);
    EXPECT_LE(threads_now(), before + cpus - 1);
    const Session more = *Session::create(model, {.threads = cpus + 2});
    EXPECT_EQ(more.threads(), cpus + 2) << "it has threads of its own";
    EXPECT_EQ(started(*Runtime::shared()), cpus);
  }
  EXPECT_EQ(started(*Runtime::shared()), 1) << "nothing held the one before any more";
  EXPECT_EQ(Runtime::shared()->threads(), cpus);
}

TEST(Runtime, LivesAsLongAsASession) {
  const Model model = model_of(kTwoBranches);
  std::optional<Session> session;
  {
    const Runtime runtime = *Runtime::create({.threads = 3});
    session.emplace(*Session::create(model, {}, runtime));
  }
  EXPECT_EQ(session->threads(), 3);
  EXPECT_TRUE(BranchesInput(50).run(*session));
}

TEST(Runtime, RefusesThreadsThatMakeNoSense) {
  for (const int threads : {-1, 2000}) {
    const auto runtime = Runtime::create({.threads = threads});
    ASSERT_FALSE(runtime);
    EXPECT_EQ(runtime.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(Runtime, ServesMoreCallersThanItHasPlaces) {
  const Model model = model_of(kTwoBranches);
  const Runtime runtime = *Runtime::create({.threads = 3});
  std::vector<Session> sessions;
  for (const int threads : {3, 2})
    sessions.push_back(*Session::create(model, {.threads = threads}, runtime));
  const BranchesInput input(300);
  const auto bits = bits_of(input.run(sessions[0]));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 20; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 10; ++i)
        if (bits_of(input.run(sessions[caller % 2])) != bits) ++wrong;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Runtime, ItsAccountIsThatOfItsSessions) {
  const Model model = model_of(kTwoBranches);
  RuntimeOptions options{.threads = 1};
  options.account = *make_memory_account();
  const Runtime runtime = *Runtime::create(options);
  const SessionOptions bytes{.budget = MemoryBudget::of_bytes(std::int64_t{1} << 30)};
  const SessionOptions automatic{.budget = MemoryBudget::automatic()};
  for (const SessionOptions& row : {SessionOptions{}, bytes, automatic}) {
    for (const bool shares : {true, false}) {
      const std::int64_t before = options.account->memory.peak_bytes();
      Session session = shares ? *Session::create(model, row, runtime)
                               : *Session::create(model, row, *Runtime::create({.threads = 1}));
      // More threads than any run before.
      ASSERT_TRUE(BranchesInput(100 + before / 64).run(session));
      EXPECT_EQ(options.account->memory.peak_bytes() > before, shares);
    }
  }
}

TEST(Runtime, AChildHasOnePoolToo) {
  if (!child_has_threads()) GTEST_SKIP() << kNoThreadsInChildren;
  const Model model = model_of(kTwoBranches);
  const Runtime runtime = *Runtime::create({.threads = 3});
  Session a = *Session::create(model, {}, runtime), b = *Session::create(model, {}, runtime);
  const BranchesInput input(300);
  const auto bits = bits_of(input.run(a));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    if (bits_of(input.run(a)) != bits || bits_of(input.run(b)) != bits) ::_exit(1);
    if (threads_now() != 3) ::_exit(2);
    const auto c = Session::create(model, {.threads = 2}, runtime);
    ::_exit(c && c->threads() == 2 && threads_now() == 3 ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace parallax
