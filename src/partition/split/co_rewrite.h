// What a node is called with, where it makes some rows only: paddings at the cut, shapes, bounds.
// Internal to partition/.
#pragma once

#include "lower/patterns/fuse_util.h"
#include "partition/split/row_rules.h"

namespace parallax {

/// Changes `node`, a copy of one of `graph`, so that it makes the rows `made`; its inputs with rows
/// hold those that its rule wants for these. Constants that it needs are added to `into`.
void rewrite_for_rows(const Graph& graph, const ConcreteShapes& shapes, const RowRule& rule,
                      const Rows& made, Graph& into, UniqueNames& names, Node& node);

}  // namespace parallax
