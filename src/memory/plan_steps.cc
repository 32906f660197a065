// Computes the offsets that plans use: the best of several methods.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "memory/conflicts.h"
#include "memory/in_place.h"
#include "memory/memory.h"
#include "memory/packing/packing.h"
#include "memory/placer.h"
#include "memory/timeline.h"

namespace parallax {
namespace {

/// Rounds of improvement by order, and the pairs that all rounds together may visit.
constexpr int kMaxRounds = 40;
constexpr std::size_t kMaxVisits = std::size_t{1} << 18;
/// Larger problems are not searched: the effort would end before the first packing that is better.
/// Of 100,000 buffers it took 0.1 to 0.3 s without a gain.
constexpr std::size_t kMaxSearched = 20'000;

std::int64_t most(const std::vector<std::int64_t>& peaks) {
  return peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
}

void keep_smaller(Offsets& best, Offsets other) {
  if (other.bytes < best.bytes) best = std::move(other);
}

/// Moves the buffers that reach the end of the memory to the front of `order`: they are the ones
/// that came too late to find a gap.
void promote_highest(const Placer& placer, const Offsets& offsets,
                     std::vector<std::int32_t>& order) {
  std::stable_partition(order.begin(), order.end(), [&](std::int32_t buffer) {
    return offsets.offset[static_cast<std::size_t>(buffer)] + placer.bytes(buffer) == offsets.bytes;
  });
}

void improve_by_order(const Timeline& timeline, std::int64_t bound, Offsets& best) {
  const auto conflicts = Conflicts::find(timeline, kMaxConflicts);
  if (!conflicts) return;
  Placer placer(timeline, *conflicts);
  std::vector<std::int32_t> order = by_size(timeline);
  const std::size_t visits = 2 * conflicts->pairs() + order.size() + 1;
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    Offsets offsets = placer.place(order, Gap::kSmallest);
    promote_highest(placer, offsets, order);
    keep_smaller(best, std::move(offsets));
    if (best.bytes <= bound || (round + 2) * visits > kMaxVisits) return;
  }
}

/// Returns lifetimes as ranges of slots. A buffer that lives at the beginning or end of a step of
/// several branches lives from that step's beginning, or to its end: intervals include all
/// conflicts. They include more inside such steps, which does not matter if other moments are the
/// fullest.
std::vector<PackingBuffer> as_intervals(const Timeline& timeline) {
  const auto step_slot = [&](std::int32_t step, std::int32_t slot, std::int32_t end) {
    const auto s = static_cast<std::size_t>(step);
    if (timeline.step_begin[s + 1] - timeline.step_begin[s] == 1) return slot;
    const std::int32_t position = timeline.step_begin[s + static_cast<std::size_t>(end)];
    return timeline.slot_begin[static_cast<std::size_t>(position)];
  };
  std::vector<PackingBuffer> buffers;
  buffers.reserve(timeline.lifetimes.size());
  for (const Lifetime& life : timeline.lifetimes) {
    buffers.push_back({step_slot(life.first_step, life.first_slot, 0),
                       step_slot(life.last_step, life.last_slot + 1, 1), life.bytes});
  }
  return buffers;
}

void improve_by_search(const Timeline& timeline, std::int64_t effort, Offsets& best) {
  // Sizes in units of kAlignment keep offsets aligned.
  std::vector<PackingBuffer> buffers = as_intervals(timeline);
  for (PackingBuffer& buffer : buffers) buffer.bytes /= kAlignment;
  auto packing = pack(buffers, {effort, {}});
  if (!packing || packing->height * kAlignment >= best.bytes) return;
  best.bytes = packing->height * kAlignment;
  for (std::size_t i = 0; i < buffers.size(); ++i) best.offset[i] = packing->offset[i] * kAlignment;
}

/// Plans a problem in which no buffer overwrites another one.
Offsets place_apart(const MemoryProblem& problem, const Steps& steps, std::int64_t effort) {
  Offsets best = plan_paper(problem, steps);
  if (best.bytes == kTooManyBytes) return best;
  const std::int64_t bound = most(step_peaks(problem, steps));
  if (best.bytes <= bound) return best;
  const Timeline timeline = Timeline::make(problem, steps);
  improve_by_order(timeline, bound, best);
  if (best.bytes > bound && effort > 0 && problem.buffers.size() <= kMaxSearched)
    improve_by_search(timeline, effort, best);
  return best;
}

MemoryProblem without_joining(const MemoryProblem& problem) {
  MemoryProblem result = problem;
  for (Buffer& buffer : result.buffers) buffer.over.clear();
  return result;
}

}  // namespace

Offsets plan_steps(const MemoryProblem& problem, const Steps& steps, std::int64_t effort) {
  if (naive_bytes(problem) == kTooManyBytes) return plan_paper(problem, steps);
  const InPlace in_place = join_in_place(problem, steps);
  Offsets best = in_place.split(place_apart(in_place.problem(problem), steps, effort));
  if (!in_place.any()) return best;
  if (best.bytes <= most(step_peaks(problem, steps))) return best;
  // A buffer that lives for two needs one gap for both: that may cost more than it saves.
  keep_smaller(best, place_apart(without_joining(problem), steps, effort));
  return best;
}

std::optional<Offsets> plan_like(const MemoryProblem& problem, const Steps& steps,
                                 const Offsets& known) {
  if (naive_bytes(problem) == kTooManyBytes || known.offset.size() != problem.buffers.size())
    return std::nullopt;
  const InPlace in_place = join_in_place(problem, steps, [&](std::size_t a, std::size_t b) {
    return known.offset[a] == known.offset[b];
  });
  const Timeline timeline = Timeline::make(problem, steps, in_place.joined);
  const auto conflicts = Conflicts::find(timeline, kMaxConflicts);
  if (!conflicts) return std::nullopt;
  std::vector<std::int64_t> offset(in_place.buffers);
  for (std::size_t i = 0; i < known.offset.size(); ++i)
    offset[static_cast<std::size_t>(in_place.joined[i])] = known.offset[i];
  std::vector<std::int32_t> order(offset.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int32_t i) {
    return timeline.lifetimes[static_cast<std::size_t>(i)].bytes == 0;
  });
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return offset[static_cast<std::size_t>(a)] < offset[static_cast<std::size_t>(b)];
  });
  return in_place.split(Placer(timeline, *conflicts).place(order, Gap::kLowest));
}

}  // namespace parallax
