#include "delegate/device_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "delegate/answers.h"

namespace parallax {
namespace {

/// An idle piece that is larger than this, times what is wanted, stays idle; and so much, times the
/// most ever used at once, may be idle.
constexpr std::size_t kMostWaste = 2;

}  // namespace

Result<std::unique_ptr<DevicePiece>> DevicePiece::allocate(
    std::shared_ptr<const OpenDelegate> delegate, std::size_t bytes) {
  std::unique_ptr<DevicePiece> result(new DevicePiece(std::move(delegate), bytes));
  const OpenDelegate& its = *result->delegate_;
  px_memory given{};
  given.size = sizeof given;
  px_status status = no_status();
  PX_RETURN_IF_ERROR(
      status_of(its.table.functions.allocate(its.device, bytes, &given, &status), status));
  if (given.memory == nullptr)
    return tl::unexpected(
        Error{Stage::kExecute, ErrorCode::kOutOfMemory, {}, "the delegate allocated nothing"});
  result->memory_ = given;
  return result;
}

DevicePiece::~DevicePiece() {
  if (memory_.memory != nullptr && delegate_->is_here())
    delegate_->table.functions.release(delegate_->device, memory());
}

DevicePool::~DevicePool() {
  Idle idle;
  {
    const MutexLock lock(mutex_);
    idle.swap(idle_);
  }
  for (auto& [bytes, piece] : idle) drop(std::move(piece));
}

/// The smallest that suffices, or null.
std::unique_ptr<DevicePiece> DevicePool::take_idle(std::size_t bytes) {
  const MutexLock lock(mutex_);
  const auto found = idle_.lower_bound(bytes);
  if (found == idle_.end() || found->first / kMostWaste > bytes) return nullptr;
  std::unique_ptr<DevicePiece> piece = std::move(found->second);
  idle_.erase(found);
  idle_bytes_ -= piece->bytes();
  return piece;
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

Result<std::unique_ptr<DevicePiece>> DevicePool::make(std::size_t bytes) {
  PX_RETURN_IF_ERROR(count(bytes));
  auto made = DevicePiece::allocate(delegate_, bytes);
  // Its own memory may be short where the ledger's is not.
  while (!made && made.error().code == ErrorCode::kOutOfMemory) {
    auto piece = largest_idle();
    if (piece == nullptr) break;
    drop(std::move(piece));
    made = DevicePiece::allocate(delegate_, bytes);
  }
  if (!made && ledger_ != nullptr) ledger_->give(static_cast<std::int64_t>(bytes));
  return made;
}

Result<std::shared_ptr<DevicePiece>> DevicePool::take(std::size_t bytes) {
  std::unique_ptr<DevicePiece> piece = take_idle(bytes);
  if (piece == nullptr) {
    PX_ASSIGN(piece, make(bytes));
  }
  {
    const MutexLock lock(mutex_);
    busy_bytes_ += piece->bytes();
    most_busy_ = std::max(most_busy_, busy_bytes_);
  }
  return std::shared_ptr<DevicePiece>(piece.release(), [pool = shared_from_this()](DevicePiece* p) {
    pool->put(std::unique_ptr<DevicePiece>(p));
  });
}

void DevicePool::put(std::unique_ptr<DevicePiece> piece) noexcept {
  std::unique_ptr<DevicePiece> dropped;
  {
    const MutexLock lock(mutex_);
    busy_bytes_ -= piece->bytes();
    if (piece->spoiled() || idle_bytes_ + piece->bytes() > kMostWaste * most_busy_) {
      dropped = std::move(piece);
    } else {
      const std::size_t bytes = piece->bytes();
      try {
        idle_.emplace(bytes, std::move(piece));
        idle_bytes_ += bytes;
      } catch (...) {  // no memory for the list
        dropped = std::move(piece);
      }
    }
  }
  if (dropped != nullptr) drop(std::move(dropped));
}

/// On another thread where this one answers for the delegate: `release` may wait for it.
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
