#include "memory/placer.h"

#include <algorithm>

namespace parallax {
namespace {

constexpr std::int64_t kUnplaced = -1;

}  // namespace

Offsets Placer::place(std::span<const std::int32_t> order, Gap gap) {
  Offsets offsets;
  offsets.offset.assign(timeline_.lifetimes.size(), kUnplaced);
  for (std::int32_t buffer : order) {
    const std::int64_t offset = find_gap(offsets, buffer, gap);
    offsets.offset[static_cast<std::size_t>(buffer)] = offset;
    offsets.bytes = std::max(offsets.bytes, offset + bytes(buffer));
  }
  std::replace(offsets.offset.begin(), offsets.offset.end(), kUnplaced, std::int64_t{0});
  return offsets;
}

std::int64_t Placer::find_gap(const Offsets& offsets, std::int32_t buffer, Gap kind) {
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
      if (kind == Gap::kLowest) break;
    }
    end = std::max(end, block.end);
  }
  return best == kUnplaced ? end : best;
}

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

}  // namespace parallax
