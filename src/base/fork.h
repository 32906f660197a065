// What a child of fork() may still use. It has its parent's memory, but only the thread that called
// fork(): the others vanish in the middle of their work. If none of them was in a call of the
// library, the child only needs new threads. If one was, its locks may stay held for ever.
//
// Thread-safety: thread-safe.
#pragma once

#include <cstdint>

#include "parallax/result.h"

namespace parallax {

/// 0, and one more in each child. Threads that started under another number do not exist here.
std::uint64_t process_number();

/// Marks a call of the library while it lives. Every public function that takes a lock, or creates
/// or destroys an object, has one.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// A Call of a thread that no caller waits for and that is soon done: a delegate's, which answers.
/// fork() waits for it, for a second at most, so that children of a caller whose runs have ended
/// are not torn.
class ShortCall {
 public:
  ShortCall();
  ~ShortCall();
  ShortCall(const ShortCall&) = delete;
  ShortCall& operator=(const ShortCall&) = delete;
};

/// Whether this process, or an ancestor, was forked while another thread was in a Call. If so,
/// objects from before that fork must not be touched, not even destroyed.
bool torn_by_fork();
/// Errors: kUnsupported where torn_by_fork().
Status check_not_torn();

}  // namespace parallax
