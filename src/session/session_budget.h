// The budget of a session and the account that it counts in, for users that may outlive the
// session: memory of devices, and copies that a delegate answers after its timeout. Internal to
// session/.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/machine/budget.h"
#include "base/machine/memory_probe.h"
#include "delegate_host/device_ledger.h"
#include "parallax/options.h"
#include "session/memory_account.h"

namespace parallax {

/// A session's budget. Thread-safe.
class SessionBudget {
 public:
  /// `account` must not be null. Holds the account alive.
  SessionBudget(const MemoryBudget& budget, std::shared_ptr<MemoryAccount> account)
      : budget_(budget), account_(std::move(account)) {}

  /// Returns the budget of a run that starts now. Under kAuto, reads the free memory (80 us).
  /// kNone: no limit. kBytes: the given bytes; branches may run concurrently. kAuto: auto_budget()
  /// of the free memory and the bytes that the account holds; no limit if the free memory is not
  /// known.
  RunBudget now() const;

  /// Returns the budget for memory that a device holds between runs. A request that does not fit
  /// evicts idle pieces of devices and regions of the least recently used plans. Its functions hold
  /// the budget and the account alive. `take` does not wait for runs: it fails with kBudgetExceeded
  /// once there is no more to evict.
  static DeviceBudget for_devices(const std::shared_ptr<SessionBudget>& budget);
  /// Returns the budget for probes that time a device: a request that does not fit evicts nothing.
  static DeviceBudget for_probes(const std::shared_ptr<SessionBudget>& budget);

 private:
  /// Charges bytes to the account. Errors: kBudgetExceeded. The limit is now(), less the plans that
  /// could be evicted.
  Status fix(std::int64_t bytes) const;

  const MemoryBudget budget_;
  const std::shared_ptr<MemoryAccount> account_;
  mutable MemoryProbe probe_;
};

}  // namespace parallax
