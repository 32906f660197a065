#include "delegate_host/device_ledger.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/byte_text.h"
#include "base/status.h"

namespace parallax {

Status DeviceLedger::check_locked(std::int64_t bytes, std::string_view what) const {
  if (bytes <= limit_ - held_) return {};
  return tl::unexpected(
      Error{Stage::kRun,
            ErrorCode::kBudgetExceeded,
            {},
            fmt::format("{} for {} next to {} held, the delegate may have {}", byte_text(bytes),
                        what, byte_text(held_), byte_text(limit_))});
}

void DeviceLedger::give_to_budget(std::int64_t bytes) const noexcept {
  if (budget_.give != nullptr && bytes > 0) budget_.give(bytes);
}

/// Asks the budget without the mutex: that may free memory through the user's allocator.
Status DeviceLedger::take(std::int64_t bytes, std::string_view what, DeviceBytes kind) {
  {
    const MutexLock lock(mutex_);
    PX_RETURN_IF_ERROR(check_locked(bytes, what));
  }
  const bool budgeted = budget_.take != nullptr && bytes > 0 && kind == DeviceBytes::kOfRuns;
  if (budgeted) PX_RETURN_IF_ERROR(budget_.take(bytes));
  Status status;
  {
    const MutexLock lock(mutex_);
    status = check_locked(bytes, what);  // others may have taken some meanwhile
    if (status) {
      held_ += bytes;
      peak_ = std::max(peak_, held_);
    }
  }
  if (!status && budgeted) budget_.give(bytes);
  return status;
}

void DeviceLedger::give(std::int64_t bytes, DeviceBytes kind) noexcept {
  {
    const MutexLock lock(mutex_);
    held_ -= bytes;
  }
  if (kind == DeviceBytes::kOfRuns) give_to_budget(bytes);
}

Status DeviceLedger::take_shared(std::int64_t bytes, std::string_view what) {
  if (bytes == 0) return {};
  std::int64_t taken = 0;
  while (true) {
    std::int64_t more = 0;
    {
      const MutexLock lock(mutex_);
      more = std::max<std::int64_t>(0, bytes - shared()) - taken;
      if (more <= 0) {  // others may have taken some meanwhile
        shared_.insert(bytes);
        held_ += more;
      }
    }
    if (more <= 0) {
      give_to_budget(-more);
      return {};
    }
    if (Status status = take(more, what); !status) {
      if (taken > 0) give(taken);
      return status;
    }
    taken += more;
  }
}

void DeviceLedger::give_shared(std::int64_t bytes) noexcept {
  std::int64_t fewer = 0;
  {
    const MutexLock lock(mutex_);
    const std::int64_t before = shared();
    if (const auto found = shared_.find(bytes); found != shared_.end()) shared_.erase(found);
    fewer = before - shared();
    held_ -= fewer;
  }
  give_to_budget(fewer);
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
                                        std::int64_t shared, std::string_view what,
                                        DeviceBytes kind) {
  DeviceCharge charge;
  if (ledger == nullptr) return charge;
  bytes = std::max<std::int64_t>(bytes, 0);
  shared = std::max<std::int64_t>(shared, 0);
  PX_RETURN_IF_ERROR(ledger->take(bytes, what, kind));
  charge.ledger_ = std::move(ledger);
  charge.kind_ = kind;
  charge.bytes_ = bytes;
  PX_RETURN_IF_ERROR(charge.ledger_->take_shared(shared, what));
  charge.shared_ = shared;
  return charge;
}

DeviceCharge::~DeviceCharge() {
  if (ledger_ == nullptr) return;
  ledger_->give(bytes_, kind_);
  if (shared_ > 0) ledger_->give_shared(shared_);
}

}  // namespace parallax
