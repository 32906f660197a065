// Parameters of nodes that are known before a run: lists of integers, windows, bounds.
// Thread-safety: pure functions. Internal to partition/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/support.h"

namespace parallax {

/// Limit for numbers that a rule multiplies: their products fit 63 bits. Functions below return
/// nullopt if a stride, extent or step is larger.
inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

/// Returns the elements of an integer input if they are known: those of a constant, or expressions
/// without symbols. Nullopt otherwise, if the input is absent, or if a constant has more than
/// kMaxContent elements.
std::optional<std::vector<std::int64_t>> known_integers(const Graph& graph, const Node& node,
                                                        std::size_t input);

/// A window that moves along one axis of an image: elements from one position to the next, elements
/// that it spans, (kernel - 1) * dilation + 1, and elements of padding at both ends.
struct WindowAlong {
  std::int64_t stride = 1, extent = 1, pad_begin = 0, pad_end = 0;
};
/// Returns the window of a Conv or pooling node along spatial axis `axis` (0: the first). Nullopt
/// for auto_pad, ceil_mode, channels last, weights of unknown shape, negative padding, or an axis
/// that the window does not have. REQUIRES: the shape of input 0 is known, of rank 2 at least.
std::optional<WindowAlong> window_along(const ConcreteShapes& shapes, const Node& node,
                                        std::size_t axis);

/// The bounds of a Slice along one axis of its input, in elements. Both are in [0, dimension]:
/// negative ones are resolved. `end` may be below `start`, which selects no element.
struct SliceAlong {
  std::int64_t start = 0, end = 0, step = 1;
};
/// Returns the bounds for each axis, including axes that are not sliced. Nullopt if they, or the
/// shape of the input, are not known, or if a step is below 1.
std::optional<std::vector<SliceAlong>> slice_bounds(const Graph& graph,
                                                    const ConcreteShapes& shapes, const Node& node);

}  // namespace parallax
