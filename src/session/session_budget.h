// The budget of a session and the account that it counts in, for all that may outlive the session:
// what devices hold, and copies that a silent one still answers. Internal to session/.
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

class SessionBudget {
 public:
  SessionBudget(const MemoryBudget& budget, std::shared_ptr<MemoryAccount> account)
      : budget_(budget), account_(std::move(account)) {}

  /// What a run that starts now may take. Under kAuto, reads how much memory is free.
  RunBudget now() const;

  /// Counts what a device holds from run to run. Idle pieces of devices and regions of plans that
  /// were used long ago give up theirs for it.
  static DeviceBudget for_devices(const std::shared_ptr<SessionBudget>& budget);
  /// Counts what is worth no other's place: a probe that times a device.
  static DeviceBudget for_probes(const std::shared_ptr<SessionBudget>& budget);

 private:
  Status fix(std::int64_t bytes) const;

  const MemoryBudget budget_;
  const std::shared_ptr<MemoryAccount> account_;
  mutable MemoryProbe probe_;
};

}  // namespace parallax
