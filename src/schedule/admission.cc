#include "schedule/admission.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

namespace parallax {
namespace {

using Subset = std::vector<std::size_t>;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// Returns a + b for sizes, or kMax if the sum exceeds it.
std::int64_t sum(std::int64_t a, std::int64_t b) { return a > kMax - b ? kMax : a + b; }

/// Returns the time saved by branches that need `total` together, the longest of them `longest`.
double saved(double total, double longest, int threads) {
  return total - std::max(longest, total / std::max(threads, 1));
}

struct Worth {
  double saved = 0;
  std::int64_t bytes = 0;
  bool operator>(const Worth& other) const {
    return saved != other.saved ? saved > other.saved : bytes < other.bytes;
  }
};

Worth worth_of(std::span<const BranchCost> candidates, const Subset& chosen, int threads) {
  Worth worth{time_saved(candidates, chosen, threads), 0};
  for (const std::size_t i : chosen) worth.bytes = sum(worth.bytes, candidates[i].bytes);
  return worth;
}

/// Chooses candidates in the order of `before` as long as they fit. A candidate that does not fit
/// is skipped if `skip` is true; otherwise it ends the subset.
template <class Before>
Subset fill(std::span<const BranchCost> candidates, std::int64_t room, bool skip, Before before) {
  Subset order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return before(candidates[a], candidates[b]);
  });
  Subset chosen;
  std::int64_t used = 0;
  for (const std::size_t i : order) {
    const std::int64_t with = sum(used, candidates[i].bytes);
    if (with > room && !skip) break;
    if (with > room) continue;
    used = with;
    chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Subset smallest_first(std::span<const BranchCost> candidates, std::int64_t room) {
  return fill(candidates, room, false,
              [](const BranchCost& a, const BranchCost& b) { return a.bytes < b.bytes; });
}

/// Compares all subsets; `candidates` must be few.
Subset best_subset(std::span<const BranchCost> candidates, std::int64_t room, int threads) {
  const std::size_t subsets = std::size_t{1} << candidates.size();
  std::size_t best = 0;
  Worth most;
  for (std::size_t subset = 1; subset < subsets; ++subset) {
    Worth worth;
    double total = 0, longest = 0;
    for (std::size_t rest = subset; rest != 0; rest &= rest - 1) {
      const BranchCost& candidate = candidates[static_cast<std::size_t>(std::countr_zero(rest))];
      worth.bytes = sum(worth.bytes, candidate.bytes);
      total += candidate.work;
      longest = std::max(longest, candidate.work);
    }
    if (worth.bytes > room) continue;
    worth.saved = saved(total, longest, threads);
    if (worth > most) {
      most = worth;
      best = subset;
    }
  }
  Subset chosen;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (((best >> i) & 1U) != 0) chosen.push_back(i);
  return chosen;
}

Subset best_greedy(std::span<const BranchCost> candidates, std::int64_t room, int threads) {
  Subset best = smallest_first(candidates, room);
  const auto offer = [&](Subset other) {
    if (worth_of(candidates, other, threads) > worth_of(candidates, best, threads))
      best = std::move(other);
  };
  offer(fill(candidates, room, true, [](const BranchCost& a, const BranchCost& b) {
    return a.work * static_cast<double>(b.bytes) > b.work * static_cast<double>(a.bytes);
  }));
  offer(fill(candidates, room, true,
             [](const BranchCost& a, const BranchCost& b) { return a.work > b.work; }));
  return best;
}

}  // namespace

double time_saved(std::span<const BranchCost> candidates, std::span<const std::size_t> chosen,
                  int threads) {
  double total = 0, longest = 0;
  for (const std::size_t i : chosen) {
    total += candidates[i].work;
    longest = std::max(longest, candidates[i].work);
  }
  return saved(total, longest, threads);
}

std::vector<std::size_t> admit_subset(std::span<const BranchCost> candidates, std::int64_t room,
                                      int threads, Admission admission) {
  const std::int64_t all = std::accumulate(
      candidates.begin(), candidates.end(), std::int64_t{0},
      [](std::int64_t bytes, const BranchCost& candidate) { return sum(bytes, candidate.bytes); });
  // Sums that exceed 63 bits fit no memory either.
  if (all == kMax || all > room) {
    if (admission == Admission::kPaper) return smallest_first(candidates, room);
    return candidates.size() <= kExactCandidates ? best_subset(candidates, room, threads)
                                                 : best_greedy(candidates, room, threads);
  }
  Subset chosen(candidates.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  return chosen;
}

}  // namespace parallax
