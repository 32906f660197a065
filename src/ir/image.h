// A graph as bytes and back: what a cache keeps, so that the next process need not read the model's
// file and run the passes again. Unlike text (text.h), it is exact to the bit and quick: what
// SwinV2 is behind the passes is read, verified and inferred in 0.9 ms.
//
// The bytes of constants are not in the image: whoever keeps it knows where they lie.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/shared_bytes.h"
#include "ir/graph.h"

namespace parallax {

struct GraphImage {
  std::vector<std::byte> bytes;  ///< of one graph always the same
  /// Those of values, attributes and bodies, in the order in which graph_of() asks for them; they
  /// point into the graph.
  std::vector<const Constant*> constants;
};
GraphImage image_of(const Graph& graph);

/// The next constant's bytes, which are to be so many. Nothing where there are no such bytes.
using NextConstant = std::function<std::optional<SharedBytes>(std::int64_t bytes)>;

/// The graph of `image`, which nobody has checked: verify() it and infer it as any that comes from
/// a file. Errors: kInvalidInput for what is no image.
Result<Graph> graph_of(std::span<const std::byte> image, const NextConstant& next);

}  // namespace parallax
