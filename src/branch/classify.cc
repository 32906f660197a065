#include "branch/branch.h"

namespace parallax {

std::string_view to_string(NodeClass node_class) {
  switch (node_class) {
    case NodeClass::kSequential:
      return "Sequential";
    case NodeClass::kSplitter:
      return "Splitter";
    case NodeClass::kMerger:
      return "Merger";
    case NodeClass::kSplitMerge:
      return "Split-Merge";
  }
  return "unknown";
}

NodeClass classify(const CoarseDag& dag, UnitId unit) {
  const bool merges = dag.predecessors[unit].size() > 1;
  const bool splits = dag.successors[unit].size() > 1;
  if (dag.forced[unit] || (merges && splits)) return NodeClass::kSplitMerge;
  if (merges) return NodeClass::kMerger;
  return splits ? NodeClass::kSplitter : NodeClass::kSequential;
}

}  // namespace parallax
