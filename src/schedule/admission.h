// Which branches of a layer run at once when the budget has no room for all of them. Pure
// arithmetic, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parallax/options.h"

namespace parallax {

/// A branch that could run beside others.
struct BranchCost {
  std::int64_t bytes = 0;  ///< M_i, >= 0
  double work = 0;         ///< predicted time on one thread, in any unit, >= 0
};

/// The time that `chosen` take one after the other less the time they take at once on `threads`
/// threads, which share out tiles: the longest of them, or all of them over the threads.
double time_saved(std::span<const BranchCost> candidates, std::span<const std::size_t> chosen,
                  int threads);

/// Indices, ascending, of candidates whose bytes together are at most `room`: all where they fit.
/// kPaper takes the smallest first. kTimeSaved takes the subset that saves most time, exactly for
/// kExactCandidates or fewer and the best of three greedy orders (smallest first among them) for
/// more: never less than kPaper saves. Of equal subsets the one with the fewest bytes.
std::vector<std::size_t> admit_subset(std::span<const BranchCost> candidates, std::int64_t room,
                                      int threads, Admission admission);
/// 4096 subsets: 20 us.
inline constexpr std::size_t kExactCandidates = 12;

}  // namespace parallax
