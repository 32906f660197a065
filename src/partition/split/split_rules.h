// Determines the rows of its inputs that a node needs for some rows of its results. Rows are the
// elements along one axis, whatever the axis is: lines of an image, tokens of a text, windows,
// batches.
//
//     elementwise, products with weights      the same rows
//     keys and values of attention            all of them
//     convolutions and pooling                a few more (a halo)
//     Reshape, nearest Resize, Slice, Pad     others, by a factor and an offset
//
// Thread-safety: pure functions. Internal to partition/.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/support.h"
#include "partition/split/known_parameters.h"

namespace parallax {

/// The rows from `begin` to `end`, exclusive; empty if end <= begin.
struct Rows {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  std::int64_t count() const { return empty() ? 0 : end - begin; }
  bool covers(const Rows& other) const {
    return other.empty() || (begin <= other.begin && end >= other.end);
  }
  friend bool operator==(const Rows&, const Rows&) = default;
};
/// Returns the smallest range that contains both.
Rows hull(const Rows& a, const Rows& b);
/// Returns the rows that are in both.
Rows overlap_of(const Rows& a, const Rows& b);

/// The rows that a node needs of one input.
struct InputRows {
  int axis = -1;  ///< -1: all of the input, for any rows of the results
  std::int64_t scale = 1, divisor = 1, before = 0, after = 0;

  /// Returns the rows for the rows `wanted` of the results, not limited to existing ones: rows
  /// outside are padding.
  Rows of(const Rows& wanted) const;
};

/// The rule for cutting the results of a node along `axis`, which all of them have.
struct SplitRule {
  int axis = 0;
  /// Rows can only be computed in multiples of this, counted from the first.
  std::int64_t granule = 1;
  std::vector<InputRows> inputs;  ///< one per input
};

/// Returns the rule; nullopt if the results cannot be cut along `axis`, or the required sizes or
/// parameters are not known.
std::optional<SplitRule> split_rule(const Graph& graph, const ConcreteShapes& shapes,
                                    const Node& node, int axis);

}  // namespace parallax
