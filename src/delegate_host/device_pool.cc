#include "delegate_host/device_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "delegate_host/answers.h"

namespace parallax {
namespace {

/// Pieces may exceed the maximum that runs needed at the same time by this part of it.
constexpr std::size_t kPoolSlack = 10;

}  // namespace

Result<std::unique_ptr<DevicePiece>> DevicePiece::allocate(
    std::shared_ptr<const OpenDelegate> delegate, std::size_t bytes) {
  std::unique_ptr<DevicePiece> result(new DevicePiece(std::move(delegate), bytes));
  const OpenDelegate& its = *result->delegate_;
  px_memory given{};
  given.size = sizeof given;
  PX_RETURN_IF_ERROR(call_delegate([&](px_status* status) {
    return its.functions().allocate(its.device, bytes, &given, status);
  }));
  if (given.memory == nullptr)
    return tl::unexpected(
        Error{Stage::kRun, ErrorCode::kOutOfMemory, {}, "the delegate returned no memory"});
  result->memory_ = given;
  return result;
}

DevicePiece::~DevicePiece() {
  if (memory_.memory != nullptr && delegate_->is_here())
    delegate_->functions().release(delegate_->device, memory());
}

DevicePool::~DevicePool() { trim(); }

void DevicePool::trim() {
  Idle idle;
  {
    const MutexLock lock(mutex_);
    idle.swap(idle_);
    idle_bytes_ = 0;
    most_needed_ = needed_;
  }
  drop_all(idle);
}

void DevicePool::drop_all(Idle& evicted) noexcept {
  for (auto& [bytes, piece] : evicted) drop(std::move(piece));
}

/// Returns the number of bytes that may be held while there are idle pieces.
std::size_t DevicePool::most_kept() const { return most_needed_ + most_needed_ / kPoolSlack; }

/// Returns the smallest idle piece that suffices. Null if no piece does, or if a piece of the exact
/// size still fits: a larger value may need the idle one.
std::unique_ptr<DevicePiece> DevicePool::take_idle(std::size_t bytes) {
  const auto found = idle_.lower_bound(bytes);
  if (found == idle_.end()) return nullptr;
  const bool wastes = found->first - bytes > bytes / kPoolSlack;
  if (wastes && idle_bytes_ + busy_bytes_ + bytes <= most_kept()) return nullptr;
  std::unique_ptr<DevicePiece> piece = std::move(found->second);
  idle_.erase(found);
  idle_bytes_ -= piece->bytes();
  return piece;
}

/// Moves idle pieces to `evicted` until the pool is within its limit: the smallest that suffices,
/// or else the largest.
void DevicePool::evict_unneeded(Idle& evicted) {
  while (!idle_.empty() && idle_bytes_ + busy_bytes_ > most_kept()) {
    const auto enough = idle_.lower_bound(idle_bytes_ + busy_bytes_ - most_kept());
    const auto one = enough == idle_.end() ? std::prev(enough) : enough;
    idle_bytes_ -= one->first;
    evicted.insert(idle_.extract(one));
  }
}

std::unique_ptr<DevicePiece> DevicePool::largest_idle() {
  const MutexLock lock(mutex_);
  if (idle_.empty()) return nullptr;
  const auto last = std::prev(idle_.end());
  std::unique_ptr<DevicePiece> piece = std::move(last->second);
  idle_.erase(last);
  idle_bytes_ -= piece->bytes();
  return piece;
}

/// Gives idle pieces back to the device until there is room.
Status DevicePool::count(std::size_t bytes) {
  while (ledger_ != nullptr) {
    Status taken = ledger_->take(static_cast<std::int64_t>(bytes), "values of a run");
    if (taken) return {};
    auto piece = largest_idle();
    if (piece == nullptr) return taken;
    drop(std::move(piece));
  }
  return {};
}

/// Allocates a piece, and counts the memory that copies will need, which the piece allocates at the
/// first one.
Result<std::unique_ptr<DevicePiece>> DevicePool::allocate(std::size_t bytes) {
  PX_ASSIGN(auto piece, DevicePiece::allocate(delegate_, bytes));
  auto charge = DeviceCharge::make(host_, piece->memory_.host_bytes, 0, "copies of a value");
  if (!charge) {
    destroy_outside_answers([old = piece.release()] { delete old; });
    return tl::unexpected(std::move(charge).error());
  }
  piece->staging_ = *std::move(charge);
  return piece;
}

Result<std::unique_ptr<DevicePiece>> DevicePool::make(std::size_t bytes) {
  PX_RETURN_IF_ERROR(count(bytes));
  auto made = allocate(bytes);
  // The device's memory, or the host's, may be short even if the ledger's limit is not reached.
  while (!made && (made.error().code == ErrorCode::kOutOfMemory ||
                   made.error().code == ErrorCode::kBudgetExceeded)) {
    auto piece = largest_idle();
    if (piece == nullptr) break;
    drop(std::move(piece));
    made = allocate(bytes);
  }
  if (!made && ledger_ != nullptr) ledger_->give(static_cast<std::int64_t>(bytes));
  return made;
}

Result<std::shared_ptr<DevicePiece>> DevicePool::take(std::size_t bytes) {
  std::unique_ptr<DevicePiece> piece;
  Idle evicted;
  {
    const MutexLock lock(mutex_);
    needed_ += bytes;
    most_needed_ = std::max(most_needed_, needed_);
    piece = take_idle(bytes);
    busy_bytes_ += piece == nullptr ? bytes : piece->bytes();
    evict_unneeded(evicted);
  }
  drop_all(evicted);
  if (piece == nullptr) {
    auto made = make(bytes);
    if (!made) {
      const MutexLock lock(mutex_);
      busy_bytes_ -= bytes;
      needed_ -= bytes;
      most_needed_ = needed_;  // the memory is not available
      return tl::unexpected(std::move(made).error());
    }
    piece = *std::move(made);
  }
  return std::shared_ptr<DevicePiece>(piece.release(),
                                      [pool = shared_from_this(), bytes](DevicePiece* p) {
                                        pool->put(std::unique_ptr<DevicePiece>(p), bytes);
                                      });
}

void DevicePool::put(std::unique_ptr<DevicePiece> piece, std::size_t needed) noexcept {
  std::unique_ptr<DevicePiece> dropped;
  Idle evicted;
  {
    const MutexLock lock(mutex_);
    busy_bytes_ -= piece->bytes();
    needed_ -= needed;
    if (piece->spoiled()) {
      dropped = std::move(piece);
    } else {
      const std::size_t bytes = piece->bytes();
      try {
        idle_.emplace(bytes, nullptr)->second = std::move(piece);
        idle_bytes_ += bytes;
      } catch (...) {  // no memory for the list
        dropped = std::move(piece);
      }
      evict_unneeded(evicted);
    }
  }
  if (dropped != nullptr) drop(std::move(dropped));
  drop_all(evicted);
}

/// Uses another thread if this one is delivering an answer: `release` may wait for it.
void DevicePool::drop(std::unique_ptr<DevicePiece> piece) noexcept {
  const auto bytes = static_cast<std::int64_t>(piece->bytes());
  try {
    destroy_outside_answers([old = piece.get(), bytes, ledger = ledger_] {
      delete old;
      if (ledger != nullptr) ledger->give(bytes);
    });
    (void)piece.release();
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a thread: here, then
  }
}

}  // namespace parallax
