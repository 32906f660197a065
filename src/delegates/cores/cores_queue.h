// The threads of the delegate "cores", which run programs one after the other. Between two programs
// in quick succession they stay awake, because the cores are theirs. Thread-safe.
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
/// was called.
struct CoresJob {
  std::shared_ptr<const Program> program;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  px_done done = nullptr;      ///< called once, by the queue's thread
  void* context = nullptr;     ///< for `done`, and the name for cancel()
  std::stop_source stop = {};  ///< requested to stop by cancel()
};

/// A queue of jobs with its worker threads.
class CoresQueue {
 public:
  /// How long a thread stays awake at most: about the cost of waking (run/pool/worker_slot.h). A
  /// benefit has not been shown, see docs/decisions/delegates.md.
  static constexpr std::chrono::microseconds kAwake{50};

  /// Starts a thread with `threads` - 1 workers. Throws std::system_error.
  explicit CoresQueue(int threads);
  /// Runs the remaining jobs, then joins the threads.
  ~CoresQueue();
  CoresQueue(const CoresQueue&) = delete;
  CoresQueue& operator=(const CoresQueue&) = delete;

  /// Appends a job and returns. May throw std::bad_alloc.
  void add(CoresJob job);
  /// Stops the job with that context, if it is running or queued here: it ends soon with
  /// kCancelled.
  void cancel(void* context);
  /// Releases memory that no job uses now.
  void trim() { memory_.trim(); }

 private:
  void work();
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
