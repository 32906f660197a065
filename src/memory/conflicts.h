// A graph of the pairs of buffers that may live at the same time. Internal to memory/. Immutable.
// Numbers of buffers are those of Timeline::lifetimes; buffers of 0 bytes are in no pair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/timeline.h"

namespace parallax {

/// Adjacency lists: every pair is in the lists of both buffers.
class Conflicts {
 public:
  /// Finds all pairs; nullopt if there are more than `limit`. O(slots + buffers + pairs). Buffers
  /// that two branches of one step make conflict, even if their slots are far apart. Planners pass
  /// kMaxConflicts. Stops adding pairs once the limit is passed, so memory stays bounded by it.
  static std::optional<Conflicts> find(const Timeline& timeline, std::size_t limit);

  /// Returns the buffers that may live at the same time as `buffer`, in no particular order. Valid
  /// while this object lives and is not moved from. REQUIRES: 0 <= buffer < number of lifetimes.
  std::span<const std::int32_t> of(std::int32_t buffer) const {
    const auto i = static_cast<std::size_t>(buffer);
    return std::span(others_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  /// Returns the number of pairs.
  std::size_t pairs() const { return others_.size() / 2; }

 private:
  /// The list of buffer i is others_[begin_[i], begin_[i + 1]).
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> others_;
};

}  // namespace parallax
