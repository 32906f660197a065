// A user-provided thread pool, for tests.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "parallax/runtime.h"

namespace parallax {

class UsersPool final : public ThreadPool {
 public:
  /// With 0 threads, tasks wait until drop() or run().
  explicit UsersPool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~UsersPool() override {
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  UsersPool(const UsersPool&) = delete;
  UsersPool& operator=(const UsersPool&) = delete;

  void submit(std::function<void()> task) override {
    if (refuses) throw std::runtime_error("no tasks");
    ++submitted;
    ++unfinished;
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void drop() { unfinished -= static_cast<int>(take_all().size()); }
  void run() {
    for (const auto& task : take_all()) {
      task();
      --unfinished;
    }
  }

  std::atomic<bool> refuses{false};
  std::atomic<int> submitted{0}, begun{0};
  /// Tasks that have not ended. A task counts before the one that submits it ends.
  std::atomic<int> unfinished{0};

 private:
  std::deque<std::function<void()>> take_all() {
    const MutexLock lock(mutex_);
    return std::exchange(tasks_, {});
  }
  void work() {
    while (true) {
      std::function<void()> task;
      {
        const MutexLock lock(mutex_);
        while (tasks_.empty() && !ends_) changed_.wait(mutex_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      ++begun;
      task();
      --unfinished;
    }
  }

  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> tasks_ PX_GUARDED_BY(mutex_);
  bool ends_ PX_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace parallax
