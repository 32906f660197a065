// The threads of the delegate "cores", which run programs one after the other. Between two that
// follow soon upon each other they stay awake: the cores are theirs. Thread-safe.
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

struct CoresJob {
  std::shared_ptr<const Program> program;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  px_done done = nullptr;
  void* context = nullptr;
  std::stop_source stop = {};
};

class CoresQueue {
 public:
  /// How long it stays awake at most: about what waking takes (run/pool/worker_slot.h). That it
  /// pays is not shown, see docs/decisions/delegates.md.
  static constexpr std::chrono::microseconds kAwake{50};

  /// Starts a thread, which has `threads` - 1 workers. Throws std::system_error.
  explicit CoresQueue(int threads);
  /// Runs what is left.
  ~CoresQueue();
  CoresQueue(const CoresQueue&) = delete;
  CoresQueue& operator=(const CoresQueue&) = delete;

  void add(CoresJob job);
  /// Ends the job of that context where it is, if it is here.
  void cancel(void* context);
  /// Gives memory back that no job uses now.
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
  // Jobs that were added and not taken, for who looks without the mutex; one more when it ends.
  std::atomic<int> waiting_{0};
  Patience patience_{kAwake};  // the thread's
  std::thread thread_;
};

}  // namespace parallax
