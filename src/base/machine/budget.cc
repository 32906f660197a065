#include "base/machine/budget.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "parallax/options.h"

namespace parallax {

RunBudget auto_budget(const MemoryState& state, std::int64_t held) {
  RunBudget budget{std::nullopt, state.pressure != MemoryPressure::kStalled};
  if (!state.free) return budget;
  const std::int64_t all =
      checked_add(*state.free, held).value_or(std::numeric_limits<std::int64_t>::max());
  const double margin =
      state.pressure == MemoryPressure::kNone ? kFreeMemoryMargin : kPressedMemoryMargin;
  budget.bytes =
      static_cast<std::int64_t>(static_cast<double>(std::max<std::int64_t>(all, 0)) * (1 - margin));
  return budget;
}

}  // namespace parallax
