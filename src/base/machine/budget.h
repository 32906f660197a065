// Computes how much of the free memory a run may use. Thread-safety: pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>

#include "base/machine/memory_probe.h"

namespace parallax {

/// The limits of a run.
struct RunBudget {
  std::optional<std::int64_t> bytes;  ///< limit for all memory held for runs; nullopt: no limit
  bool at_once = true;                ///< whether branches may run concurrently

  friend bool operator==(const RunBudget&, const RunBudget&) = default;
};

/// Returns the budget of MemoryBudget::Kind::kAuto: free memory minus a margin. `held`: bytes that
/// the caller has already allocated; they are not free, but available to it. The margin is larger
/// if the kernel reports that tasks wait for memory; if all of them do, branches run one after the
/// other. If the free memory is not known, there is no limit.
RunBudget auto_budget(const MemoryState& state, std::int64_t held);

}  // namespace parallax
