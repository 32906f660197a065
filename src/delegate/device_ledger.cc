#include "delegate/device_ledger.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/byte_text.h"
#include "base/status.h"

namespace parallax {

Status DeviceLedger::take_locked(std::int64_t bytes, std::string_view what) {
  if (bytes > limit_ - held_)
    return tl::unexpected(
        Error{Stage::kExecute,
              ErrorCode::kBudgetExceeded,
              {},
              fmt::format("{} for {} beside {} held, the delegate may have {}", byte_text(bytes),
                          what, byte_text(held_), byte_text(limit_))});
  if (budget_.take != nullptr && bytes > 0) PX_RETURN_IF_ERROR(budget_.take(bytes));
  held_ += bytes;
  peak_ = std::max(peak_, held_);
  return {};
}

void DeviceLedger::give_locked(std::int64_t bytes) noexcept {
  held_ -= bytes;
  if (budget_.give != nullptr && bytes > 0) budget_.give(bytes);
}

Status DeviceLedger::take(std::int64_t bytes, std::string_view what) {
  const MutexLock lock(mutex_);
  return take_locked(bytes, what);
}

void DeviceLedger::give(std::int64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  give_locked(bytes);
}

Status DeviceLedger::take_shared(std::int64_t bytes, std::string_view what) {
  const MutexLock lock(mutex_);
  if (bytes == 0) return {};
  const std::int64_t before = shared();
  if (bytes > before) PX_RETURN_IF_ERROR(take_locked(bytes - before, what));
  shared_.insert(bytes);
  return {};
}

void DeviceLedger::give_shared(std::int64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  const std::int64_t before = shared();
  if (const auto found = shared_.find(bytes); found != shared_.end()) shared_.erase(found);
  if (shared() < before) give_locked(before - shared());
}

std::int64_t DeviceLedger::held() const {
  const MutexLock lock(mutex_);
  return held_;
}

std::int64_t DeviceLedger::peak() const {
  const MutexLock lock(mutex_);
  return peak_;
}

Result<DeviceCharge> DeviceCharge::make(std::shared_ptr<DeviceLedger> ledger, std::int64_t bytes,
                                        std::int64_t shared, std::string_view what) {
  DeviceCharge charge;
  if (ledger == nullptr) return charge;
  bytes = std::max<std::int64_t>(bytes, 0);
  shared = std::max<std::int64_t>(shared, 0);
  PX_RETURN_IF_ERROR(ledger->take(bytes, what));
  charge.ledger_ = std::move(ledger);
  charge.bytes_ = bytes;
  PX_RETURN_IF_ERROR(charge.ledger_->take_shared(shared, what));
  charge.shared_ = shared;
  return charge;
}

DeviceCharge::~DeviceCharge() {
  if (ledger_ == nullptr) return;
  ledger_->give(bytes_);
  if (shared_ > 0) ledger_->give_shared(shared_);
}

}  // namespace parallax
