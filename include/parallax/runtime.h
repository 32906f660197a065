// The resources that the sessions and models of a process share: threads that compute, the memory
// of runs and its account, the folder of caches, delegates, and the receiver of log messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
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

/// The bytes that runs of several sessions hold together. It has no size of its own: each session's
/// budget is the limit for its runs (RuntimeOptions::account). Create one and give it to several
/// runtimes. Thread-safe; lives as long as a runtime or session holds it.
class MemoryAccount;
/// Creates an empty account; never null. Thread-safe. Errors: kOutOfMemory.
Result<std::shared_ptr<MemoryAccount>> make_memory_account();

/// Policy for memory that a runtime gets from the system. If the system refuses large pages or
/// prefaulting, only speed is lost.
struct PagePolicy {
  /// Uses large pages (2 MiB) for activations and packed weights, while the system has any
  /// available. Runs after the first convert small pages to large ones until all are, each for at
  /// most 0.15 s, or a fifth of the time that its limit leaves if that is less. False: small pages,
  /// never converted.
  bool large = true;
  /// Makes the system provide memory for packed weights while a model is loaded, so that the first
  /// run need not wait for it; ignored if RuntimeOptions::pool is set. Disable it in a program that
  /// plans and never runs.
  bool prefault = true;
};

/// The importance of a log message.
enum class LogLevel : std::uint8_t {
  kInfo,     ///< a decision of the library or of a delegate
  kWarning,  ///< a request could not be honoured; outputs are unaffected, latency or memory use may
             ///< differ
};
/// Receives one line without a line break, valid during the call. Called by any thread, by several
/// concurrently, and while other threads wait for the caller: it must return soon, and must neither
/// throw, nor fork, nor call Parallax. The library copies it several times: keep its state behind a
/// pointer.
using Log = std::function<void(LogLevel level, std::string_view message)>;

/// A user-provided thread pool. Its functions are called by any thread, concurrently, and must
/// neither fork nor call Parallax.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  /// Schedules `task` to be called once, on a thread of the pool, and returns without waiting for
  /// it. May throw. A task that is destroyed without being called counts as returned. The last
  /// reference to the runtime never ends in a task, so that a pool is not destroyed on a thread of
  /// its own. There are two kinds of tasks:
  /// - A worker's task computes as long as runs have work for it, then returns. If submit() throws,
  ///   or the task is never called, only speed is lost.
  /// - The task of a Session::run_async(). If submit() throws, run_async() fails with kOutOfMemory.
  ///   If the task is neither called nor destroyed, ~Session() waits for ever.
  virtual void submit(std::function<void()> task) = 0;
};

/// User-provided memory. Its functions are called by any thread, concurrently, and must neither
/// throw, nor fork, nor call Parallax.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Returns `bytes` at a multiple of `alignment`, a power of two; null if there is no memory.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  /// Frees memory that allocate() returned for the same `bytes` and `alignment`.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) = 0;
};

/// Options of one runtime: plain values, read when it is created.
struct RuntimeOptions {
  /// Threads that compute concurrently, callers of run() included; 0: as many as the CPUs that the
  /// thread which creates the runtime may use (affinity and cgroup quota).
  int threads = 0;
  /// Accounts the memory of all sessions of the runtime together: a run waits, first come, first
  /// served, until its bytes and those of all other runs of the account are within the budget of
  /// its own session. Null: sessions under MemoryBudget::automatic() share one account, in all
  /// runtimes; every other session has its own.
  std::shared_ptr<MemoryAccount> account = nullptr;
  PagePolicy pages = {};
  /// A folder that keeps packed weights and a snapshot of the graph for the next process, which
  /// maps them; also, for delegates, compiled programs, measured times of devices, and choices that
  /// follow from these. It is created if it is missing; processes of one user may share it. Each
  /// model has one file there for each instruction set. The first run writes the file, and later
  /// ones if an eighth of the packed weights is new; Planner::plan() writes it without packed
  /// weights, unless it plans for a delegate or a profile. The file is named after the model's
  /// path; for a model from memory after the hash of its bytes, which costs 25 ms for 265 MB at
  /// each load, and after its folder of external weights. A user who can write to the folder can
  /// change what models compute. Its files may be removed or replaced at any time. While a model
  /// loaded from one lives, the file must not be truncated or written to: the system would end the
  /// process (SIGBUS). Parallax only replaces files. A cache that cannot be used is no error:
  /// Model::cache() says why. Empty: no cache.
  std::filesystem::path cache = {};
  /// Shared objects with delegates (parallax/delegate.h). They are loaded when a delegate is first
  /// requested, and stay loaded; delegates() says why one cannot be. They are code of this process:
  /// load only those that you trust.
  std::vector<std::filesystem::path> delegate_libraries = {};
  /// Receives messages. Null: messages are discarded; the library itself never prints.
  Log log = nullptr;
  /// Runs tasks in place of threads of the runtime's own: at most threads - 1 concurrent tasks for
  /// workers, and one for each Session::run_async(), whose callback is not called if the pool
  /// destroys the task. Null: the runtime starts threads itself.
  std::shared_ptr<ThreadPool> pool = nullptr;
  /// Provides the memory for activations, scratch and packed weights; `pages` does not apply to it.
  /// Outputs use it only if the caller places them there: Session::run_into(). Null: the system.
  std::shared_ptr<Allocator> allocator = nullptr;
};

/// Workers start as sessions need them, at most threads() - 1. Session::run_async() has threads
/// besides them, and RuntimeOptions::prefault one per load. No thread uses a core while nothing
/// runs. Concurrent runs get disjoint workers if there are enough. If callers and workers together
/// are more than threads(), workers pause so that callers compute. At most eight runs, or threads()
/// if that is more, execute concurrently; further ones wait in order of arrival, up to the time
/// limit of their session. Runs of sessions with one thread need no worker: they neither count
/// there nor wait.
///
/// Cheap to copy (copies share all of it); thread-safe. It lives, with everything that its options
/// hold, as long as a copy of it or a session or model that uses it. One that was moved from may
/// only be destroyed or assigned to. A child of fork() may use it under the conditions under which
/// it may use a Session; there it starts threads of its own and does not use RuntimeOptions::pool.
class Runtime {
 public:
  /// Errors: kInvalidInput if `options.threads` is not 0 to 1024; kUnsupported in a child of fork()
  /// that may not use Parallax (see Session); kOutOfMemory; kInternal if copying `options` throws
  /// something else than std::bad_alloc.
  static Result<Runtime> create(const RuntimeOptions& options = {});
  /// Returns the runtime of models and sessions that are created without one. It has the default
  /// options, is created on first use, and again if it is needed after the last copy and session
  /// were destroyed. Errors: kOutOfMemory; kUnsupported as create().
  static Result<Runtime> shared();

  /// The most threads of one run, its caller's included.
  int threads() const;
  /// Opens all delegates that sessions may name, keeps them open, and describes each with its
  /// device. Slow the first time. Returns an empty list if memory runs out, or in a child of fork()
  /// that may not use the runtime.
  std::vector<DelegateReport> delegates() const;
  /// Calls Session::trim() for all sessions of the runtime. Thread-safe, also while sessions run.
  void trim();
  /// Names of the delegates that this build contains. May throw std::bad_alloc.
  static std::vector<std::string> built_in_delegates();

  struct Impl;

 private:
  friend struct Access;
  explicit Runtime(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace parallax
