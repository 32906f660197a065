// Helpers for tests of regions: a graph whose nodes belong to regions by their names.
#pragma once

#include <memory>
#include <utility>

#include "run/run_test_util.h"

namespace parallax {

/// Makes region I of the nodes @rI and @rIb.
inline std::shared_ptr<GraphContext> delegated(const std::shared_ptr<GraphContext>& plain,
                                               bool substitute = false) {
  Delegation delegation;
  delegation.substitute = substitute;
  for (const Node& node : plain->graph.nodes) {
    const bool in_region = node.name.size() > 1 && node.name[0] == 'r';
    delegation.region_of.push_back(in_region ? RegionId{node.name[1] - '0'} : RegionId{});
  }
  for (int region = 0; region < 4; ++region) delegation.seconds.push_back(1e-3);
  return std::make_shared<GraphContext>(plain->graph, std::move(delegation));
}

inline constexpr RegionId kR0{0}, kR1{1}, kR2{2}, kR3{3};

}  // namespace parallax
