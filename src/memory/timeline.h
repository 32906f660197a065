// The problem laid out in time, shared by the planners. Every node has a slot, branches follow each
// other in the order of the steps, and every buffer lives in a range of slots. Internal to memory/.
// Immutable.
//
// Slots number the nodes of all branches consecutively, from 0. A problem has fewer than 2^31 - 1
// slots, which check_problem() ensures. Only memory/ includes this header.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/memory.h"

namespace parallax {

/// The life of a buffer, in steps and slots. Both ranges include their ends. A joined buffer lives
/// from the making of its first member to the last read of any. If a branch of a later step may run
/// concurrently with a user, the life extends to the end of that branch.
struct Lifetime {
  std::int64_t bytes = 0;  ///< rounded up to kAlignment; if 0, the buffer is in no list below
  std::int32_t first_step = 0, last_step = 0;
  std::int32_t first_slot = 0, last_slot = 0;
  /// Several branches of the last step read it, so it lives to the end of that step. sweep() then
  /// frees it after all branches of the step.
  bool shared = false;
};

/// Positions number the branches in the order of the steps.
struct Timeline {
  std::vector<std::int32_t> step_begin;  ///< position of each step's first branch, and the end
  std::vector<std::int32_t> slot_begin;  ///< slot of each position's first node, and the end
  std::vector<Lifetime> lifetimes;       ///< indexed by buffer

  /// Return the numbers of steps and slots.
  std::int32_t steps() const { return static_cast<std::int32_t>(step_begin.size()) - 1; }
  std::int32_t slots() const { return slot_begin.back(); }
  /// Returns the buffers that the node of `slot` writes, largest first.
  std::span<const std::int32_t> made(std::int32_t slot) const { return made_.of(slot); }
  /// Returns the buffers whose last reader is `slot`, or its maker if they have no reader. In the
  /// order of their numbers.
  std::span<const std::int32_t> freed(std::int32_t slot) const { return freed_.of(slot); }

  /// Computes the timeline. REQUIRES: check_problem accepts `problem`, and its bytes together fit
  /// 63 bits. `joined` (InPlace): buffers that share memory have one lifetime, with the number used
  /// there; empty: buffers are not joined. Linear in the nodes, buffers and reads, except for
  /// sorting the buffers of one slot. The result keeps no reference to the arguments. With
  /// `MemoryProblem::concurrent`, a life extends to the last node of the latest branch that must be
  /// able to run concurrently with a user of the buffer.
  static Timeline make(const MemoryProblem& problem, const Steps& steps,
                       std::span<const std::int32_t> joined = {});

 private:
  /// Buffers by slot. Row `slot` is items[begin[slot], begin[slot + 1]).
  struct Table {
    std::vector<std::int32_t> begin;
    std::vector<std::int32_t> items;
    std::span<const std::int32_t> of(std::int32_t slot) const {
      const auto i = static_cast<std::size_t>(slot);
      return std::span(items).subspan(static_cast<std::size_t>(begin[i]),
                                      static_cast<std::size_t>(begin[i + 1] - begin[i]));
    }
  };
  /// Sorts the buffers of more than 0 bytes by the slot that the member `slot` of their lifetime
  /// names, in linear time.
  static Table by_slot(const std::vector<Lifetime>& lifetimes, std::int32_t slots,
                       std::int32_t Lifetime::*slot);

  Table made_, freed_;
};

/// Traverses the timeline, branch after branch as if each started with its step; calls in order
///   begin_step(step)  make(buffer)  free(buffer)  end_branch(step)  free(buffer)...  end_step()
/// Buffers that several branches read are freed between the last end_branch and end_step. Buffers
/// of 0 bytes are not visited. `visitor` needs all six functions; each has the number of the buffer
/// or step as its argument, except end_step(). O(slots + buffers).
template <class Visitor>
void sweep(const Timeline& timeline, Visitor& visitor) {
  std::vector<std::int32_t> shared;
  for (std::int32_t step = 0; step < timeline.steps(); ++step) {
    const auto s = static_cast<std::size_t>(step);
    visitor.begin_step(step);
    for (std::int32_t position = timeline.step_begin[s]; position < timeline.step_begin[s + 1];
         ++position) {
      const auto p = static_cast<std::size_t>(position);
      for (std::int32_t slot = timeline.slot_begin[p]; slot < timeline.slot_begin[p + 1]; ++slot) {
        for (std::int32_t buffer : timeline.made(slot)) visitor.make(buffer);
        for (std::int32_t buffer : timeline.freed(slot)) {
          if (timeline.lifetimes[static_cast<std::size_t>(buffer)].shared) {
            shared.push_back(buffer);
          } else {
            visitor.free(buffer);
          }
        }
      }
      visitor.end_branch(step);
    }
    for (std::int32_t buffer : shared) visitor.free(buffer);
    shared.clear();
    visitor.end_step();
  }
}

}  // namespace parallax
