// Packings found without search. Internal to memory/packing/. Thread-safety: pure functions.
//
// Results have one offset per item of the sections, in their order. Offsets are valid packings of
// the whole component.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/packing/effort.h"
#include "memory/packing/sections.h"

namespace parallax::packing {

/// Places buffers in order of birth, each in the smallest free block that is large enough. O(n log
/// n). Frees items whose life has ended before each placement. The result is the first packing of a
/// component, made whatever the effort.
std::vector<std::int64_t> pack_by_birth(const Sections& sections);

/// Places buffers in the given order, each as low as those already placed allow. nullopt if the
/// effort runs out. Spends one step for each item and each of its neighbours. REQUIRES: `order` has
/// every item once.
std::optional<std::vector<std::int64_t>> pack_lowest(const Sections& sections,
                                                     const Neighbours& neighbours,
                                                     std::span<const std::int32_t> order,
                                                     Effort& effort);

/// Returns the largest end of an item under these offsets. 0 without items.
std::int64_t height_of(const Sections& sections, std::span<const std::int64_t> offsets);

/// The key by which items are sorted, largest first. Widths and sizes are relative to the largest
/// of the component. A section is a moment at which a local maximum of buffers lives (sections.h).
enum class SortKey : std::uint8_t {
  /// Maximum of bytes live at the same time during its life. Ties by width: times 1 + 0.01 of the
  /// relative width.
  kFullestSection,
  /// The same maximum, with ties by area.
  kFullestThenArea,
  /// Length of its life.
  kWidth,
  /// Length of its life times its bytes.
  kArea,
  kBytes,
  /// Number of sections of its life, which stands for the number of its neighbours.
  kNeighbours,
  /// Sum of the bytes live during its life. The sum is over its sections.
  kAverageTimesWidth,
  /// Average of the bytes live in its sections.
  kAverage,
};
/// Number of enumerators; Component cycles through them.
inline constexpr int kSortKeys = 8;
/// Returns the key of each item. All >= 0. O(items times sections of their lives).
std::vector<double> sort_keys(const Sections& sections, SortKey key);

/// Returns the items by descending weight. Stable: items of equal weight stay in the order of
/// birth.
std::vector<std::int32_t> order_by(std::span<const double> weight);

}  // namespace parallax::packing
