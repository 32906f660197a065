// Computes how much of the free memory runs may use. Call it from any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/machine/memory_probe.h"

namespace parallax {

/// The limits of runs that share an account.
struct RunBudget {
  std::optional<std::int64_t> bytes;  ///< limit of all their memory together; nullopt: no limit
  bool parallel = true;               ///< whether branches may run concurrently

  friend bool operator==(const RunBudget&, const RunBudget&) = default;
};

/// Returns the budget of MemoryBudget::automatic(): the free memory and `held`, the bytes that runs
/// already hold, minus a share of both, kFreeMemoryMargin (parallax/options.h). The share is
/// kPressedMemoryMargin if the operating system reports that some tasks wait for memory. If all
/// tasks wait, `parallel` is false. If the free memory is not known, there is no limit. Bytes,
/// rounded down; `held` is >= 0. The result is for one moment: callers recompute it as memory
/// changes.
RunBudget auto_budget(const MemoryState& state, std::int64_t held);

}  // namespace parallax
