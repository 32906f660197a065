// Changes the parameters of a node that computes only some rows: paddings at the cut, shapes,
// bounds. Internal to partition/.
#pragma once

#include "lower/patterns/fuse_util.h"
#include "partition/split/split_rules.h"

namespace parallax {

/// Changes `node`, a copy of one of `graph`, so that it computes the rows `made`; its inputs that
/// are cut contain the rows that its rule requires. Adds constants that it needs to `into`.
void rewrite_for_rows(const Graph& graph, const ConcreteShapes& shapes, const SplitRule& rule,
                      const Rows& made, Graph& into, UniqueNames& names, Node& node);

}  // namespace parallax
