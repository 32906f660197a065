// Parameters of nodes that are known before a run: lists of integers, windows, bounds.
// Thread-safety: pure functions. Internal to partition/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/support.h"

namespace parallax {

/// Limit for numbers that a rule multiplies: their products fit 63 bits.
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

/// Returns the elements of an integer input if they are known: a constant's, or expressions without
/// symbols.
std::optional<std::vector<std::int64_t>> known_integers(const Graph& graph, const Node& node,
                                                        std::size_t input);

/// A window that moves along one axis of an image, and its start.
struct WindowAlong {
  std::int64_t stride = 1, extent = 1, pad_begin = 0, pad_end = 0;
};
/// Returns the window of a Conv or pooling node in NCHW layout along spatial axis `axis` (0: the
/// first). nullopt if the padding is not given in numbers.
std::optional<WindowAlong> window_along(const ConcreteShapes& shapes, const Node& node,
                                        std::size_t axis);

/// The bounds of a Slice along one axis of its input. slice_bounds() returns them for each axis,
/// including axes that are not sliced; nullopt if they are not known or a step is negative.
struct SliceAlong {
  std::int64_t start = 0, end = 0, step = 1;
};
std::optional<std::vector<SliceAlong>> slice_bounds(const Graph& graph,
                                                    const ConcreteShapes& shapes, const Node& node);

}  // namespace parallax
