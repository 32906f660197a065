// Counts the memory of one device that a session holds, against a limit, before it is allocated:
// constants of regions, tensors inside them, and pieces for values. If the device works in host
// memory, the CPU's budget is the limit.
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

/// kOfRuns: memory for runs. kConstants: weights, which no budget counts.
enum class DeviceBytes : std::uint8_t { kOfRuns, kConstants };

/// A budget in which a device's bytes are also counted. `take` fails with kBudgetExceeded; `give`
/// must not throw. Both may be null.
struct DeviceBudget {
  std::function<Status(std::int64_t)> take = nullptr;  ///< called with a positive number of bytes
  std::function<void(std::int64_t)> give = nullptr;    ///< called with bytes that `take` accepted
};

/// A counter of bytes with a limit. Sums may reach but not exceed it. The budget is called without
/// the ledger's lock, and may call delegates: callers hold no locks other than turns.
class DeviceLedger {
 public:
  /// `limit`: maximum number of bytes in total.
  explicit DeviceLedger(std::int64_t limit, DeviceBudget budget = {})
      : limit_(limit), budget_(std::move(budget)) {}
  DeviceLedger(const DeviceLedger&) = delete;
  DeviceLedger& operator=(const DeviceLedger&) = delete;

  /// Counts `bytes`. `what` says in messages what they are for: "tensors of a region". Errors:
  /// kBudgetExceeded (stage kRun), from the limit or the budget; nothing is counted then.
  Status take(std::int64_t bytes, std::string_view what, DeviceBytes kind = DeviceBytes::kOfRuns);
  /// Removes bytes that take() counted, with the same `kind`.
  void give(std::int64_t bytes, DeviceBytes kind = DeviceBytes::kOfRuns) noexcept;
  /// Counts memory that several users share, one at a time: only the largest request counts.
  /// Errors: as take().
  Status take_shared(std::int64_t bytes, std::string_view what);
  /// Removes a request of take_shared() with the same number of bytes.
  void give_shared(std::int64_t bytes) noexcept;

  /// Return bytes: the limit, those counted now, and the maximum so far.
  std::int64_t limit() const { return limit_; }
  std::int64_t held() const;
  std::int64_t peak() const;

 private:
  /// Errors: kBudgetExceeded if `bytes` more would exceed the limit.
  Status check_locked(std::int64_t bytes, std::string_view what) const PX_REQUIRES(mutex_);
  /// Returns bytes to the budget; does nothing for 0.
  void give_to_budget(std::int64_t bytes) const noexcept;
  /// Returns the largest shared request, which is the one that counts.
  std::int64_t shared() const PX_REQUIRES(mutex_) {
    return shared_.empty() ? 0 : *shared_.rbegin();
  }

  const std::int64_t limit_;  ///< bytes
  const DeviceBudget budget_;
  mutable Mutex mutex_;
  std::int64_t held_ PX_GUARDED_BY(mutex_) = 0;
  std::int64_t peak_ PX_GUARDED_BY(mutex_) = 0;               ///< maximum of held_
  std::multiset<std::int64_t> shared_ PX_GUARDED_BY(mutex_);  ///< all shared requests
};

/// Bytes counted in a ledger, removed by the destructor. With a null ledger nothing is counted. Not
/// thread-safe.
class DeviceCharge {
 public:
  DeviceCharge() = default;
  /// Counts `bytes` and `shared`; the latter as in DeviceLedger::take_shared(). Negative numbers
  /// count as 0, because delegates provide them. Errors: kBudgetExceeded; nothing is counted then.
  static Result<DeviceCharge> make(std::shared_ptr<DeviceLedger> ledger, std::int64_t bytes,
                                   std::int64_t shared, std::string_view what,
                                   DeviceBytes kind = DeviceBytes::kOfRuns);
  DeviceCharge(DeviceCharge&& other) noexcept { swap(other); }
  DeviceCharge& operator=(DeviceCharge&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Returns the bytes to the ledger; bytes of runs also to its budget.
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
