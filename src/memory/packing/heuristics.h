// Packings found without search. Internal to memory/packing/. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/packing/effort.h"
#include "memory/packing/sections.h"

namespace parallax::packing {

/// Places buffers in order of birth, each in the smallest free block that is large enough. O(n log
/// n).
std::vector<std::int64_t> pack_by_birth(const Sections& sections);

/// Places buffers in the given order, each as low as those already placed allow. nullopt if the
/// effort runs out.
std::optional<std::vector<std::int64_t>> pack_lowest(const Sections& sections,
                                                     const Neighbours& neighbours,
                                                     std::span<const std::int32_t> order,
                                                     Effort& effort);

/// Returns the largest end of an item under these offsets.
std::int64_t height_of(const Sections& sections, std::span<const std::int64_t> offsets);

/// The key by which items are sorted, largest first.
enum class SortKey : std::uint8_t {
  kFullestSection,  ///< maximum of bytes live at the same time during its life
  kFullestThenArea,
  kWidth,
  kArea,
  kBytes,
  kNeighbours,
  kAverageTimesWidth,  ///< sum of the bytes live during its life
  kAverage,
};
inline constexpr int kSortKeys = 8;
/// Returns the key of each item.
std::vector<double> sort_keys(const Sections& sections, SortKey key);

/// Returns the items by descending weight.
std::vector<std::int32_t> order_by(std::span<const double> weight);

}  // namespace parallax::packing
