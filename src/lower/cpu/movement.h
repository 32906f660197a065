// Nodes that only move elements: Slice, Split, Concat, Transpose and views.
// Thread-safety: pure functions. Internal to lower/cpu/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace parallax {

using Ints = std::vector<std::int64_t>;

/// One node as a movement: element i of axis d of the output is element start[d] + i * step[d] of
/// axis axes[d] of the input. A Concat moves each of its inputs so, and puts them one after the
/// other along the output's axis `joined`. Lists have an entry for each axis of the first input;
/// those of a view are not used.
struct Movement {
  Ints axes, start, step;
  int joined = -1;    ///< Concat: the axis
  bool view = false;  ///< the same elements in the same order
};

/// Returns the dims; nullopt if a dimension is not known, or 0, or there are too many elements to
/// count. The limit is 2^30 elements.
std::optional<Ints> known_dims(const Shape& shape);

/// Returns the product of the dims; 1 without axes. REQUIRES: the product fits 63 bits, as that of
/// known_dims() does.
std::int64_t elements_in(const Ints& dims);

/// Returns how `node` computes its output `output`; nullopt if it is not a movement, or its
/// parameters are not known. A Slice counts only with constant starts and positive steps, within
/// the bounds of its input.
std::optional<Movement> read_movement(const Graph& graph, const Node& node, std::size_t output);

/// Returns the number of elements that the movement keeps contiguous, starting at multiples of it
/// on both sides. `from` and `to`: the dims of input and output.
std::int64_t run_of(const Movement& m, const Ints& from, const Ints& to);

}  // namespace parallax
