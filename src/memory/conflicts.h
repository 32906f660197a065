// A graph of the pairs of buffers that may live at once. Internal to memory/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/timeline.h"

namespace parallax {

class Conflicts {
 public:
  /// Nothing if there are more than `limit` pairs. O(slots + buffers + pairs).
  static std::optional<Conflicts> find(const Timeline& timeline, std::size_t limit);

  std::span<const std::int32_t> of(std::int32_t buffer) const {
    const auto i = static_cast<std::size_t>(buffer);
    return std::span(others_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  std::size_t pairs() const { return others_.size() / 2; }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> others_;
};

}  // namespace parallax
