// Converts a region of delegate.h to a graph of the library, for the sizes of one binding.
// Thread-safety: pure functions.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "parallax/delegate.h"

namespace parallax {

/// A copy of a px_region, without pointers that are valid only during a call.
struct RegionOutline {
  /// A value of the region.
  struct Given {
    std::string name;
    DType dtype = DType::kF32;
    std::optional<Constant> constant;  ///< a view: the host keeps its bytes alive
    bool known_when_bound = false;     ///< elements of the value arrive with the sizes
  };
  /// A node of the region; indices refer to `values`, -1: absent.
  struct Step {
    std::string name;
    OpKind op = OpKind::kIdentity;
    Attributes attributes;
    std::vector<std::int32_t> inputs, outputs;
  };
  std::vector<Given> values;
  std::vector<Step> steps;
  std::vector<std::int32_t> inputs, outputs;  ///< indices of `values`
};
/// Copies a region. Errors: kUnsupported for an unknown operator, attribute or type; kInvalidInput
/// for indices out of range.
Result<RegionOutline> outline_of(const px_region& region);

/// Returns the graph for `sizes`, with all shapes inferred. Errors: those of inference;
/// kInvalidInput if a value has no producer, or inference gives another shape than the host.
Result<Graph> graph_of(const RegionOutline& outline, const px_sizes& sizes);

}  // namespace parallax
