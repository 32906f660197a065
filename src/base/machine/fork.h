// Detects what a child of fork() may still use. It has its parent's memory, but only the thread
// that called fork(): other threads stop in the middle of their work. If none of them was in a call
// of the library, the child only needs new threads. If one was, its locks may stay held forever, so
// the child must not use existing objects.
// Thread-safety: thread-safe.
#pragma once

#include <cstdint>

#include "parallax/result.h"

namespace parallax {

/// Returns 0 in the first process, and in each child one more than in its parent; two children of
/// one parent have the same number. Threads that were started under another number do not exist in
/// this process. Pools compare it with the number under which their threads were started. Costs one
/// relaxed load.
std::uint64_t process_number();

/// Marks a call of the library while it lives. Every public function that locks a mutex, or creates
/// or destroys a Model, Runtime, Session or State, holds one; a thread may hold several. A thread
/// with a Call must not fork: the child would count it as another thread's. Nor must a thread with
/// a ShortCall: fork() would wait a second for it, and the child would count it too. The library
/// never forks, so this is a duty of foreign functions that it calls (Log, Allocator, ThreadPool,
/// delegates, callbacks of runs), which their documentation says.
class Call {
 public:
  /// Increments the number of calls in progress; the destructor decrements it.
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// Marks a short call that no caller waits for, such as a delegate's completion callback. fork()
/// waits up to one second for it to end, so that forking is safe once the caller's own runs have
/// ended. One that takes longer counts as a Call.
class ShortCall {
 public:
  /// Increments the number of short calls in progress; the destructor decrements it.
  ShortCall();
  ~ShortCall();
  ShortCall(const ShortCall&) = delete;
  ShortCall& operator=(const ShortCall&) = delete;
};

/// Returns whether this process, or an ancestor, was forked while another thread was in a Call. If
/// so, contents of the API's classes from before that fork must not be used, not even destroyed:
/// destructors of Model, Runtime, Session and State leak them. Set once and for all, in the child,
/// by the handler of fork(). Costs one relaxed load.
bool forked_during_call();
/// Public functions that hold a Call and return a Result or Status call this first, and do nothing
/// else if it fails. Errors: kUnsupported (stage kSession) if forked_during_call().
Status check_fork();

}  // namespace parallax
