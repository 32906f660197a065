#include "compile/graph_context.h"

#include <utility>

namespace parallax {
namespace {

/// What only a device runs is one node.
IdVector<NodeId, Position> positions(const BranchGraph& branches, std::size_t nodes,
                                     bool substitute) {
  IdVector<NodeId, Position> result(nodes);
  for (const BranchId branch : branches.branches.ids()) {
    std::int32_t index = 0;
    const bool one = branches.region[branch].valid() && !substitute;
    for (const NodeId node : branches.branches[branch]) result[node] = {branch, one ? 0 : index++};
  }
  return result;
}

}  // namespace

GraphContext::GraphContext(Graph graph_in, Delegation delegation_in,
                           std::shared_ptr<Weights> shared)
    : graph(std::move(graph_in)),
      delegation(std::move(delegation_in)),
      branches(find_branches(coarsen(dag_of(graph), delegation.region_of))),
      position(positions(branches, graph.nodes.size(), delegation.substitute)),
      alike(find_alike(graph)),
      weights(shared == nullptr ? std::make_shared<Weights>() : std::move(shared)),
      packed(weights->packed),
      constants(weights->constants) {
  for (const NodeId id : graph.nodes.ids()) {
    for (const auto& body : graph.nodes[id].bodies)
      bodies[id].push_back(std::make_shared<GraphContext>(*body, Delegation{}, weights));
  }
}

}  // namespace parallax
