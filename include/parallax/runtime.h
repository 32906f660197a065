// What the sessions and models of a process share: the threads that compute, the memory that they
// take and its account, the folder of caches, and where messages go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parallax/options.h"
#include "parallax/report.h"
#include "parallax/result.h"

namespace parallax {

/// The bytes that runs hold under one budget. Make one and give it to several runtimes.
class MemoryAccount;
/// Never null. Errors: kOutOfMemory.
Result<std::shared_ptr<MemoryAccount>> make_memory_account();

/// How a runtime takes memory from the system. Where the system refuses, only speed is lost.
struct PagePolicy {
  /// Large pages (2 MiB) for activations and packed weights, as far as the system has them at hand.
  /// Later runs make small ones large: each takes up to 0.15 s longer for it. False: small pages.
  bool large = true;
  /// Has the system provide memory for packed weights while a model is loaded, so that the first
  /// run need not. A program that plans and never runs needs none of it.
  bool prefault = true;
};

enum class LogLevel : std::uint8_t {
  kInfo,     ///< what the library decided by itself
  kWarning,  ///< something is not as it was asked for: outputs are the same, times or bytes are not
};
/// Gets one line. Called by any thread, by several at once, and while other threads wait for the
/// caller: it must return soon, and neither throw nor call Parallax.
using Log = std::function<void(LogLevel level, std::string_view message)>;

/// Threads of the user's. Thread-safe.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// Has a thread call `task`, once, and returns before it has. A task computes as long as runs
  /// have work for it, then ends; one that never begins costs speed only. A task that is dropped
  /// counts as one that ends. What this throws counts as a task that never begins.
  virtual void submit(std::function<void()> task) = 0;
};

/// Memory of the user's. Thread-safe; must not throw.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// `bytes` at a multiple of `alignment`, a power of two; null: there is none.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  /// Takes back what allocate() gave, with the same numbers.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) = 0;
};

struct RuntimeOptions {
  /// Threads that compute at once, callers of run() included; 0: the CPUs this process may use
  /// (affinity and cgroup quota).
  int threads = 0;
  /// A budget of all sessions of the runtime: a run waits until its bytes fit beside those of all
  /// other runs of the account, first come, first served. Null: sessions under kAuto share one
  /// account, of all runtimes; any other session has its own.
  std::shared_ptr<MemoryAccount> account = nullptr;
  PagePolicy pages = {};
  /// A folder that keeps packed weights and a snapshot of the graph for the next process, which
  /// maps them: one file per model, written by the first run, or by Session::plan() without the
  /// packed weights. The model's path names the file;
  /// for a model from memory the hash of its bytes does, which takes 25 ms for 265 MB at each load,
  /// and its folder of external weights. A user who can write there can
  /// change what models compute. Files there may be removed or replaced at any time. While a model
  /// from one lives, it must not be truncated or written to: the system would end the process
  /// (SIGBUS). Parallax only replaces files. Empty: no cache. A cache that cannot be used is no
  /// error: Model::cache() says why.
  std::string cache = {};
  /// Shared objects with delegates (parallax/delegate.h). They are loaded when a delegate is first
  /// asked for, and stay loaded. They are code of this process: load none that you do not trust.
  std::vector<std::string> delegate_libraries = {};
  /// Null: messages are lost. The library prints nothing by itself.
  Log log = nullptr;
  /// Has tasks in place of threads of the runtime's own: threads - 1 at once at most for workers,
  /// and one for each Session::run_async, whose callback is not called where the task is dropped.
  /// Null: the runtime has threads of its own.
  std::shared_ptr<ThreadPool> pool = nullptr;
  /// Has the activations, the scratch and the packed weights; `pages` does not hold for them.
  /// Outputs are the caller's: Session::run_into(). Null: the system.
  std::shared_ptr<Allocator> allocator = nullptr;
};

/// Threads start as sessions need them, never more than threads() - 1, and use no core while
/// nothing runs. Of runs at once each has workers of its own as far as they go; while callers and
/// workers are more than threads(), workers step back. At most eight runs go on at once, or
/// threads() if that is more; further ones wait in the order in which they came, up to the time
/// limit of their session. Runs of one thread need nothing of this and do not wait.
///
/// Cheap to copy (copies share all of it); thread-safe. It lives as long as a copy, or a session or
/// model of it, does; and so does what its options hold. A child of fork() may use it where it may
/// use a Session; it has threads of its own there, no pool.
class Runtime {
 public:
  /// Errors: kInvalidInput for threads that make no sense, kOutOfMemory.
  static Result<Runtime> create(const RuntimeOptions& options = {});
  /// The runtime of models and sessions that are given none. It is made when it is first asked for,
  /// and anew once no copy and no session held it any more. Errors: kOutOfMemory.
  static Result<Runtime> shared();

  /// Threads that a run may have, its caller's included.
  int threads() const;
  /// The delegates that sessions may name, with what each says of its device. Opens them, and
  /// keeps them open. Empty where memory runs out.
  std::vector<DelegateReport> delegates() const;
  /// Session::trim() of all sessions of the runtime. Thread-safe, also while sessions run.
  void trim();
  /// Names of those that this build has.
  static std::vector<std::string> built_in_delegates();

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }  ///< for the library itself

 private:
  explicit Runtime(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace parallax
