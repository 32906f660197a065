#include "run/run_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/byte_text.h"
#include "base/status.h"

namespace parallax {
namespace {

/// Held bytes may exceed the most that runs needed together by one part in this many, and a block
/// may exceed its request as much.
constexpr std::int64_t kSlack = 10;

/// More bytes than any machine has, and few enough that sums of them do not overflow.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;

Error over_budget(std::int64_t wanted, std::int64_t held, std::int64_t limit) {
  return {Stage::kRun,
          ErrorCode::kBudgetExceeded,
          {},
          fmt::format("{} are needed next to {} held, {} more than the memory budget of {}",
                      byte_text(wanted), byte_text(held), byte_text(wanted - (limit - held)),
                      byte_text(limit))};
}

}  // namespace

class RunMemory::Evicted {
 public:
  explicit Evicted(RunMemory& owner) : owner_(owner) {}
  Evicted(const Evicted&) = delete;
  Evicted& operator=(const Evicted&) = delete;
  ~Evicted() {
    if (blocks_.empty()) return;
    blocks_.clear();
    {
      const MutexLock lock(owner_.mutex_);
      owner_.leaving_ -= bytes_;
    }
    owner_.changed_.notify_all();
  }

  void add(Blocks& from, Blocks::iterator block) {
    bytes_ += block->bytes;
    blocks_.splice(blocks_.end(), from, block);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  RunMemory& owner_;
  Blocks blocks_;
  std::int64_t bytes_ = 0;
};

/// Finds the smallest idle block that suffices.
RunMemory::Blocks::iterator RunMemory::best_idle(const Request& request) {
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (it->bytes >= request.bytes && it->source == request.source &&
        (best == idle_.end() || it->bytes < best->bytes))
      best = it;
  }
  return best;
}

std::int64_t RunMemory::bytes_of(const Spare* spare) {
  return spare == nullptr ? 0 : spare->bytes_;
}

/// Blocks until the run may start. Reads the limit without holding the mutex.
Status RunMemory::wait_for_turn(Request& request) {
  const auto fits_alone = [&](std::int64_t fixed) -> Status {
    const std::int64_t wanted = request.bytes + request.spare;
    if (!request.limit || wanted <= *request.limit - fixed) return {};
    return tl::unexpected(over_budget(wanted, fixed, *request.limit));
  };
  if (request.from != nullptr && request.bytes <= request.from->bytes_) return {};
  PX_RETURN_IF_ERROR(fits_alone(fixed_));
  if (waiting_.empty() && admissible(request)) return {};
  waiting_.push_back(&request);
  struct Leaving {
    ~Leaving() {
      std::erase(memory.waiting_, &who);
      // There may also be room for the next run.
      if (!memory.waiting_.empty()) memory.changed_.notify_all();
    }
    RunMemory& memory;
    const Request& who;
  };
  const Leaving leaving{*this, request};
  Status status;
  while (status && (waiting_.front() != &request || !admissible(request))) {
    if (!wait_within(request.deadline, mutex_, changed_)) status = check_deadline(request.deadline);
    if (request.read_limit == nullptr || waiting_.front() != &request || !status) continue;
    mutex_.unlock();
    const auto limit = (*request.read_limit)();
    mutex_.lock();
    request.limit = limit;
    status = fits_alone(fixed_);
  }
  return status;
}

/// Whether the run may start now, if necessary after evicting idle blocks.
bool RunMemory::admissible(const Request& request) const {
  const bool alone = runs_ == 0 && leaving_ == 0;
  if (!alone && (exclusive_ || (request.grows && request.limit))) return false;
  const std::int64_t others = held_ + leaving_ - idle_bytes() - bytes_of(request.from);
  return !request.limit || request.bytes + request.spare <= *request.limit - others;
}

std::int64_t RunMemory::idle_bytes() const {
  std::int64_t bytes = 0;
  for (const RunBlock& block : idle_) bytes += block.bytes;
  return bytes;
}

/// The limit on held bytes while blocks are idle.
std::int64_t RunMemory::most_kept() const { return most_needed_ + most_needed_ / kSlack; }

void RunMemory::hold(std::int64_t bytes) {
  held_ += bytes;
  peak_ = std::max(peak_, held_);
}

/// Updates the peak, after held bytes were allocated.
void RunMemory::note_peak() {
  const MutexLock lock(mutex_);
  hold(0);
}

void RunMemory::need(std::int64_t bytes) {
  needed_ += bytes;
  most_needed_ = std::max(most_needed_, needed_);
}

void RunMemory::evict(Blocks::iterator block, Evicted& evicted) {
  held_ -= block->bytes;
  leaving_ += block->bytes;
  evicted.add(idle_, block);
}

/// Evicts the smallest idle block of at least `excess` bytes, else the largest. REQUIRES: there is
/// an idle block.
void RunMemory::evict_one(std::int64_t excess, Evicted& evicted) {
  auto best = idle_.begin();
  for (auto it = std::next(best); it != idle_.end(); ++it) {
    const bool is_better = best->bytes < excess ? it->bytes > best->bytes
                                                : excess <= it->bytes && it->bytes < best->bytes;
    if (is_better) best = it;
  }
  evict(best, evicted);
}

/// Evicts idle blocks until at most `limit` bytes are held.
void RunMemory::evict_above(std::int64_t limit, Evicted& evicted) {
  while (held_ + leaving_ - evicted.bytes() > limit && !idle_.empty())
    evict_one(held_ + leaving_ - evicted.bytes() - limit, evicted);
}

/// Evicts idle blocks that runs never needed together with `more` bytes and those in use.
void RunMemory::evict_unneeded(std::int64_t more, Evicted& evicted) {
  while (!idle_.empty() && (held_ + more > most_kept() || idle_.size() + runs_ > most_runs_))
    evict_one(held_ + more - most_kept(), evicted);
}

/// Whether a new block for the run, whose bytes count already, would evict no idle block.
bool RunMemory::has_room_beside(const Request& request) const {
  const std::int64_t held = held_ + request.bytes + request.spare;
  return idle_.size() + runs_ <= most_runs_ && held <= most_kept() &&
         (!request.limit || held + leaving_ <= *request.limit);
}

/// Returns the block of a run that starts now; empty: allocate one, whose bytes are reserved.
RunMemory::Blocks RunMemory::take_block(const Request& request, Evicted& evicted) {
  ++runs_;
  most_runs_ = std::max(most_runs_, runs_);
  need(request.bytes + request.spare);
  Blocks block;
  auto best = best_idle(request);
  const bool wastes = best != idle_.end() && best->bytes - request.bytes > request.bytes / kSlack;
  // A larger run may need the block that is too large for this one.
  if (best != idle_.end() && !(wastes && has_room_beside(request))) {
    block.splice(block.end(), idle_, best);
    // The limit may have shrunk since the blocks were made.
    if (request.limit) evict_above(*request.limit - request.spare, evicted);
    const bool fits = !request.limit || held_ <= *request.limit - request.spare;
    // A run that grows needs the bytes that a block that is too large would waste.
    if (fits && !(request.grows && request.limit && best->bytes > request.bytes)) {
      hold(request.spare);
      evict_unneeded(0, evicted);
      return block;
    }
    idle_.splice(idle_.end(), block);
    evict(best, evicted);
  }
  const std::int64_t bytes = request.bytes + request.spare;
  evict_unneeded(bytes, evicted);
  if (request.limit) evict_above(*request.limit - bytes, evicted);
  held_ += bytes;
  return block;
}

Result<RunMemory::Lease> RunMemory::acquire(Request request) {
  if (request.source == nullptr) request.source = source_;
  const bool exclusive = request.grows && request.limit.has_value();
  Lease lease(request, exclusive);
  const WakeOnStop wake(request.deadline, mutex_, changed_);
  {
    Evicted evicted(*this);
    const MutexLock lock(mutex_);
    PX_RETURN_IF_ERROR(wait_for_turn(request));
    if (request.bytes > kMaxBytes) return tl::unexpected(out_of_memory(request.bytes));
    if (request.from != nullptr) {
      const std::int64_t bytes = std::exchange(request.from->bytes_, 0);
      held_ -= bytes;
      needed_ -= bytes;
    }
    lease.block_ = take_block(request, evicted);
    lease.owner_ = this;
    exclusive_ = exclusive;
  }
  lease.limit_.store(request.limit.value_or(Lease::kNoLimit), std::memory_order_relaxed);
  const bool fresh = lease.block_.empty();
  if (fresh) {
    PX_ASSIGN(lease.block_, allocate_block(request.bytes, request.source));
    note_peak();
  }
  touch_block(lease.block_.front(), fresh, request.deadline);
  return lease;
}

void RunMemory::give_back(Blocks block, std::int64_t needed, bool exclusive, bool fixed,
                          std::optional<std::int64_t> limit) {
  {
    Evicted evicted(*this);
    const MutexLock lock(mutex_);
    if (fixed) {
      fixed_ -= block.front().bytes;
    } else {
      --runs_;
      if (exclusive) exclusive_ = false;
    }
    needed_ -= needed;
    if (block.empty()) {  // it could not be allocated
      held_ -= needed;
      most_needed_ = needed_;
    }
    idle_.splice(idle_.end(), block);
    evict_unneeded(0, evicted);
    if (limit) evict_above(*limit, evicted);
  }
  changed_.notify_all();
}

void RunMemory::set_aside(std::int64_t bytes, bool exclusive) {
  {
    const MutexLock lock(mutex_);
    fixed_ += bytes;
    --runs_;
    if (exclusive) exclusive_ = false;
  }
  changed_.notify_all();
}

Status RunMemory::fix(std::int64_t bytes, std::optional<std::int64_t> limit) {
  PX_RETURN_IF_ERROR(reserve(bytes, limit));
  {
    const MutexLock lock(mutex_);
    fixed_ += bytes;
  }
  changed_.notify_all();  // a waiting run may never fit next to these bytes
  return {};
}

void RunMemory::unfix(std::int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    fixed_ -= bytes;
    held_ -= bytes;
    needed_ -= bytes;
  }
  changed_.notify_all();
}

std::int64_t RunMemory::fixed_bytes() const {
  const MutexLock lock(mutex_);
  return fixed_;
}

bool RunMemory::lower(std::int64_t limit) {
  Evicted evicted(*this);
  const MutexLock lock(mutex_);
  evict_above(limit, evicted);
  return held_ <= limit;
}

void RunMemory::trim() {
  Evicted evicted(*this);
  const MutexLock lock(mutex_);
  while (!idle_.empty()) evict(idle_.begin(), evicted);
  most_needed_ = needed_;
  most_runs_ = runs_;
}

Status RunMemory::reserve(std::int64_t bytes, std::optional<std::int64_t> limit) {
  if (bytes > kMaxBytes) return tl::unexpected(out_of_memory(bytes));
  while (true) {
    Evicted evicted(*this);
    const MutexLock lock(mutex_);
    if (limit) evict_above(*limit - bytes, evicted);
    const std::int64_t others = leaving_ - evicted.bytes();
    if (!limit || bytes <= *limit - held_ - others) {
      need(bytes);
      evict_unneeded(bytes, evicted);
      hold(bytes);
      return {};
    }
    if (others == 0) return tl::unexpected(over_budget(bytes, held_, *limit));
    // Another thread is about to free the blocks it evicted; this one frees its own first.
    if (evicted.bytes() == 0) changed_.wait(mutex_);
  }
}

void RunMemory::release(std::int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    held_ -= bytes;
    needed_ -= bytes;
  }
  changed_.notify_all();
}

std::int64_t RunMemory::held_bytes() const {
  const MutexLock lock(mutex_);
  return held_;
}

std::int64_t RunMemory::busy_bytes() const {
  const MutexLock lock(mutex_);
  return held_ - idle_bytes();
}

std::int64_t RunMemory::peak_bytes() const {
  const MutexLock lock(mutex_);
  return peak_;
}

std::size_t RunMemory::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

RunMemory::Lease::Lease(Lease&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      block_(std::move(other.block_)),
      needed_(other.needed_),
      limit_(other.limit_.load(std::memory_order_relaxed)),
      spare_(std::exchange(other.spare_, 0)),
      exclusive_(other.exclusive_),
      fixed_(other.fixed_),
      more_(std::exchange(other.more_, 0)) {}

RunMemory::Lease::~Lease() {
  if (owner_ == nullptr) return;
  (void)take_spare();
  if (more_ > 0) owner_->unfix(more_);
  owner_->give_back(std::move(block_), needed_, exclusive_, fixed_, limit());
}

RunMemory::Spare RunMemory::Lease::take_spare() {
  if (owner_ == nullptr) return {};
  return {*owner_, std::exchange(spare_, 0)};
}

void RunMemory::Lease::set_aside(std::int64_t more) {
  if (std::exchange(fixed_, true)) return;
  more_ = more;
  owner_->set_aside(block_.front().bytes + more, exclusive_);
}

bool RunMemory::Lease::set_limit(std::int64_t limit) {
  limit = std::max<std::int64_t>(limit, 0);
  limit_.store(limit, std::memory_order_relaxed);
  return owner_->lower(limit);
}

}  // namespace parallax
