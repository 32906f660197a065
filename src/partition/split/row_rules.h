// Which rows of its inputs a node needs for some rows of its results. Rows are the elements along
// one axis, whatever the axis is: lines of an image, tokens of a text, windows, batches.
//
//     elementwise, products with weights      the same rows
//     keys and values of attention            all of them
//     convolutions and pooling                a few more (a halo)
//     Reshape, nearest Resize, Slice, Pad     others, by a factor and an offset
//
// Pure functions. Internal to partition/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/support.h"
#include "partition/split/known_parameters.h"

namespace parallax {

/// Rows begin to end, the last left out; empty where end <= begin.
struct Rows {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  std::int64_t count() const { return empty() ? 0 : end - begin; }
  bool covers(const Rows& other) const {
    return other.empty() || (begin <= other.begin && end >= other.end);
  }
  friend bool operator==(const Rows&, const Rows&) = default;
};
/// The smallest range with both.
Rows hull(const Rows& a, const Rows& b);
/// What both have.
Rows overlap_of(const Rows& a, const Rows& b);

/// What a node needs of one input.
struct InputRows {
  int axis = -1;  ///< -1: all of the input, whichever rows of the results are wanted
  std::int64_t scale = 1, divisor = 1, before = 0, after = 0;

  /// For the rows `wanted` of the results, not clipped to what there is: rows outside are padding.
  Rows of(const Rows& wanted) const;
};

/// How the results of a node are cut along `axis`, which all of them have.
struct RowRule {
  int axis = 0;
  /// Rows can be made in multiples of this only, counted from the first.
  std::int64_t granule = 1;
  std::vector<InputRows> inputs;  ///< one of each
};

/// Nothing where the results cannot be cut along `axis`, or sizes or parameters that this depends
/// on are not known.
std::optional<RowRule> row_rule(const Graph& graph, const ConcreteShapes& shapes, const Node& node,
                                int axis);

}  // namespace parallax
