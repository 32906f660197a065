#include "run/run_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/byte_text.h"
#include "base/checked.h"
#include "base/status.h"

namespace parallax {
namespace {

/// So much longer may a run take because its block gets large pages that the first run with it did
/// not wait for.
constexpr std::chrono::milliseconds kPromotion{50};

/// Bytes of a block that large pages can hold: fewer faults at the first run, fewer misses of the
/// page table at all.
std::int64_t whole_pages(std::int64_t bytes) { return bytes / kLargePage * kLargePage; }

Error over_budget(std::int64_t wanted, std::int64_t held, std::int64_t limit) {
  return {Stage::kExecute,
          ErrorCode::kBudgetExceeded,
          {},
          fmt::format("{} are needed beside {} held, {} more than the memory budget of {}",
                      byte_text(wanted), byte_text(held), byte_text(wanted - (limit - held)),
                      byte_text(limit))};
}

}  // namespace

void RunMemory::Free::operator()(std::byte* p) const {
  if (owner == nullptr) std::free(p);
}

Result<RunMemory::Block> RunMemory::allocate(std::int64_t bytes,
                                             std::shared_ptr<MemorySource> source) {
  const std::int64_t alignment = bytes >= kLargePage ? kLargePage : kAlignment;
  const auto rounded = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  // Not aligned_alloc: that wants whole huge pages.
  void* memory = nullptr;
  std::shared_ptr<std::byte> owner;
  if (rounded && source->is_users()) {
    owner = source->allocate(*rounded, kAlignment);
    memory = owner.get();
  } else if (!rounded || posix_memalign(&memory, static_cast<std::size_t>(alignment),
                                        static_cast<std::size_t>(*rounded)) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr) {
    return tl::unexpected(Error{Stage::kExecute,
                                ErrorCode::kOutOfMemory,
                                {},
                                fmt::format("cannot allocate {} bytes for activations", bytes)});
  }
  Block block{{static_cast<std::byte*>(memory), Free{std::move(owner)}}, bytes};
  block.source = std::move(source);
  return block;
}

/// Gives a block large pages as far as they come quickly; every further run with it a few more.
void RunMemory::touch(Block& block, bool fresh) {
  const std::int64_t whole = whole_pages(block.bytes);
  if (!block.source->large()) {
    if (fresh) block.source->want_small({block.memory.get(), static_cast<std::size_t>(whole)});
    return;
  }
  LargePageWatch& watch = block.source->watch();
  const auto begin = std::chrono::steady_clock::now();
  if (fresh && whole > 0) want_large({block.memory.get(), static_cast<std::size_t>(whole)});
  while (block.large < whole && (fresh || std::chrono::steady_clock::now() - begin < kPromotion)) {
    std::byte* const page = block.memory.get() + block.large;
    if (!fresh) {
      promote_page(page);
    } else if (!watch.quick()) {
      return want_small({page, static_cast<std::size_t>(whole - block.large)});
    } else {
      first_touch(page, &watch);
    }
    block.large += kLargePage;
  }
}

/// Moves the smallest idle block that suffices to `block`.
bool RunMemory::take_idle(const Request& request, Block& block) {
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    if (it->bytes >= request.bytes && it->source == request.source &&
        (best == idle_.end() || it->bytes < best->bytes))
      best = it;
  }
  if (best == idle_.end()) return false;
  block = std::move(*best);
  idle_.erase(best);
  return true;
}

/// Returns when the run may start. The mutex is not held while the limit is read.
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
      // There may be room for the next one as well.
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

/// Whether the run may start now, idle blocks given up if need be.
bool RunMemory::admissible(const Request& request) const {
  if (runs_ == 0) return true;
  if (exclusive_ || (request.grows && request.limit)) return false;
  return !request.limit || request.bytes + request.spare <= *request.limit - (held_ - idle_bytes());
}

std::int64_t RunMemory::idle_bytes() const {
  std::int64_t bytes = 0;
  for (const Block& block : idle_) bytes += block.bytes;
  return bytes;
}

void RunMemory::drop_idle_above(std::int64_t limit) {
  for (; held_ > limit && !idle_.empty(); idle_.pop_back()) held_ -= idle_.back().bytes;
}

void RunMemory::hold(std::int64_t bytes) {
  held_ += bytes;
  peak_ = std::max(peak_, held_);
}

/// The block of a run that starts now. `fresh`: it was not idle before.
Result<RunMemory::Block> RunMemory::take_block(const Request& request, bool& fresh) {
  // So that going back never fails.
  idle_.reserve(idle_.size() + static_cast<std::size_t>(runs_) + 1);
  Block block;
  fresh = !take_idle(request, block);
  // The limit may have shrunk since the blocks were made.
  if (!fresh && request.limit) drop_idle_above(*request.limit - request.spare);
  // A run that grows needs what a block that is too large would waste.
  const bool fits = !request.limit || held_ <= *request.limit - request.spare;
  if (!fresh && (!fits || (request.grows && request.limit && block.bytes > request.bytes))) {
    held_ -= block.bytes;
    block = Block{};
    fresh = true;
  }
  if (!fresh) return block;
  if (runs_ == 0) drop_idle_above(0);
  if (request.limit) drop_idle_above(*request.limit - request.bytes - request.spare);
  PX_ASSIGN(block, allocate(request.bytes, request.source));
  hold(request.bytes);
  return block;
}

Result<RunMemory::Lease> RunMemory::acquire(Request request) {
  if (request.source == nullptr) request.source = source_;
  const bool exclusive = request.grows && request.limit.has_value();
  Block block;
  bool fresh = false;
  const WakeOnStop wake(request.deadline, mutex_, changed_);
  {
    const MutexLock lock(mutex_);
    PX_RETURN_IF_ERROR(wait_for_turn(request));
    if (request.from != nullptr) held_ -= std::exchange(request.from->bytes_, 0);
    PX_ASSIGN(block, take_block(request, fresh));
    hold(request.spare);
    ++runs_;
    exclusive_ = exclusive;
  }
  touch(block, fresh);
  return Lease(*this, std::move(block), request, exclusive);
}

void RunMemory::give_back(Block block, bool exclusive, bool fixed,
                          std::optional<std::int64_t> limit) {
  {
    const MutexLock lock(mutex_);
    if (fixed) {
      fixed_ -= block.bytes;
    } else {
      --runs_;
      if (exclusive) exclusive_ = false;
    }
    if (idle_.size() < idle_.capacity()) {
      idle_.push_back(std::move(block));
    } else {
      held_ -= block.bytes;  // of a device that answered when its run was long over
    }
    if (limit) drop_idle_above(*limit);
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
  const MutexLock lock(mutex_);
  fixed_ += bytes;
  return {};
}

void RunMemory::unfix(std::int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    fixed_ -= bytes;
  }
  release(bytes);
}

std::int64_t RunMemory::fixed_bytes() const {
  const MutexLock lock(mutex_);
  return fixed_;
}

bool RunMemory::lower(std::int64_t limit) {
  const MutexLock lock(mutex_);
  drop_idle_above(limit);
  return held_ <= limit;
}

void RunMemory::trim() {
  const MutexLock lock(mutex_);
  drop_idle_above(0);
}

Status RunMemory::reserve(std::int64_t bytes, std::optional<std::int64_t> limit) {
  const MutexLock lock(mutex_);
  if (limit) {
    drop_idle_above(*limit - bytes);
    if (bytes > *limit - held_) return tl::unexpected(over_budget(bytes, held_, *limit));
  }
  hold(bytes);
  return {};
}

void RunMemory::release(std::int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    held_ -= bytes;
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
      limit_(other.limit_.load(std::memory_order_relaxed)),
      spare_(std::exchange(other.spare_, 0)),
      exclusive_(other.exclusive_),
      fixed_(other.fixed_),
      more_(std::exchange(other.more_, 0)) {}

RunMemory::Lease::~Lease() {
  if (owner_ == nullptr) return;
  (void)take_spare();
  if (more_ > 0) owner_->unfix(more_);
  owner_->give_back(std::move(block_), exclusive_, fixed_, limit());
}

RunMemory::Spare RunMemory::Lease::take_spare() {
  if (owner_ == nullptr) return {};
  return {*owner_, std::exchange(spare_, 0)};
}

void RunMemory::Lease::set_aside(std::int64_t more) {
  if (std::exchange(fixed_, true)) return;
  more_ = more;
  owner_->set_aside(block_.bytes + more, exclusive_);
}

bool RunMemory::Lease::set_limit(std::int64_t limit) {
  limit = std::max<std::int64_t>(limit, 0);
  limit_.store(limit, std::memory_order_relaxed);
  return owner_->lower(limit);
}

}  // namespace parallax
