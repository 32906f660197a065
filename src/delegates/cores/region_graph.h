// A region of delegate.h as a graph of the library's own, for the sizes of one binding.
// Thread-safety: pure functions.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "parallax/delegate.h"

namespace parallax {

/// A px_region, without what lives only as long as the call that brings it.
struct RegionOutline {
  struct Given {
    std::string name;
    DType dtype = DType::kF32;
    std::optional<Constant> constant;  ///< the host keeps its bytes
    bool known_when_bound = false;
  };
  struct Step {
    std::string name;
    OpKind op = OpKind::kIdentity;
    Attributes attributes;
    std::vector<std::int32_t> inputs, outputs;
  };
  std::vector<Given> values;
  std::vector<Step> steps;
  std::vector<std::int32_t> inputs, outputs;
};
/// Errors: kUnsupported for an operator, an attribute or a type that there is not; kInvalidInput
/// for indices out of range.
Result<RegionOutline> outline_of(const px_region& region);

/// The graph for `sizes`, with all shapes inferred. Errors: as inference; kInvalidInput where a
/// value comes from nowhere, or gets another shape than the host says.
Result<Graph> graph_of(const RegionOutline& outline, const px_sizes& sizes);

}  // namespace parallax
