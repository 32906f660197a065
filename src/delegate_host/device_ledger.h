// What a session holds of one device's memory, counted against a limit before it is used: constants
// of regions, tensors inside them, and the pieces that values lie in. Where the device works in the
// host's memory, the CPU's budget is the limit.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "parallax/result.h"

namespace parallax {

/// Constants are weights, which no budget counts.
enum class DeviceBytes : std::uint8_t { kOfRuns, kConstants };

/// Where a device's bytes count besides. `take` fails with kBudgetExceeded; `give` must not throw.
struct DeviceBudget {
  std::function<Status(std::int64_t)> take = nullptr;
  std::function<void(std::int64_t)> give = nullptr;
};

class DeviceLedger {
 public:
  /// `limit`: bytes in all.
  explicit DeviceLedger(std::int64_t limit, DeviceBudget budget = {})
      : limit_(limit), budget_(std::move(budget)) {}
  DeviceLedger(const DeviceLedger&) = delete;
  DeviceLedger& operator=(const DeviceLedger&) = delete;

  /// `what` they are for, "tensors of a region". Errors: kBudgetExceeded.
  Status take(std::int64_t bytes, std::string_view what, DeviceBytes kind = DeviceBytes::kOfRuns);
  void give(std::int64_t bytes, DeviceBytes kind = DeviceBytes::kOfRuns) noexcept;
  /// Bytes that share a place: the most of all counts.
  Status take_shared(std::int64_t bytes, std::string_view what);
  void give_shared(std::int64_t bytes) noexcept;

  std::int64_t limit() const { return limit_; }
  std::int64_t held() const;
  std::int64_t peak() const;

 private:
  Status check_locked(std::int64_t bytes, std::string_view what) const PX_REQUIRES(mutex_);
  void give_to_budget(std::int64_t bytes) const noexcept;
  std::int64_t shared() const PX_REQUIRES(mutex_) {
    return shared_.empty() ? 0 : *shared_.rbegin();
  }

  const std::int64_t limit_;
  const DeviceBudget budget_;
  mutable Mutex mutex_;
  std::int64_t held_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t peak_ PX_GUARDED_BY(mutex_) = 0;
  std::multiset<std::int64_t> shared_ PX_GUARDED_BY(mutex_);
};

/// Bytes of a ledger, given back when destroyed. A null ledger counts nothing.
class DeviceCharge {
 public:
  DeviceCharge() = default;
  /// `shared`: as DeviceLedger::take_shared(). Negative numbers count as 0. Errors:
  /// kBudgetExceeded.
  static Result<DeviceCharge> make(std::shared_ptr<DeviceLedger> ledger, std::int64_t bytes,
                                   std::int64_t shared, std::string_view what,
                                   DeviceBytes kind = DeviceBytes::kOfRuns);
  DeviceCharge(DeviceCharge&& other) noexcept { swap(other); }
  DeviceCharge& operator=(DeviceCharge&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceCharge();

 private:
  void swap(DeviceCharge& other) noexcept {
    ledger_.swap(other.ledger_);
    std::swap(bytes_, other.bytes_);
    std::swap(shared_, other.shared_);
    std::swap(kind_, other.kind_);
  }
  std::shared_ptr<DeviceLedger> ledger_;
  std::int64_t bytes_ = 0, shared_ = 0;
  DeviceBytes kind_ = DeviceBytes::kOfRuns;
};

}  // namespace parallax
