#include "memory/timeline.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace parallax {
namespace {

struct Place {
  std::int32_t step = 0;
  std::int32_t first_slot = 0;
  /// End of the last branch that may run concurrently with it, if in a later step.
  std::int32_t concurrent_step = -1, concurrent_slot = -1;
};

/// A lifetime, and the first of its readers in its last step: before all reads, who makes it.
struct Growing {
  Lifetime life;
  BranchId reader;
};

Growing made(const Buffer& buffer, const IdVector<BranchId, Place>& places) {
  const Place place = places[buffer.made.branch];
  Lifetime life;
  life.bytes = checked_align(buffer.bytes, kAlignment).value_or(kTooManyBytes);
  life.first_step = life.last_step = place.step;
  life.first_slot = life.last_slot = place.first_slot + buffer.made.index;
  return {life, buffer.made.branch};
}

void add_reads(const Buffer& buffer, const IdVector<BranchId, Place>& places, Growing& growing) {
  Lifetime& life = growing.life;
  for (const Position& read : buffer.reads) {
    const Place place = places[read.branch];
    if (place.step < life.last_step) continue;
    const bool later = place.step > life.last_step;
    life.shared = !later && (life.shared || read.branch != growing.reader);
    life.last_step = place.step;
    life.last_slot = std::max(life.last_slot, place.first_slot + read.index);
    if (later) growing.reader = read.branch;
  }
}

/// Extends the life of a buffer: branches that run concurrently with its users may not reuse its
/// bytes.
void add_concurrent(const Buffer& buffer, const IdVector<BranchId, Place>& places, Lifetime& life) {
  const auto add = [&](const Place& place) {
    if (place.concurrent_step <= life.last_step) return;
    life.last_step = place.concurrent_step;
    life.last_slot = place.concurrent_slot;
    life.shared = false;
  };
  add(places[buffer.made.branch]);
  for (const Position& read : buffer.reads) add(places[read.branch]);
}

void find_concurrent(const MemoryProblem& problem, IdVector<BranchId, Place>& places) {
  for (const BranchId branch : problem.concurrent.ids()) {
    Place& place = places[branch];
    for (const BranchId other : problem.concurrent[branch]) {
      if (places[other].step <= std::max(place.step, place.concurrent_step)) continue;
      place.concurrent_step = places[other].step;
      place.concurrent_slot =
          places[other].first_slot + std::max(problem.branch_length[other] - 1, 0);
    }
  }
}

std::vector<Lifetime> lifetimes_of(const MemoryProblem& problem,
                                   const IdVector<BranchId, Place>& places,
                                   std::span<const std::int32_t> joined) {
  std::vector<Growing> growing;
  growing.reserve(problem.buffers.size());
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const std::size_t place = joined.empty() ? i : static_cast<std::size_t>(joined[i]);
    if (place == growing.size()) growing.push_back(made(buffer, places));
    add_reads(buffer, places, growing[place]);
    if (!problem.concurrent.empty()) add_concurrent(buffer, places, growing[place].life);
  }
  std::vector<Lifetime> lifetimes;
  lifetimes.reserve(growing.size());
  for (const Growing& one : growing) lifetimes.push_back(one.life);
  return lifetimes;
}

}  // namespace

Timeline::Table Timeline::by_slot(const std::vector<Lifetime>& lifetimes, std::int32_t slots,
                                  std::int32_t Lifetime::*slot) {
  Table table;
  table.begin.assign(static_cast<std::size_t>(slots) + 1, 0);
  for (const Lifetime& life : lifetimes) {
    if (life.bytes > 0) ++table.begin[static_cast<std::size_t>(life.*slot) + 1];
  }
  std::partial_sum(table.begin.begin(), table.begin.end(), table.begin.begin());
  table.items.resize(static_cast<std::size_t>(table.begin.back()));
  std::vector<std::int32_t> next(table.begin.begin(), table.begin.end() - 1);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].bytes == 0) continue;
    std::int32_t& at = next[static_cast<std::size_t>(lifetimes[i].*slot)];
    table.items[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(i);
  }
  return table;
}

Timeline Timeline::make(const MemoryProblem& problem, const Steps& steps,
                        std::span<const std::int32_t> joined) {
  Timeline timeline;
  IdVector<BranchId, Place> places(problem.branch_length.size());
  timeline.step_begin.push_back(0);
  timeline.slot_begin.push_back(0);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (BranchId branch : steps[step]) {
      const std::int32_t first_slot = timeline.slot_begin.back();
      places[branch] = {static_cast<std::int32_t>(step), first_slot, -1, -1};
      timeline.slot_begin.push_back(first_slot + problem.branch_length[branch]);
    }
    timeline.step_begin.push_back(static_cast<std::int32_t>(timeline.slot_begin.size()) - 1);
  }
  find_concurrent(problem, places);
  timeline.lifetimes = lifetimes_of(problem, places, joined);
  const std::int32_t slots = timeline.slots();
  timeline.made_ = by_slot(timeline.lifetimes, slots, &Lifetime::first_slot);
  timeline.freed_ = by_slot(timeline.lifetimes, slots, &Lifetime::last_slot);
  const auto& lifetimes = timeline.lifetimes;
  auto& made = timeline.made_;
  for (std::size_t slot = 0; slot + 1 < made.begin.size(); ++slot) {
    std::sort(made.items.begin() + made.begin[slot], made.items.begin() + made.begin[slot + 1],
              [&](std::int32_t a, std::int32_t b) {
                const std::int64_t bytes_a = lifetimes[static_cast<std::size_t>(a)].bytes;
                const std::int64_t bytes_b = lifetimes[static_cast<std::size_t>(b)].bytes;
                return bytes_a != bytes_b ? bytes_a > bytes_b : a < b;
              });
  }
  return timeline;
}

}  // namespace parallax
