// A node's shapes as one line, for traces and as a key to the time that such a node took before.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"

namespace parallax {

/// "1x64x768, _, 768 -> 1x64x768": `_` for what is left out. `dims_of(ValueId)` gives a value's
/// Dims.
template <class DimsOf>
std::string shapes_text(const Node& node, DimsOf dims_of) {
  std::string text;
  const auto describe = [&](std::span<const ValueId> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text += ", ";
      text += values[i].valid() ? dims_of(values[i]).to_string() : "_";
    }
  };
  describe(node.inputs);
  text += " -> ";
  describe(node.outputs);
  return text;
}

}  // namespace parallax
