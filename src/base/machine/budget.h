// What a run may take of the memory that is free now. Pure arithmetic, thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "base/machine/memory_probe.h"

namespace parallax {

struct RunBudget {
  std::optional<std::int64_t> bytes;  ///< of all that is held for runs; nothing: no limit
  bool at_once = true;                ///< whether branches may run at once at all

  friend bool operator==(const RunBudget&, const RunBudget&) = default;
};

/// The share of free memory that MemoryBudget::Kind::kAuto takes. `held`: bytes that are the
/// caller's already; they are not free any more, but its own to use. Where the kernel says that
/// tasks wait for memory the margin grows, and where all of them do, branches run one by one.
RunBudget auto_budget(const MemoryState& state, std::int64_t held);

}  // namespace parallax
