// Chooses the branches of a layer that run concurrently if the budget has no room for all of them.
// Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parallax/options.h"

namespace parallax {

/// A branch that could run concurrently with others.
struct BranchCost {
  std::int64_t bytes = 0;  ///< M_i, >= 0
  double work = 0;         ///< predicted time on one thread, in any unit, >= 0
};

/// Returns the time saved by running `chosen` concurrently: the sum of their times, less their time
/// on `threads` threads that share tiles, which is the longest of them or the sum divided by the
/// threads, whichever is longer.
double time_saved(std::span<const BranchCost> candidates, std::span<const std::size_t> chosen,
                  int threads);

/// Returns the ascending indices of candidates whose bytes together are at most `room`: all of them
/// if they fit. kPaper chooses the smallest first. kTimeSaved chooses the subset that saves the
/// most time, exactly for up to kExactCandidates, and as the best of three greedy orders (smallest
/// first among them) for more: never less than kPaper saves. Among equal subsets it chooses the one
/// with the fewest bytes.
std::vector<std::size_t> admit_subset(std::span<const BranchCost> candidates, std::int64_t room,
                                      int threads, Admission admission);
/// The most candidates of which all subsets are compared: 4096 subsets need 20 us.
inline constexpr std::size_t kExactCandidates = 12;

}  // namespace parallax
