// Replaces an If whose condition is known by the branch that it takes.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/status.h"
#include "ops/control_flow.h"
#include "ops/infer.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

class Inliner {
 public:
  explicit Inliner(Graph& graph) : graph_(graph) {
    for (const Value& value : graph.values) value_names_.insert(value.name);
    for (const Node& node : graph.nodes) node_names_.insert(node.name);
    for (const Symbol& symbol : graph.symbols) symbol_names_.insert(symbol.name);
  }

  int run() {
    IdVector<NodeId, Node> before = std::exchange(graph_.nodes, {});
    int changes = 0;
    for (Node& node : before) {
      const auto condition = node.op == OpKind::kIf && node.bodies.size() == 2
                                 ? known_scalar(graph_.values[node.inputs[0]])
                                 : std::nullopt;
      if (!condition) {
        add(std::move(node));
        continue;
      }
      inline_body(node, *node.bodies[*condition != 0 ? 0 : 1]);
      ++changes;
    }
    return changes;
  }

 private:
  using Names = std::unordered_set<std::string>;
  static std::string unique(Names& names, std::string name) {
    while (!names.insert(name).second) name += '\'';
    return name;
  }

  void add(Node node) {
    const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
    for (const ValueId output : node.outputs)
      if (output.valid()) graph_.values[output].producer = id;
    graph_.nodes.push_back(std::move(node));
  }

  void inline_body(const Node& node, const Graph& body) {
    IdVector<SymbolId, SymbolId> symbols(body.symbols.size());
    for (const SymbolId id : body.symbols.ids()) {
      const Symbol& symbol = body.symbols[id];
      symbols[id] =
          symbol.outer.valid()
              ? symbol.outer
              : graph_.symbols.push_back(
                    {unique(symbol_names_, node.name + "/" + symbol.name), SymbolKind::kData, {}});
    }
    const auto outside = [&](std::vector<Expr> list) {
      for (Expr& e : list)
        e = substitute(e, [&](SymbolId id) { return Expr::symbol(symbols[id]); });
      return list;
    };
    IdVector<ValueId, ValueId> values(body.values.size());
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      values[body.inputs[i]] = node.inputs[1 + i];
    for (const ValueId id : body.values.ids()) {
      if (values[id].valid()) continue;
      Value value = body.values[id];
      value.name = unique(value_names_, node.name + "/" + value.name);
      value.shape = outside(std::move(value.shape));
      if (value.content) value.content = outside(*std::move(value.content));
      value.producer = NodeId{};
      values[id] = graph_.values.push_back(std::move(value));
    }
    for (const Node& inside : body.nodes) {
      Node copy = inside;
      copy.name = unique(node_names_, node.name + "/" + inside.name);
      for (ValueId& id : copy.inputs) id = id.valid() ? values[id] : id;
      for (ValueId& id : copy.outputs) id = id.valid() ? values[id] : id;
      for (auto& nested : copy.bodies) {
        if (&nested != &copy.bodies[0] && nested == inside.bodies[0]) {
          nested = copy.bodies[0];
          continue;
        }
        Graph relinked = *nested;
        for (Symbol& symbol : relinked.symbols)
          if (symbol.outer.valid()) symbol.outer = symbols[symbol.outer];
        nested = std::make_shared<const Graph>(std::move(relinked));
      }
      add(std::move(copy));
    }
    // The values keep their names, which users may see; remove_no_ops removes the Identity.
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      Node identity;
      identity.name = unique(node_names_, fmt::format("{}/output_{}", node.name, i));
      identity.inputs = {values[body.outputs[i]]};
      identity.outputs = {node.outputs[i]};
      add(std::move(identity));
    }
  }

  Graph& graph_;
  Names value_names_, node_names_, symbol_names_;
};

}  // namespace

Result<int> inline_if(Graph& graph, const PassContext& context) {
  // One body may hold the next: inlining shows whether its condition is known, level by level.
  int changes = 0;
  if (std::ranges::none_of(graph.nodes, [](const Node& n) { return n.op == OpKind::kIf; }))
    return 0;
  for (int depth = 0; depth <= kMaxNesting; ++depth) {
    const int more = Inliner(graph).run();
    if (more == 0) break;
    changes += more;
    erase_unused(graph);
    PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  }
  return changes;
}

}  // namespace parallax
