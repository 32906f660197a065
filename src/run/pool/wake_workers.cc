// Parking and waking the threads of a pool.
#include <algorithm>
#include <utility>

#include "run/pool/guest_worker.h"

namespace parallax {

/// Wakes up to `wanted` threads for work that `self` has just offered. Threads announce themselves
/// in asleep_ before they check for work a last time, and work is offered before this checks for
/// sleepers: one of the two sees the other.
void WorkerPool::wake(const Participant& self, std::int64_t wanted) {
  if (asleep_.load() == 0) return;
  Participant* guests = nullptr;
  {
    const MutexLock lock(park_mutex_);
    // All threads that do not sleep are assumed to be busy, each on a CPU of its own.
    const auto asleep = static_cast<std::int64_t>(parked_.size());
    const std::int64_t busy = runs_.load() + started_.load() - asleep;
    std::int64_t left = std::min(wanted, std::min(cpus_, most_) - busy);
    // Wake the last that parked first: their caches are warmest.
    for (std::size_t i = parked_.size(); i > 0 && left > 0; --i) {
      const Participant& sleeper = *parked_[i - 1];
      const bool helps =
          sleeper.worker_ == 0 ? sleeper.team_ == self.team_ : self.range_.has(sleeper.worker_);
      if (!helps) continue;
      wake_one(i - 1, guests);
      --left;
    }
  }
  call(guests);
}

/// Wakes all parked threads. Guests stay parked: wake() calls those that are needed.
void WorkerPool::wake_all() {
  const MutexLock lock(park_mutex_);
  Participant* none = nullptr;
  for (std::size_t i = parked_.size(); i > 0; --i)
    if (parked_[i - 1]->guest_ == nullptr) wake_one(i - 1, none);
}

/// Wakes one thread; a guest is added to `guests` instead, to be called without the mutex.
void WorkerPool::wake_one(std::size_t parked, Participant*& guests) {
  Participant& sleeper = *parked_[parked];
  parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(parked));
  asleep_.store(static_cast<int>(parked_.size()));
  if (sleeper.guest_ != nullptr) {
    sleeper.next_called_ = std::exchange(guests, &sleeper);
    return;
  }
  if (const auto worker = static_cast<std::size_t>(sleeper.worker_);
      worker > 0 && worker <= affinities_.size())
    affinities_[worker - 1].avoid_this_cpu();
  sleeper.parked_.store(0);
  sleeper.parked_.notify_one();
  unparked_.notify_all();
}

/// Ends a worker's exclusion from the CPU of the thread that woke it.
void WorkerPool::may_use_all_cpus(const Participant& worker) {
  const MutexLock lock(park_mutex_);
  const auto index = static_cast<std::size_t>(worker.worker_ - 1);
  if (index < affinities_.size()) affinities_[index].restore();
}

/// Submits a task to the user-provided pool for each of `guests`.
void WorkerPool::call(Participant* guests) {
  while (guests != nullptr) {
    Participant& guest = *std::exchange(guests, guests->next_called_);
    std::shared_ptr<Ticket> ticket;
    try {
      ticket = std::make_shared<Ticket>(guest.guest_->shared_from_this());
    } catch (const std::bad_alloc&) {
      park(guest);
      continue;
    }
    expect_only_turns();
    try {
      users_->submit([ticket] {
        if (!ticket->used.exchange(true)) ticket->guest->run_on_this_thread();
      });
    } catch (...) {  // NOLINT(bugprone-empty-catch): the ticket stays unused
    }
  }
}

void WorkerPool::park(Participant& self) {
  const MutexLock lock(park_mutex_);
  self.parked_.store(1);
  parked_.push_back(&self);
  asleep_.store(static_cast<int>(parked_.size()));
}

}  // namespace parallax
