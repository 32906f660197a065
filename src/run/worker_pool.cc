#include "run/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace parallax {
namespace {

/// Runs that go on at once, at least; more where a pool has more threads.
constexpr int kPlaces = 8;
/// How long a thread looks for the next node before it parks: during a run, where the next node
/// that has tiles is seldom further away, and after one, because the next run may follow at once.
/// On two Zen 4 cores of a virtual machine waking a thread takes 10 microseconds of the thread that
/// wakes it, and it runs 40 microseconds later.
constexpr std::chrono::microseconds kSpinInRun{200}, kSpinAfterRun{50};
/// The first of it without the system's help; then the thread offers its core to others each time
/// it looks, because the thread with the next node may need it, or another process.
constexpr int kPausesBeforeYield = 200;
/// Work that is done before another thread could have begun: its owner keeps it.
constexpr double kKeptNs = 1'000;
/// What waking a thread costs, its way to the work included.
constexpr double kWakeNs = 20'000;
/// More indices than this run on one thread: a slot counts in 32 bits.
constexpr std::int64_t kMaxShared = 0xFFFFFFFF;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// What a thread does while there is nothing to do.
class Idle {
 public:
  void reset() { pauses_ = 0; }

  /// Waits a moment; false where it is time to park.
  bool spin(std::chrono::microseconds longest) {
    if (++pauses_ < kPausesBeforeYield) {
      pause();
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == kPausesBeforeYield) since_ = now;
    std::this_thread::yield();
    return now - since_ < longest;
  }

 private:
  int pauses_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace

/// Where a participant offers work. A helper announces itself in `users` before it looks at `work`,
/// and the owner takes `work` away before it waits for `users` to reach 0 (all sequentially
/// consistent): so a helper never touches work whose owner has gone on.
struct WorkerPool::Slot {
  alignas(64) std::atomic<SharedWork*> work{nullptr};
  std::atomic<const void*> team{nullptr};
  std::atomic<WorkerRow> row{};                     // of the team
  std::atomic<std::int64_t> all{0};                 // indices offered
  alignas(64) std::atomic<std::uint64_t> range{0};  // indices left: first in the low half, then end
  alignas(64) std::atomic<int> users{0};
  std::atomic<bool> owner_parks{false};
  std::atomic<bool> owner_waits{false};  // among parked_, for `users`

  void open(std::int64_t count, const void* whose, WorkerRow helpers, SharedWork& what) {
    all.store(count, std::memory_order_relaxed);
    range.store(static_cast<std::uint64_t>(count) << 32, std::memory_order_relaxed);
    team.store(whose, std::memory_order_relaxed);
    row.store(helpers, std::memory_order_relaxed);
    work.store(&what);
  }

  /// Takes the work away and waits for those who still do some of it.
  void close() {
    work.store(nullptr);
    for (Idle idle; users.load() != 0;) {
      if (idle.spin(kSpinInRun)) continue;
      owner_parks.store(true);
      if (const int left = users.load(); left != 0) users.wait(left);
      owner_parks.store(false);
    }
  }

  /// Whether the owner is to be woken.
  bool leave() {
    const bool last = users.fetch_sub(1) == 1;
    if (owner_parks.load()) users.notify_all();
    return last && owner_waits.load();
  }

  static std::uint32_t first(std::uint64_t range) { return static_cast<std::uint32_t>(range); }
  static std::uint32_t end(std::uint64_t range) { return static_cast<std::uint32_t>(range >> 32); }

  bool has_work() const {
    const std::uint64_t left = range.load();
    return first(left) < end(left) && work.load() != nullptr;
  }

  /// Whether a worker may help, or, where it works for `whose`, that is who offers this work.
  bool takes(int worker, const void* whose) const {
    return whose == nullptr ? row.load(std::memory_order_relaxed).has(worker)
                            : whose == team.load(std::memory_order_relaxed);
  }

  /// The next index, -1 where none is left. Of tiles the owner takes the front and helpers the
  /// back: over the nodes of a branch each thread mostly works where it worked before, which is
  /// what its cache holds. tile() then lets helpers go upwards too, as kernels prefetch.
  std::int64_t take(bool front) {
    std::uint64_t left = range.load(std::memory_order_relaxed);
    while (first(left) < end(left)) {
      const std::uint64_t rest = front ? left + 1 : left - (std::uint64_t{1} << 32);
      if (range.compare_exchange_weak(left, rest, std::memory_order_relaxed))
        return front ? first(left) : end(left) - 1;
    }
    return -1;
  }

  /// The second half in reverse.
  std::int64_t tile(std::int64_t index) const {
    const std::int64_t count = all.load(std::memory_order_relaxed), half = count / 2;
    return index < half ? index : half + (count - 1 - index);
  }
};

/// A worker without a thread of its own.
struct WorkerPool::Guest : std::enable_shared_from_this<Guest> {
  explicit Guest(WorkerPool& host) : pool(&host) {}

  /// By a thread of the user's.
  void visit() {
    WorkerPool* host = nullptr;
    {
      const MutexLock lock(mutex);
      if (pool == nullptr) return;
      ++inside;
      host = pool;
    }
    host->work(self);
    const MutexLock lock(mutex);
    --inside;
    changed.notify_all();
  }
  /// No thread has come.
  void stay_away() {
    const MutexLock lock(mutex);
    if (pool != nullptr) pool->park(self);
  }
  /// Returns when no thread is inside, and none will be.
  void end() {
    const MutexLock lock(mutex);
    while (inside > 0) changed.wait(mutex);
    pool = nullptr;
  }

  Mutex mutex;
  Condition changed;
  WorkerPool* pool PX_GUARDED_BY(mutex);
  int inside PX_GUARDED_BY(mutex) = 0;  // one more for a moment, when one goes and another comes
  Participant self;
};

/// What a task of the user's holds.
struct WorkerPool::Ticket {
  explicit Ticket(std::shared_ptr<Guest> whose) : guest(std::move(whose)) {}
  ~Ticket() {
    if (!used) guest->stay_away();
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  const std::shared_ptr<Guest> guest;
  std::atomic<bool> used{false};
};

WorkerPool::WorkerPool(int threads, int cpus, int at_first, std::shared_ptr<ThreadPool> users)
    : process_(process_number()),
      most_(std::max(threads, 1)),
      cpus_(cpus),
      places_(static_cast<std::size_t>(std::max(kPlaces, most_)), most_ - 1),
      slots_(2 * places_.count() + static_cast<std::size_t>(most_ - 1)),
      workers_(std::make_unique<std::vector<std::thread>>()),
      users_(std::move(users)),
      guests_(std::make_unique<std::vector<std::shared_ptr<Guest>>>()) {
  parked_.reserve(slots_.size());
  // From the first thread on nothing may throw.
  workers_->reserve(static_cast<std::size_t>(most_ - 1));
  guests_->reserve(static_cast<std::size_t>(most_ - 1));
  start(at_first);
}

void WorkerPool::init(Participant& worker, int index) {
  worker.pool_ = this;
  worker.worker_ = index;
  worker.tile_slot_ = 2 * places_.count() + static_cast<std::size_t>(index - 1);
}

/// Throws where there is no thread, or no memory for one.
void WorkerPool::add_worker(int index) {
  if (users_ == nullptr) {
    workers_->emplace_back([this, index] {
      Participant self;
      init(self, index);
      work(self);
    });
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
    // Handles of threads that are not there can neither be joined nor detached.
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
  for (Idle idle; !stop_.load(std::memory_order_relaxed);) {
    if (!crowded(asleep_.load()) && help(self, nullptr)) {
      idle.reset();
    } else if (!may_spin() || !idle.spin(runs_.load(std::memory_order_relaxed) == 0 ? kSpinAfterRun
                                                                                    : kSpinInRun)) {
      if (self.guest_ == nullptr) {
        park_while(self, nothing_to_do);
      } else if (leaves(self, nothing_to_do)) {
        return;
      }
      idle.reset();
    }
  }
}

/// The first slot from `slot` on that a caller of now, or a worker, may have.
std::size_t WorkerPool::used(std::size_t slot) const {
  const std::size_t callers = places_.end(), places = places_.count();
  const std::size_t first = slot < places ? 0 : places;
  if (slot >= 2 * places || slot - first < callers) return slot;
  return callers > 0 ? first + places : 2 * places;
}

/// No thread has a slot from this one on.
std::size_t WorkerPool::end() const {
  return 2 * places_.count() + static_cast<std::size_t>(started_.load(std::memory_order_relaxed));
}

/// Whether callers and workers, of which `asleep` do not compute, are more than the pool is for.
bool WorkerPool::crowded(int asleep) const {
  return runs_.load(std::memory_order_relaxed) + started_.load(std::memory_order_relaxed) - asleep >
         most_;
}

/// Whether there is something that help() would do.
bool WorkerPool::has_work(const Participant& self, const void* team) const {
  for (std::size_t i = used(team == nullptr ? 0 : places_.count()); i < end(); i = used(i + 1))
    if (slots_[i].has_work() && slots_[i].takes(self.worker_, team)) return true;
  return false;
}

/// Does something for any run that this worker may help, or for `team` only; false where there was
/// nothing. A thread that waits for its own run must not take a branch: it would come back late.
bool WorkerPool::help(Participant& self, const void* team) {
  bool helped = false;
  for (std::size_t i = used(team == nullptr ? 0 : places_.count()); i < end(); i = used(i + 1))
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
    if (team == nullptr) self.row_ = slot.row.load(std::memory_order_relaxed);
    Slot* const outer_growing = self.growing_;
    const bool branches = index < places_.count();  // the heaviest come first
    if (branches) self.growing_ = &slot;
    // One tile at a time where somebody waits for a whole step, all that is left otherwise, unless
    // a caller needs the core. Branches that become ready may have no other thread.
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

/// Wakes up to `wanted` threads for work that `self` offered just now. Threads announce themselves
/// in asleep_ before they look a last time, and work is offered before this looks for sleepers: one
/// of the two sees the other.
void WorkerPool::wake(const Participant& self, std::int64_t wanted) {
  if (asleep_.load() == 0) return;
  Participant* guests = nullptr;
  {
    const MutexLock lock(park_mutex_);
    // All threads but those asleep are thought to be busy, each on a CPU of its own.
    const auto asleep = static_cast<std::int64_t>(parked_.size());
    const std::int64_t busy = runs_.load() + started_.load() - asleep;
    std::int64_t left = std::min(wanted, std::min(cpus_, most_) - busy);
    // The last to park first: their caches are warmest.
    for (std::size_t i = parked_.size(); i > 0 && left > 0; --i) {
      const Participant& sleeper = *parked_[i - 1];
      const bool helps =
          sleeper.worker_ == 0 ? sleeper.team_ == self.team_ : self.row_.has(sleeper.worker_);
      if (!helps) continue;
      wake_one(i - 1, guests);
      --left;
    }
  }
  call(guests);
}

/// The same once the work that sleepers missed has come to what waking them costs.
void WorkerPool::wake_if_worth(Participant& self, std::int64_t wanted, double nanoseconds) {
  if (asleep_.load() == 0) return;
  self.missed_ns_ += nanoseconds;
  if (self.missed_ns_ < kWakeNs) return;
  self.missed_ns_ = 0;
  wake(self, wanted);
}

/// All threads; guests are called for work that is worth it.
void WorkerPool::wake_all() {
  const MutexLock lock(park_mutex_);
  Participant* none = nullptr;
  for (std::size_t i = parked_.size(); i > 0; --i)
    if (parked_[i - 1]->guest_ == nullptr) wake_one(i - 1, none);
}

/// Adds a guest to `guests`: it is called without the mutex.
void WorkerPool::wake_one(std::size_t parked, Participant*& guests) {
  Participant& sleeper = *parked_[parked];
  parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(parked));
  asleep_.store(static_cast<int>(parked_.size()));
  if (sleeper.guest_ != nullptr) {
    sleeper.next_called_ = std::exchange(guests, &sleeper);
    return;
  }
  sleeper.parked_.store(0);
  sleeper.parked_.notify_one();
  unparked_.notify_all();
}

/// Gives the user's pool a task for each of `guests`.
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
    try {
      users_->submit([ticket] {
        if (!ticket->used.exchange(true)) ticket->guest->visit();
      });
    } catch (...) {  // NOLINT(bugprone-empty-catch): the ticket goes unused
    }
  }
}

void WorkerPool::park(Participant& self) {
  const MutexLock lock(park_mutex_);
  self.parked_.store(1);
  parked_.push_back(&self);
  asleep_.store(static_cast<int>(parked_.size()));
}

/// Parks a guest; true where its thread is to go.
template <class Idle>
bool WorkerPool::leaves(Participant& self, Idle nothing_to_do) {
  park(self);
  if (nothing_to_do()) return true;
  const MutexLock lock(park_mutex_);
  // Where it has been called meanwhile, another thread comes.
  const bool called = std::erase(parked_, &self) == 0;
  asleep_.store(static_cast<int>(parked_.size()));
  return called;
}

/// Sleeps until woken, or until that time.
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
  // The thread that wakes this one holds the lock while it touches it.
  const MutexLock lock(park_mutex_);
  std::erase(parked_, &self);
  asleep_.store(static_cast<int>(parked_.size()));
}

void Participant::share(WorkLevel level, std::int64_t count, SharedWork& work, double nanoseconds) {
  const std::size_t index = level == WorkLevel::kBranches ? branch_slot_ : tile_slot_;
  if (count <= 1 || count > kMaxShared || nanoseconds < kKeptNs || index == kNoSlot ||
      row_.width <= 1) {
    for (std::int64_t i = 0; i < count; ++i) work.run(i, *this);
    return;
  }
  WorkerPool::Slot& slot = pool_->slots_[index];
  slot.open(count, team_, row_, work);
  pool_->wake_if_worth(*this, count - 1, nanoseconds);
  const bool tiles = level == WorkLevel::kTiles;
  for (std::int64_t i; (i = slot.take(true)) >= 0;) work.run(tiles ? slot.tile(i) : i, *this);
  if (level == WorkLevel::kBranches) {
    // Tiles of the branches that others run still.
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
  WorkerPool::Slot alone;  // where no other thread can help
  WorkerPool::Slot& slot = branch_slot_ == kNoSlot ? alone : pool_->slots_[branch_slot_];
  growing_ = &slot;
  work.begins(Growth(*pool_, slot));
  slot.open(ready, team_, row_, work);
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
    place_ = pool.places_.wait_for(threads, pool.threads() - 1, deadline);
    if (place_.index == RunPlaces::kNone) return;
  }
  enter();
}

WorkerPool::Stay::Stay(WorkerPool& pool, int width) : pool_(pool) {
  const int threads = std::min(width, pool.threads());
  if (threads > 1) place_ = pool.places_.take_free(threads, pool.threads() - 1);
  enter();
}

void WorkerPool::Stay::enter() {
  entered_ = true;
  participant_.pool_ = &pool_;
  participant_.team_ = this;
  if (place_.index != RunPlaces::kNone) {
    participant_.branch_slot_ = place_.index;
    participant_.tile_slot_ = pool_.places_.count() + place_.index;
    participant_.row_ = place_.row;
  }
  pool_.runs_.fetch_add(1);
}

WorkerPool::Stay::~Stay() {
  if (!entered_) return;
  pool_.runs_.fetch_sub(1);
  if (place_.index != RunPlaces::kNone) pool_.places_.leave(place_);
}

}  // namespace parallax
