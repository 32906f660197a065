// Parameters of nodes that are known before they run: lists of integers, windows, bounds.
//
// Pure functions. Internal to partition/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/support.h"

namespace parallax {

/// Numbers that a rule multiplies are no larger: their products fit 63 bits.
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

/// Elements of an integer input that are known: a constant's, or expressions without symbols.
std::optional<std::vector<std::int64_t>> known_integers(const Graph& graph, const Node& node,
                                                        std::size_t input);

/// A window that goes along one axis of an image, and where it starts.
struct WindowAlong {
  std::int64_t stride = 1, extent = 1, pad_begin = 0, pad_end = 0;
};
/// Of Conv and pooling, of layout NCHW, along spatial axis `axis` (0: the first). Nothing where
/// padding is not given in numbers.
std::optional<WindowAlong> window_along(const ConcreteShapes& shapes, const Node& node,
                                        std::size_t axis);

/// The bounds of a Slice along each axis of its input, axes that it leaves alone included. Nothing
/// where they are not known or a step is negative.
struct SliceAlong {
  std::int64_t start = 0, end = 0, step = 1;
};
std::optional<std::vector<SliceAlong>> slice_bounds(const Graph& graph,
                                                    const ConcreteShapes& shapes, const Node& node);

}  // namespace parallax
