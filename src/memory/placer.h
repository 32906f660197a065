// Places buffers one after the other, in a given order, between those placed before. Internal to
// memory/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/conflicts.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {

enum class Gap : std::uint8_t { kSmallest, kLowest };

class Placer {
 public:
  /// Both outlive it.
  Placer(const Timeline& timeline, const Conflicts& conflicts)
      : timeline_(timeline), conflicts_(conflicts) {}

  std::int64_t bytes(std::int32_t buffer) const {
    return timeline_.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }
  /// Puts each buffer of `order` into the smallest (or lowest) gap that holds it between earlier
  /// ones that may live at the same time. Buffers that are not in `order` lie at 0.
  Offsets place(std::span<const std::int32_t> order, Gap gap);

 private:
  struct Block {
    std::int64_t begin, end;
  };
  std::int64_t find_gap(const Offsets& offsets, std::int32_t buffer, Gap kind);

  const Timeline& timeline_;
  const Conflicts& conflicts_;
  std::vector<Block> blocks_;
};

/// Buffers of more than 0 bytes, largest first, then by when they are made.
std::vector<std::int32_t> by_size(const Timeline& timeline);

}  // namespace parallax
