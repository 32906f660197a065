// Places buffers one after the other, in a given order, into gaps between those placed before.
// Internal to memory/. Not thread-safe. Used by plan_greedy(), plan_steps() and plan_like().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/conflicts.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {

/// The gap in which a buffer is placed, among those that are large enough. kSmallest is best fit,
/// as TFLite does; of equal gaps the lowest is used. kLowest is first fit. The room above all
/// blocks is used only if no gap is large enough.
enum class Gap : std::uint8_t { kSmallest, kLowest };

/// A greedy algorithm over the pairs of buffers that conflict.
class Placer {
 public:
  /// Both arguments must outlive the placer.
  Placer(const Timeline& timeline, const Conflicts& conflicts)
      : timeline_(timeline), conflicts_(conflicts) {}

  /// Returns the bytes of a buffer, rounded up to kAlignment.
  std::int64_t bytes(std::int32_t buffer) const {
    return timeline_.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }
  /// Places each buffer of `order` into the smallest (or lowest) gap between earlier buffers that
  /// may live at the same time. Buffers that are not in `order` get offset 0. The result has one
  /// offset per buffer of the timeline. May be called repeatedly; each call starts with empty
  /// memory. Each buffer costs O(k log k) for its k conflicts.
  Offsets place(std::span<const std::int32_t> order, Gap gap);

 private:
  /// A range of bytes that is not available.
  struct Block {
    std::int64_t begin, end;
  };
  /// Returns an offset for the buffer, given the offsets of earlier ones. Considers only conflicts
  /// that have been placed. Uses blocks_ as scratch memory.
  std::int64_t find_gap(const Offsets& offsets, std::int32_t buffer, Gap kind);

  const Timeline& timeline_;
  const Conflicts& conflicts_;
  std::vector<Block> blocks_;
};

/// Returns buffers of more than 0 bytes, largest first, then in order of creation. Created: in the
/// order of slots. This is the order of TFLite's greedy-by-size.
std::vector<std::int32_t> by_size(const Timeline& timeline);

}  // namespace parallax
