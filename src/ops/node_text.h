// A node's shapes as one line, for traces and as a key to the time that such a node took before.
#pragma once

#include <span>
#include <string>

#include "ops/chain.h"

namespace parallax {

/// Returns "1x64x768, _, 768 -> 1x64x768": `_` for what is left out; a chain begins with what it
/// computes (chain_text()). `dims_of(ValueId)` returns a value's Dims; it is called for values that
/// are not left out only. Element types are not in the text.
template <class DimsOf>
std::string shapes_text(const Node& node, DimsOf dims_of) {
  std::string text;
  if (node.op == OpKind::kElementwiseChain) text = chain_text(node) + " ";
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
