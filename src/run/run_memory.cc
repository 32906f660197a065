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
  const auto fits_alone = [&]() -> Status {
    if (!request.limit || request.bytes <= *request.limit) return {};
    return tl::unexpected(over_budget(request.bytes, 0, *request.limit));
  };
  PX_RETURN_IF_ERROR(fits_alone());
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
    status = fits_alone();
  }
  return status;
}

/// Whether the run may start now, idle blocks given up if need be.
bool RunMemory::admissible(const Request& request) const {
  if (runs_ == 0) return true;
  if (exclusive_ || (request.grows && request.limit)) return false;
  return !request.limit || request.bytes <= *request.limit - (held_ - idle_bytes());
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
  if (!fresh && request.limit) drop_idle_above(*request.limit);
  // A run that grows needs what a block that is too large would waste.
  const bool fits = !request.limit || held_ <= *request.limit;
  if (!fresh && (!fits || (request.grows && request.limit && block.bytes > request.bytes))) {
    held_ -= block.bytes;
    block = Block{};
    fresh = true;
  }
  if (!fresh) return block;
  if (runs_ == 0) drop_idle_above(0);
  if (request.limit) drop_idle_above(*request.limit - request.bytes);
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
    PX_ASSIGN(block, take_block(request, fresh));
    ++runs_;
    exclusive_ = exclusive;
  }
  touch(block, fresh);
  return Lease(*this, std::move(block), request.limit, exclusive);
}

void RunMemory::give_back(Block block, bool exclusive, std::optional<std::int64_t> limit) {
  {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(block));
    --runs_;
    if (exclusive) exclusive_ = false;
    if (limit) drop_idle_above(*limit);
  }
  changed_.notify_all();
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
      exclusive_(other.exclusive_) {}

RunMemory::Lease::~Lease() {
  if (owner_ != nullptr) owner_->give_back(std::move(block_), exclusive_, limit());
}

bool RunMemory::Lease::set_limit(std::int64_t limit) {
  limit = std::max<std::int64_t>(limit, 0);
  limit_.store(limit, std::memory_order_relaxed);
  return owner_->lower(limit);
}

}  // namespace parallax
