#include "run/pool/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "run/pool/guest_worker.h"
#include "run/pool/worker_slot.h"

namespace parallax {
namespace {

/// The number of concurrent runs; more if a pool has more threads.
constexpr int kRunSlots = 8;
/// Nanoseconds of work that its owner finishes before another thread could begin: not offered.
constexpr double kKeptNs = 1'000;
/// Nanoseconds that waking a thread costs, until it works.
constexpr double kWakeNs = 20'000;
/// More indices than this run on one thread, because a slot counts in 32 bits.
constexpr std::int64_t kMaxShared = 0xFFFFFFFF;

}  // namespace

WorkerPool::WorkerPool(int threads, int cpus, int at_first, std::shared_ptr<ThreadPool> users)
    : process_(process_number()),
      most_(std::max(threads, 1)),
      cpus_(cpus),
      run_slots_(static_cast<std::size_t>(std::max(kRunSlots, most_)), most_ - 1),
      slots_(2 * run_slots_.count() + static_cast<std::size_t>(most_ - 1)),
      workers_(std::make_unique<std::vector<std::thread>>()),
      users_(std::move(users)),
      guests_(std::make_unique<std::vector<std::shared_ptr<Guest>>>()) {
  parked_.reserve(slots_.size());
  // After the first thread nothing may throw.
  workers_->reserve(static_cast<std::size_t>(most_ - 1));
  guests_->reserve(static_cast<std::size_t>(most_ - 1));
  affinities_.reserve(static_cast<std::size_t>(most_ - 1));
  start(at_first);
}

void WorkerPool::init(Participant& worker, int index) {
  worker.pool_ = this;
  worker.worker_ = index;
  worker.tile_slot_ = 2 * run_slots_.count() + static_cast<std::size_t>(index - 1);
}

/// Adds a worker. Throws if the system has no thread, or no memory for one.
void WorkerPool::add_worker(int index) {
  if (users_ == nullptr) {
    const MutexLock lock(park_mutex_);  // the thread first asks for it
    workers_->emplace_back([this, index] {
      Participant self;
      init(self, index);
      work(self);
    });
    affinities_.emplace_back(workers_->back().native_handle()).avoid_this_cpu();
    return;
  }
  const auto guest = std::make_shared<Guest>(*this);
  init(guest->self, index);
  guest->self.guest_ = guest.get();
  guests_->push_back(guest);
  park(guest->self);
}

int WorkerPool::start(int threads) {
  const int wanted = std::clamp(threads, 1, most_);
  const MutexLock lock(start_mutex_);
  for (int i = started_ + 1; i < wanted; ++i) {
    try {
      add_worker(i);
    } catch (const std::exception&) {  // no thread, or no memory for one
      break;                           // fewer workers do the same work
    }
    started_.store(i);
  }
  return std::min(wanted, started_ + 1);
}

WorkerPool::~WorkerPool() {
  if (!has_workers()) {
    // Handles of threads of another process can neither be joined nor detached.
    (void)workers_.release();
    (void)guests_.release();
    return;
  }
  stop_ = true;
  wake_all();
  for (std::thread& worker : *workers_) worker.join();
  for (const auto& guest : *guests_) guest->end();
}

void WorkerPool::work(Participant& self) {
  const auto may_spin = [this] { return threads() <= cpus_ && !crowded(asleep_.load()); };
  // This thread counts as asleep then.
  const auto nothing_to_do = [&] {
    return !stop_.load() && (crowded(asleep_.load() - 1) || !has_work(self, nullptr));
  };
  may_use_all_cpus(self);
  for (Idle idle; !stop_.load(std::memory_order_relaxed);) {
    if (!crowded(asleep_.load()) && help(self, nullptr)) {
      idle.reset();
    } else if (!may_spin() || !idle.spin(runs_.load(std::memory_order_relaxed) == 0 ? kSpinAfterRun
                                                                                    : kSpinInRun)) {
      if (self.guest_ == nullptr) {
        park_while(self, nothing_to_do);
        may_use_all_cpus(self);
      } else if (leaves(self, nothing_to_do)) {
        return;
      }
      idle.reset();
    }
  }
}

/// Returns the first slot from `slot` on that a current caller, or a worker, may have.
std::size_t WorkerPool::used(std::size_t slot) const {
  const std::size_t callers = run_slots_.end(), run_slots = run_slots_.count();
  const std::size_t first = slot < run_slots ? 0 : run_slots;
  if (slot >= 2 * run_slots || slot - first < callers) return slot;
  return callers > 0 ? first + run_slots : 2 * run_slots;
}

/// An upper bound: no thread has this slot or a later one.
std::size_t WorkerPool::end() const {
  return 2 * run_slots_.count() +
         static_cast<std::size_t>(started_.load(std::memory_order_relaxed));
}

/// Whether callers and workers, without `asleep` of them, exceed the threads of the pool.
bool WorkerPool::crowded(int asleep) const {
  return runs_.load(std::memory_order_relaxed) + started_.load(std::memory_order_relaxed) - asleep >
         most_;
}

/// Whether there is work that help() would do.
bool WorkerPool::has_work(const Participant& self, const void* team) const {
  for (std::size_t i = used(team == nullptr ? 0 : run_slots_.count()); i < end(); i = used(i + 1))
    if (slots_[i].has_work() && slots_[i].takes(self.worker_, team)) return true;
  return false;
}

/// Does some work of any run that this worker may help, or of `team` only. Returns false if there
/// was none. A thread that waits for its own run must not take a branch: it would return late.
bool WorkerPool::help(Participant& self, const void* team) {
  bool helped = false;
  for (std::size_t i = used(team == nullptr ? 0 : run_slots_.count()); i < end(); i = used(i + 1))
    if (slots_[i].has_work() && slots_[i].takes(self.worker_, team))
      helped |= help_in(i, self, team);
  return helped;
}

bool WorkerPool::help_in(std::size_t index, Participant& self, const void* team) {
  Slot& slot = slots_[index];
  slot.users.fetch_add(1);
  bool helped = false;
  SharedWork* const work = slot.work.load();
  if (work != nullptr && slot.takes(self.worker_, team)) {
    const void* const outer = std::exchange(self.team_, slot.team.load(std::memory_order_relaxed));
    if (team == nullptr) self.range_ = slot.workers.load(std::memory_order_relaxed);
    Slot* const outer_growing = self.growing_;
    const bool branches = index < run_slots_.count();  // the heaviest come first
    if (branches) self.growing_ = &slot;
    // Take one tile if a caller waits for a whole step, otherwise all that is left, unless a caller
    // needs the core. Branches that become ready may have no other thread.
    for (std::int64_t i; (i = slot.take(branches)) >= 0;) {
      work->run(branches ? i : slot.tile(i), self);
      helped = true;
      if (team != nullptr || (!branches && crowded(asleep_.load()))) break;
    }
    self.growing_ = outer_growing;
    self.team_ = outer;
  }
  if (slot.leave()) wake_all();
  return helped;
}

/// Calls wake() once the work that sleepers missed outweighs the cost of waking them.
void WorkerPool::wake_if_worth(Participant& self, std::int64_t wanted, double nanoseconds) {
  if (asleep_.load() == 0) return;
  self.missed_ns_ += nanoseconds;
  if (self.missed_ns_ < kWakeNs) return;
  self.missed_ns_ = 0;
  wake(self, wanted);
}

/// Parks a guest. Returns whether its thread must return to the user-provided pool.
template <class Idle>
bool WorkerPool::leaves(Participant& self, Idle nothing_to_do) {
  park(self);
  if (nothing_to_do()) return true;
  const MutexLock lock(park_mutex_);
  // If it was called meanwhile, another thread comes.
  const bool called = std::erase(parked_, &self) == 0;
  asleep_.store(static_cast<int>(parked_.size()));
  return called;
}

/// Sleeps until woken, or until `until`.
template <class Idle>
void WorkerPool::park_while(Participant& self, Idle nothing_to_do,
                            std::optional<std::chrono::steady_clock::time_point> until) {
  park(self);
  if (!nothing_to_do()) {
  } else if (!until) {
    self.parked_.wait(1);
  } else {
    const MutexLock lock(park_mutex_);
    while (self.parked_.load() == 1 && unparked_.wait_until(park_mutex_, *until)) continue;
  }
  // The thread that wakes this one holds the lock while it accesses it.
  const MutexLock lock(park_mutex_);
  std::erase(parked_, &self);
  asleep_.store(static_cast<int>(parked_.size()));
}

void Participant::share(WorkLevel level, std::int64_t count, SharedWork& work, double nanoseconds) {
  const std::size_t index = level == WorkLevel::kBranches ? branch_slot_ : tile_slot_;
  if (count <= 1 || count > kMaxShared || nanoseconds < kKeptNs || index == kNoSlot ||
      range_.width <= 1) {
    for (std::int64_t i = 0; i < count; ++i) work.run(i, *this);
    return;
  }
  WorkerPool::Slot& slot = pool_->slots_[index];
  slot.open(count, team_, range_, work);
  pool_->wake_if_worth(*this, count - 1, nanoseconds);
  const bool tiles = level == WorkLevel::kTiles;
  for (std::int64_t i; (i = slot.take(true)) >= 0;) work.run(tiles ? slot.tile(i) : i, *this);
  if (level == WorkLevel::kBranches) {
    // Help with tiles of the branches that others still run.
    const auto nothing_to_do = [&] {
      return slot.users.load() != 0 && !pool_->has_work(*this, team_);
    };
    for (Idle idle; slot.users.load() != 0;) {
      if (pool_->help(*this, team_)) {
        idle.reset();
      } else if (!idle.spin(kSpinInRun)) {
        slot.owner_waits.store(true);
        pool_->park_while(*this, nothing_to_do);
        slot.owner_waits.store(false);
        idle.reset();
      }
    }
  }
  slot.close();
}

void Participant::share_growing(std::int64_t ready, GrowingWork& work, double nanoseconds) {
  WorkerPool::Slot alone;  // used if no other thread can help
  WorkerPool::Slot& slot = branch_slot_ == kNoSlot ? alone : pool_->slots_[branch_slot_];
  growing_ = &slot;
  work.begins(Growth(*pool_, slot));
  slot.open(ready, team_, range_, work);
  if (ready > 1) pool_->wake_if_worth(*this, ready - 1, nanoseconds);
  const auto nothing_to_do = [&] {
    return !work.finished() && !slot.has_work() && !pool_->has_work(*this, team_);
  };
  for (Idle idle; !work.finished();) {
    if (const std::int64_t i = slot.take(true); i >= 0) {
      work.run(i, *this);
      idle.reset();
    } else if (pool_->help(*this, team_)) {
      idle.reset();
    } else if (!idle.spin(kSpinInRun)) {
      slot.owner_parks.store(true);
      pool_->park_while(*this, nothing_to_do, work.patience());
      slot.owner_parks.store(false);
      work.waited();
      idle.reset();
    }
  }
  slot.close();
  growing_ = nullptr;
}

void Participant::finish() {
  if (growing_->owner_parks.load()) pool_->wake_all();
}

void Growth::add(std::int64_t count) const {
  slot_->range.fetch_add(static_cast<std::uint64_t>(count) << 32);
  if (pool_->asleep_.load() > 0) pool_->wake_all();
}

void Participant::grow(std::int64_t count, double nanoseconds) {
  growing_->range.fetch_add(static_cast<std::uint64_t>(count) << 32);
  pool_->wake_if_worth(*this, count, nanoseconds);
}

WorkerPool::Stay::Stay(WorkerPool& pool, int width, const Deadline& deadline) : pool_(pool) {
  const int threads = std::min(width, pool.threads());
  if (threads > 1) {
    run_slot_ = pool.run_slots_.wait_for(threads, pool.threads() - 1, deadline);
    if (run_slot_.index == RunSlots::kNone) return;
  }
  enter();
}

WorkerPool::Stay::Stay(WorkerPool& pool, int width) : pool_(pool) {
  const int threads = std::min(width, pool.threads());
  if (threads > 1) run_slot_ = pool.run_slots_.take_free(threads, pool.threads() - 1);
  enter();
}

void WorkerPool::Stay::enter() {
  entered_ = true;
  participant_.pool_ = &pool_;
  participant_.team_ = this;
  if (run_slot_.index != RunSlots::kNone) {
    participant_.branch_slot_ = run_slot_.index;
    participant_.tile_slot_ = pool_.run_slots_.count() + run_slot_.index;
    participant_.range_ = run_slot_.workers;
  }
  if (pool_.missed_.any())
    participant_.missed_ns_ = pool_.missed_.take(std::chrono::steady_clock::now(), kSpinAfterRun);
  pool_.runs_.fetch_add(1);
}

WorkerPool::Stay::~Stay() {
  if (!entered_) return;
  if (participant_.missed_ns_ > 0)
    pool_.missed_.keep(participant_.missed_ns_, std::chrono::steady_clock::now());
  pool_.runs_.fetch_sub(1);
  if (run_slot_.index != RunSlots::kNone) pool_.run_slots_.leave(run_slot_);
}

}  // namespace parallax
