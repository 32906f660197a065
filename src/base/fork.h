// What fork() leaves to the child: the memory of its parent, and of its threads the one that called
// fork(). Other threads are gone in the middle of whatever they did. Between calls into the library
// that is harmless: the child needs new threads only. During one it is not: a lock may be held for
// ever.
//
// Thread-safety: thread-safe.
#pragma once

#include <cstdint>

#include "parallax/result.h"

namespace parallax {

/// 0, and one more in each child: threads that were started under another number are not there.
std::uint64_t process_number();

/// A call into the library, for as long as it lives. Every public function that takes a lock, or
/// makes or ends something, has one.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// Whether this process, or one that it comes from, was forked while another thread was in a Call.
/// Nothing that was made before may be touched then, not even to destroy it.
bool torn_by_fork();
/// Errors: kUnsupported where torn_by_fork().
Status check_not_torn();

}  // namespace parallax
