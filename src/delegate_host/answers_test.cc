// Tests answers of delegates: a call that throws leaves nothing behind, and fork() waits for
// threads that deliver answers.
#include "delegate_host/answers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/machine/fork.h"

namespace parallax {
namespace {

TEST(Answers, WhatADelegateThrowsIsItsAnswer) {
  const auto kept = std::make_shared<int>();
  std::optional<Status> got;
  {
    void* const context = ask_delegate(
        [kept, &got](Status status) { got = std::move(status); },
        [](void*, px_status*) -> px_code { throw std::runtime_error("thrown by run"); });
    EXPECT_EQ(context, nullptr);
  }
  ASSERT_TRUE(got);
  ASSERT_FALSE(*got);
  EXPECT_EQ(got->error().message, "thrown by run");
  EXPECT_EQ(kept.use_count(), 1) << "nothing waits for an answer any more";
}

TEST(Answers, AForkWaitsForThem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer in a child that other threads did not come along to";
#else
  std::atomic<bool> taken = false;
  void* const context = expect_answer([&](const Status&) {
    taken = true;
    taken.notify_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  std::thread delegate([context] { answer(context, PX_OK, nullptr); });
  taken.wait(false);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(forked_during_call() ? 1 : 0);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child was forked while a thread took an answer";
  delegate.join();
#endif
}

}  // namespace
}  // namespace parallax
