// A graph of the pairs of buffers that may live at the same time. Internal to memory/. Immutable.
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
  /// Finds all pairs; nullopt if there are more than `limit`. O(slots + buffers + pairs).
  static std::optional<Conflicts> find(const Timeline& timeline, std::size_t limit);

  /// Returns the buffers that may live at the same time as `buffer`, in no particular order.
  std::span<const std::int32_t> of(std::int32_t buffer) const {
    const auto i = static_cast<std::size_t>(buffer);
    return std::span(others_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  /// Returns the number of pairs.
  std::size_t pairs() const { return others_.size() / 2; }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> others_;
};

}  // namespace parallax
