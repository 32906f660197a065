// Removes nodes whose results reach no output of the graph, and values that no node mentions.
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {

Result<int> dead_code(Graph& graph, const PassContext&) { return erase_unused(graph); }

}  // namespace parallax
