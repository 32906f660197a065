// Offsets chosen buffer by buffer: each goes into the smallest gap between those already placed
// that may live at the same time, and orders in which to do so.
#include <algorithm>
#include <numeric>

#include "memory/conflicts.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {
namespace {

/// Rounds of improvement that plan_steps tries, and the pairs that all rounds together may visit.
constexpr int kMaxRounds = 40;
constexpr std::size_t kMaxVisits = std::size_t{1} << 18;

class Placer {
 public:
  Placer(const Timeline& timeline, const Conflicts& conflicts)
      : timeline_(timeline), conflicts_(conflicts) {}

  std::int64_t bytes(std::int32_t buffer) const {
    return timeline_.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }

  Offsets place(const std::vector<std::int32_t>& order) {
    Offsets offsets;
    offsets.offset.assign(timeline_.lifetimes.size(), kUnplaced);
    for (std::int32_t buffer : order) {
      const std::int64_t offset = best_gap(offsets, buffer);
      offsets.offset[static_cast<std::size_t>(buffer)] = offset;
      offsets.bytes = std::max(offsets.bytes, offset + bytes(buffer));
    }
    std::replace(offsets.offset.begin(), offsets.offset.end(), kUnplaced, std::int64_t{0});
    return offsets;
  }

 private:
  static constexpr std::int64_t kUnplaced = -1;
  struct Block {
    std::int64_t begin, end;
  };

  std::int64_t best_gap(const Offsets& offsets, std::int32_t buffer) {
    blocks_.clear();
    for (std::int32_t other : conflicts_.of(buffer)) {
      const std::int64_t offset = offsets.offset[static_cast<std::size_t>(other)];
      if (offset != kUnplaced) blocks_.push_back({offset, offset + bytes(other)});
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [](const Block& a, const Block& b) { return a.begin < b.begin; });
    const std::int64_t wanted = bytes(buffer);
    std::int64_t best = kUnplaced;
    std::int64_t best_size = kTooManyBytes;
    std::int64_t end = 0;
    for (const Block& block : blocks_) {
      const std::int64_t gap = block.begin - end;
      if (gap >= wanted && gap < best_size) {
        best = end;
        best_size = gap;
      }
      end = std::max(end, block.end);
    }
    return best == kUnplaced ? end : best;
  }

  const Timeline& timeline_;
  const Conflicts& conflicts_;
  std::vector<Block> blocks_;
};

/// Buffers of more than 0 bytes, largest first, then by when they are made.
std::vector<std::int32_t> by_size(const Timeline& timeline) {
  std::vector<std::int32_t> order;
  order.reserve(timeline.lifetimes.size());
  for (std::int32_t slot = 0; slot < timeline.slots(); ++slot) {
    const auto made = timeline.made(slot);
    order.insert(order.end(), made.begin(), made.end());
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return timeline.lifetimes[static_cast<std::size_t>(a)].bytes >
           timeline.lifetimes[static_cast<std::size_t>(b)].bytes;
  });
  return order;
}

/// Moves the buffers that reach the end of the memory to the front of `order`: they are the ones
/// that came too late to find a gap.
void promote_highest(const Placer& placer, const Offsets& offsets,
                     std::vector<std::int32_t>& order) {
  std::stable_partition(order.begin(), order.end(), [&](std::int32_t buffer) {
    return offsets.offset[static_cast<std::size_t>(buffer)] + placer.bytes(buffer) == offsets.bytes;
  });
}

}  // namespace

Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps) {
  Steps sequential;
  for (const auto& step : steps) {
    for (BranchId branch : step) sequential.push_back({branch});
  }
  if (naive_bytes(problem) == kTooManyBytes) return plan_paper(problem, sequential);
  const Timeline timeline = Timeline::make(problem, sequential);
  const auto conflicts = Conflicts::find(timeline, kMaxConflicts);
  if (!conflicts) return plan_paper(problem, sequential);
  return Placer(timeline, *conflicts).place(by_size(timeline));
}

Offsets plan_steps(const MemoryProblem& problem, const Steps& steps) {
  Offsets best = plan_paper(problem, steps);
  if (best.bytes == kTooManyBytes) return best;
  const auto peaks = step_peaks(problem, steps);
  const std::int64_t bound = peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
  if (best.bytes <= bound) return best;
  const Timeline timeline = Timeline::make(problem, steps);
  const auto conflicts = Conflicts::find(timeline, kMaxConflicts);
  if (!conflicts) return best;

  Placer placer(timeline, *conflicts);
  std::vector<std::int32_t> order = by_size(timeline);
  const std::size_t visits = 2 * conflicts->pairs() + order.size() + 1;
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    Offsets offsets = placer.place(order);
    promote_highest(placer, offsets, order);
    if (offsets.bytes < best.bytes) best = std::move(offsets);
    if (best.bytes <= bound || (round + 2) * visits > kMaxVisits) break;
  }
  return best;
}

}  // namespace parallax
