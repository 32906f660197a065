#include "session/async_runs.h"

#include <deque>
#include <exception>
#include <list>
#include <thread>
#include <utility>

#include "base/machine/fork.h"

namespace parallax {

struct AsyncRuns::Queue {
  using Threads = std::list<std::thread>;

  Mutex mutex;
  Condition changed;
  std::deque<std::function<void()>> jobs PX_GUARDED_BY(mutex);
  std::size_t most PX_GUARDED_BY(mutex) = 1;
  Threads threads PX_GUARDED_BY(mutex);
  Threads ended PX_GUARDED_BY(mutex);  // or about to
  std::size_t idle PX_GUARDED_BY(mutex) = 0;
  bool closed PX_GUARDED_BY(mutex) = false;

  void work(Threads::iterator self) {
    while (auto job = next(self)) job();
  }
  std::function<void()> next(Threads::iterator self);
  void start_thread() PX_REQUIRES(mutex);
  /// Joins the threads that have ended.
  void join_ended();
};

/// Waits for the next job of the thread `self`; returns null if the thread is to end.
std::function<void()> AsyncRuns::Queue::next(Threads::iterator self) {
  const MutexLock lock(mutex);
  while (jobs.empty() && !closed && threads.size() <= most) {
    ++idle;
    changed.wait(mutex);
    --idle;
  }
  if (!closed && threads.size() > most) {
    ended.splice(ended.end(), threads, self);
    return nullptr;
  }
  if (jobs.empty()) return nullptr;
  std::function<void()> job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

/// Starts a thread. Throws if the system has no thread, or no memory for one.
void AsyncRuns::Queue::start_thread() {
  threads.emplace_back();
  const auto self = std::prev(threads.end());
  try {
    *self = std::thread([this, self] { work(self); });
  } catch (...) {
    threads.erase(self);
    throw;
  }
}

void AsyncRuns::Queue::join_ended() {
  Threads joined;
  {
    const MutexLock lock(mutex);
    joined.swap(ended);
  }
  for (std::thread& thread : joined) thread.join();
}

namespace {

tl::unexpected<Error> no_thread() {
  return tl::unexpected(Error{Stage::kSession, ErrorCode::kOutOfMemory, {}, "no thread for a run"});
}

}  // namespace

AsyncRuns::AsyncRuns(std::shared_ptr<ThreadPool> pool)
    : first_process_(process_number()),
      process_(first_process_),
      queue_(std::make_unique<Queue>()),
      pool_(std::move(pool)) {}

AsyncRuns::~AsyncRuns() {
  if (process_ != process_number()) {
    // Threads of another process can neither be joined nor detached.
    (void)queue_.release();
    return;
  }
  Queue::Threads threads;
  {
    const MutexLock lock(queue_->mutex);
    queue_->closed = true;
    threads.swap(queue_->threads);
  }
  queue_->changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  queue_->join_ended();
}

Status AsyncRuns::add(std::function<void()> job, std::size_t most) {
  if (pool_ != nullptr && first_process_ == process_number()) return submit(std::move(job));
  const MutexLock lock(mutex_);  // a rejected job is destroyed with the argument, without locks
  if (process_ != process_number()) {
    auto queue = std::make_unique<Queue>();
    (void)queue_.release();  // as in the destructor
    queue_ = std::move(queue);
    process_ = process_number();
  }
  Queue& queue = *queue_;
  queue.join_ended();
  {
    const MutexLock inner(queue.mutex);
    queue.most = most;
    queue.jobs.push_back(std::move(job));
    if (queue.threads.size() < most && queue.idle < queue.jobs.size()) {
      try {
        queue.start_thread();
      } catch (const std::exception&) {
        if (queue.threads.empty()) {
          job.swap(queue.jobs.back());
          queue.jobs.pop_back();
          return no_thread();
        }
      }
    }
  }
  queue.changed.notify_all();
  return {};
}

Status AsyncRuns::submit(std::function<void()> job) {
  expect_only_turns();
  try {
    pool_->submit(std::move(job));
    return {};
  } catch (...) {
    return no_thread();
  }
}

void AsyncRuns::keep_within(std::size_t most) {
  const MutexLock lock(mutex_);
  if (process_ != process_number()) return;  // the queue has no threads here
  {
    const MutexLock inner(queue_->mutex);
    queue_->most = most;
  }
  queue_->changed.notify_all();
}

}  // namespace parallax
