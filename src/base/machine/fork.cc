#include "base/machine/fork.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace parallax {
namespace {

std::atomic<std::uint64_t> number{0};
std::atomic<std::int64_t> calls{0}, short_calls{0};
std::atomic<bool> during_call{false};

void before_fork() {
  for (int i = 0; i < 1000 && short_calls > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void in_child() {
  number.fetch_add(1);
  // The thread that forks is in no call itself: the library does not call user code that forks.
  if (calls.exchange(0) + short_calls.exchange(0) > 0) during_call = true;
}

// While the program starts: a fork before the first call must be counted too. The only failure is
// lack of memory, then.
[[maybe_unused]] const int kRegistered = ::pthread_atfork(before_fork, nullptr, in_child);

}  // namespace

std::uint64_t process_number() { return number.load(std::memory_order_relaxed); }

Call::Call() { calls.fetch_add(1); }
Call::~Call() { calls.fetch_sub(1); }

ShortCall::ShortCall() { short_calls.fetch_add(1); }
ShortCall::~ShortCall() { short_calls.fetch_sub(1); }

bool forked_during_call() { return during_call.load(std::memory_order_relaxed); }

Status check_fork() {
  if (!forked_during_call()) return {};
  return tl::unexpected(
      Error{Stage::kSession,
            ErrorCode::kUnsupported,
            {},
            "this process was forked while another thread was in a call of Parallax"});
}

}  // namespace parallax
