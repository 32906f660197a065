#include "execute/worker_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace parallax {
namespace {

/// User threads whose runs can be helped at once; further ones run alone.
constexpr std::size_t kCallers = 8;
/// How long a worker looks for the next node before it parks: waking one costs about as much.
constexpr std::chrono::microseconds kSpin{50};
/// More indices than this run on one thread: a slot counts in 32 bits.
constexpr std::int64_t kMaxShared = 0xFFFFFFFF;
/// Pauses before a waiting thread offers its core to others: with more threads than cores the one
/// that is waited for may need it.
constexpr int kPausesBeforeYield = 2000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

/// Where a participant offers work. A helper announces itself in `users` before it looks at `work`,
/// and the owner takes `work` away before it waits for `users` to reach 0 (all sequentially
/// consistent): so a helper never touches work whose owner has gone on.
struct WorkerPool::Slot {
  alignas(64) std::atomic<SharedWork*> work{nullptr};
  std::atomic<const void*> team{nullptr};
  alignas(64) std::atomic<std::uint64_t> range{0};  // indices left: first in the low half, then end
  alignas(64) std::atomic<int> users{0};

  static std::uint32_t first(std::uint64_t range) { return static_cast<std::uint32_t>(range); }
  static std::uint32_t end(std::uint64_t range) { return static_cast<std::uint32_t>(range >> 32); }

  bool open() const {
    const std::uint64_t left = range.load(std::memory_order_relaxed);
    return first(left) < end(left) && work.load(std::memory_order_relaxed) != nullptr;
  }

  /// The next index, -1 where none is left. Of tiles the owner takes the front and helpers the
  /// back: over the nodes of a branch each thread mostly works where it worked before, which is
  /// what its cache holds.
  std::int64_t take(bool front) {
    std::uint64_t left = range.load(std::memory_order_relaxed);
    while (first(left) < end(left)) {
      const std::uint64_t rest = front ? left + 1 : left - (std::uint64_t{1} << 32);
      if (range.compare_exchange_weak(left, rest, std::memory_order_relaxed))
        return front ? first(left) : end(left) - 1;
    }
    return -1;
  }
};

WorkerPool::WorkerPool(int threads)
    : slots_(2 * kCallers + static_cast<std::size_t>(threads > 1 ? threads - 1 : 0)),
      branch_slots_(kCallers),
      caller_taken_(kCallers) {
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      break;  // fewer workers do the same work
    }
  }
}

WorkerPool::~WorkerPool() {
  stop_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::work(int index) {
  Participant self;
  self.pool_ = this;
  self.index_ = index;
  self.tile_slot_ = 2 * kCallers + static_cast<std::size_t>(index - 1);
  auto last_work = std::chrono::steady_clock::now();
  while (!stop_.load(std::memory_order_relaxed)) {
    if (help(self, nullptr)) {
      last_work = std::chrono::steady_clock::now();
    } else if (runs_.load(std::memory_order_relaxed) > 0 &&
               std::chrono::steady_clock::now() - last_work < kSpin) {
      pause();
    } else {
      park();
      last_work = std::chrono::steady_clock::now();
    }
  }
}

bool WorkerPool::has_work() const {
  for (const Slot& slot : slots_)
    if (slot.work.load() != nullptr && slot.open()) return true;
  return false;
}

/// Does something for anybody, or for `team` only; false where there was nothing. A thread that
/// waits for its own run must not take a branch: it would come back late.
bool WorkerPool::help(Participant& self, const void* team) {
  bool helped = false;
  for (std::size_t i = team == nullptr ? 0 : branch_slots_; i < slots_.size(); ++i)
    if (slots_[i].open()) helped |= help_in(i, self, team);
  return helped;
}

bool WorkerPool::help_in(std::size_t index, Participant& self, const void* team) {
  Slot& slot = slots_[index];
  slot.users.fetch_add(1);
  bool helped = false;
  SharedWork* const work = slot.work.load();
  const void* const owner = slot.team.load(std::memory_order_relaxed);
  if (work != nullptr && (team == nullptr || team == owner)) {
    const void* const outer = std::exchange(self.team_, owner);
    // One tile at a time where somebody waits for a whole step, all that is left otherwise.
    const bool branches = index < branch_slots_;  // the heaviest come first
    for (std::int64_t i; (i = slot.take(branches)) >= 0;) {
      work->run(i, self);
      helped = true;
      if (team != nullptr) break;
    }
    self.team_ = outer;
  }
  slot.users.fetch_sub(1, std::memory_order_release);
  return helped;
}

void WorkerPool::wake() {
  if (!asleep_.load() || !asleep_.exchange(false)) return;
  epoch_.fetch_add(1);
  epoch_.notify_all();
}

/// Waits until wake(). Announces itself before it looks a last time, as wake() looks for sleepers
/// after work was offered: one of the two sees the other.
void WorkerPool::park() {
  const std::uint32_t epoch = epoch_.load();
  asleep_.store(true);
  if (!has_work() && !stop_.load()) epoch_.wait(epoch);
}

void Participant::share(WorkLevel level, std::int64_t count, SharedWork& work) {
  const std::size_t index = level == WorkLevel::kBranches ? branch_slot_ : tile_slot_;
  if (count <= 1 || count > kMaxShared || index == kNoSlot || pool_->workers_.empty()) {
    for (std::int64_t i = 0; i < count; ++i) work.run(i, *this);
    return;
  }
  WorkerPool::Slot& slot = pool_->slots_[index];
  slot.range.store(static_cast<std::uint64_t>(count) << 32, std::memory_order_relaxed);
  slot.team.store(team_, std::memory_order_relaxed);
  slot.work.store(&work);
  pool_->wake();
  for (std::int64_t i; (i = slot.take(true)) >= 0;) work.run(i, *this);
  slot.work.store(nullptr);
  for (int pauses = 0; slot.users.load() != 0;) {
    if (level == WorkLevel::kBranches && pool_->help(*this, team_)) {
      pauses = 0;
    } else if (++pauses < kPausesBeforeYield) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

WorkerPool::Stay::Stay(WorkerPool& pool) : pool_(pool) {
  participant_.pool_ = &pool;
  participant_.team_ = this;
  if (pool.workers_.empty()) return;
  {
    const std::lock_guard lock(pool.caller_mutex_);
    for (std::size_t i = 0; i < kCallers; ++i) {
      if (pool.caller_taken_[i]) continue;
      pool.caller_taken_[i] = true;
      participant_.branch_slot_ = i;
      participant_.tile_slot_ = kCallers + i;
      break;
    }
  }
  pool.runs_.fetch_add(1);
  pool.wake();
}

WorkerPool::Stay::~Stay() {
  if (pool_.workers_.empty()) return;
  pool_.runs_.fetch_sub(1);
  if (participant_.branch_slot_ == Participant::kNoSlot) return;
  const std::lock_guard lock(pool_.caller_mutex_);
  pool_.caller_taken_[participant_.branch_slot_] = false;
}

}  // namespace parallax
