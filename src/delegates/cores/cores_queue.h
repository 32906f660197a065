// The threads of the delegate "cores", which run programs one after the other. Between two programs
// in quick succession they stay awake, because the cores are theirs. Thread-safe. One job runs at a
// time, in the order of add(), on all threads of the queue.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "bind/program.h"
#include "parallax/delegate.h"
#include "run/pool/idle.h"
#include "run/pool/worker_pool.h"
#include "run/run_memory.h"

namespace parallax {

/// One run of a region. Inputs and outputs are in the program's order and must live until `done`
/// was called. `program` is released before `done` is called, so `done` may discard its region.
struct CoresJob {
  std::shared_ptr<const Program> program;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  px_done done = nullptr;  ///< called once, by the queue's thread
  /// For `done`, and the name for cancel(). Unique among the jobs of the queue.
  void* context = nullptr;
  std::stop_source stop = {};  ///< requested to stop by cancel()
};

/// A queue of jobs with its worker threads.
class CoresQueue {
 public:
  /// How long a thread stays awake at most: about the cost of waking (run/pool/worker_slot.h). A
  /// benefit has not been shown, see docs/decisions/delegates.md.
  static constexpr std::chrono::microseconds kAwake{50};

  /// Starts a thread with `threads` - 1 workers. Throws std::system_error. `threads` >= 1. The
  /// workers live as long as the queue.
  explicit CoresQueue(int threads);
  /// Runs the remaining jobs, then joins the threads. Must not run on the queue's thread, so `done`
  /// must not destroy the queue. REQUIRES: no other thread uses it.
  ~CoresQueue();
  CoresQueue(const CoresQueue&) = delete;
  CoresQueue& operator=(const CoresQueue&) = delete;

  /// Appends a job and returns. May throw std::bad_alloc. `done` gets PX_OK, or the code and
  /// message of the error: those of execute(), and kOutOfMemory. It is called without locks, and
  /// may add further jobs. If add() throws, `done` is not called.
  void add(CoresJob job);
  /// Stops the job with that context, if it is running or queued here: it ends soon with
  /// kCancelled. Does not wait for the end. Has no effect on an unknown context.
  void cancel(void* context);
  /// Releases memory that no job uses now. Thread-safe; memory is freed on the calling thread. The
  /// device calls it when a binding is destroyed.
  void trim() { memory_.trim(); }

 private:
  void work();
  /// Stays awake for patience_, then sleeps. False when the queue ends and is empty.
  bool wait_for_job(CoresJob& job);
  Status run(const CoresJob& job);

  WorkerPool pool_;
  RunMemory memory_;
  Mutex mutex_;
  Condition changed_;
  std::deque<CoresJob> jobs_ PX_GUARDED_BY(mutex_);
  void* running_ PX_GUARDED_BY(mutex_) = nullptr;
  std::stop_source stop_ PX_GUARDED_BY(mutex_) = std::stop_source(std::nostopstate);
  bool ends_ PX_GUARDED_BY(mutex_) = false;
  // Number of jobs that were added and not started, readable without the mutex; one more at the
  // end.
  std::atomic<int> waiting_{0};
  Patience patience_{kAwake};  // belongs to the queue's thread
  std::thread thread_;
};

}  // namespace parallax
