// What the sessions of a process share: the threads that compute, and the account of their memory.
#pragma once

#include <memory>

#include "parallax/options.h"
#include "parallax/result.h"

namespace parallax {

struct RuntimeOptions {
  /// Threads that compute at once, callers of run() included; 0: the CPUs this process may use
  /// (affinity and cgroup quota).
  int threads = 0;
  /// For sessions whose budget names no account. Null: as MemoryBudget::account says.
  std::shared_ptr<MemoryAccount> account = nullptr;
};

/// Threads start as sessions need them, never more than threads() - 1, and use no core while
/// nothing runs. Of runs at once each has workers of its own as far as they go; while callers and
/// workers are more than threads(), workers step back. At most eight runs go on at once, or
/// threads() if that is more; further ones wait in the order in which they came, up to the time
/// limit of their session. Runs of one thread need nothing of this and do not wait.
///
/// Cheap to copy (copies share all of it); thread-safe. It lives as long as a copy or a session of
/// it does. A child of fork() may use it where it may use a Session.
class Runtime {
 public:
  /// Errors: kInvalidInput for threads that make no sense, kOutOfMemory.
  static Result<Runtime> create(const RuntimeOptions& options = {});
  /// The runtime of sessions that are given none. It is made when it is first asked for, and anew
  /// once no copy and no session held it any more. Errors: kOutOfMemory.
  static Result<Runtime> shared();

  /// Threads that a run may have, its caller's included.
  int threads() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }  ///< for the library itself

 private:
  explicit Runtime(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace parallax
