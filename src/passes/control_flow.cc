#include "passes/control_flow.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ops/control_flow.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace parallax {
namespace {

/// The bodies of one node while they change, each once.
class Bodies {
 public:
  explicit Bodies(Node& node) : node_(node) {
    for (const auto& body : node.bodies) {
      const auto known = std::find(before_.begin(), before_.end(), body);
      index_.push_back(static_cast<std::size_t>(known - before_.begin()));
      if (known != before_.end()) continue;
      before_.push_back(body);
      graphs.push_back(*body);
    }
  }
  void store() {
    std::vector<std::shared_ptr<const Graph>> after;
    for (Graph& graph : graphs) after.push_back(std::make_shared<const Graph>(std::move(graph)));
    for (std::size_t i = 0; i < index_.size(); ++i) node_.bodies[i] = after[index_[i]];
  }

  std::vector<Graph> graphs;

 private:
  Node& node_;
  std::vector<std::shared_ptr<const Graph>> before_;
  std::vector<std::size_t> index_;
};

bool is_read(const Graph& graph, ValueId id) {
  const auto names = [id](const std::vector<ValueId>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  return names(graph.outputs) || std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                             [&](const Node& node) { return names(node.inputs); });
}

/// Makes the last input but `from_end` of the body what the graph around says of it.
void sink(const Value& value, Graph& body, std::size_t from_end) {
  const auto input = body.inputs.end() - static_cast<std::ptrdiff_t>(from_end);
  Value& inside = body.values[*input];
  if (value.kind == ValueKind::kConstant) {
    inside.kind = ValueKind::kConstant;
    inside.constant = value.constant;
    inside.dtype = value.dtype;
    inside.shape = value.shape;
    inside.content.reset();
  } else {
    inside.kind = ValueKind::kSymbolic;
  }
  body.inputs.erase(input);
}

/// Whether all bodies know the elements of the capture as expressions.
bool symbolic_inside(const Bodies& bodies, std::size_t from_end) {
  return std::all_of(bodies.graphs.begin(), bodies.graphs.end(), [&](const Graph& body) {
    return body.values[body.inputs[body.inputs.size() - from_end]].content.has_value();
  });
}

bool unread_inside(const Bodies& bodies, std::size_t from_end) {
  return std::none_of(bodies.graphs.begin(), bodies.graphs.end(), [&](const Graph& body) {
    return is_read(body, body.inputs[body.inputs.size() - from_end]);
  });
}

int tidy_captures(const Graph& graph, Node& node, Bodies& bodies) {
  int changes = 0;
  for (std::size_t from_end = node.captures; from_end > 0; --from_end) {
    const auto at = node.inputs.end() - static_cast<std::ptrdiff_t>(from_end);
    const Value& value = graph.values[*at];
    const bool known = value.kind == ValueKind::kConstant ||
                       (value.kind == ValueKind::kSymbolic && symbolic_inside(bodies, from_end));
    if (!known && !unread_inside(bodies, from_end)) continue;
    for (Graph& body : bodies.graphs) {
      if (known) {
        sink(value, body, from_end);
      } else {
        body.inputs.erase(body.inputs.end() - static_cast<std::ptrdiff_t>(from_end));
      }
    }
    node.inputs.erase(at);
    --node.captures;
    ++changes;
  }
  return changes;
}

/// Results of an If, and scan outputs of loops, that nobody reads; one output stays.
int tidy_outputs(const IdVector<ValueId, bool>& read, Node& node, Bodies& bodies) {
  std::size_t first = 0, in_body = 0;
  if (node.op != OpKind::kIf) {
    const auto parts = loop_parts(node);
    if (!parts) return 0;
    first = parts->carried;
    in_body = parts->first_output;
  }
  int changes = 0;
  for (std::size_t i = node.outputs.size(); i > first && node.outputs.size() > 1; --i) {
    const ValueId output = node.outputs[i - 1];
    if (output.valid() && read[output]) continue;
    node.outputs.erase(node.outputs.begin() + static_cast<std::ptrdiff_t>(i - 1));
    for (Graph& body : bodies.graphs)
      body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(in_body + i - 1));
    if (node.op == OpKind::kScan) {
      for (const char* list : {"scan_output_axes", "scan_output_directions"}) {
        auto values = node.attributes.get_ints(list);
        if (i - 1 - first >= values.size()) continue;
        values.erase(values.begin() + static_cast<std::ptrdiff_t>(i - 1 - first));
        node.attributes.set(list, std::move(values));
      }
    }
    ++changes;
  }
  return changes;
}

}  // namespace

int tidy_bodies(Graph& graph) {
  if (std::all_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& node) { return node.bodies.empty(); }))
    return 0;
  IdVector<ValueId, bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs)
      if (id.valid()) read[id] = true;
  for (const ValueId id : graph.outputs) read[id] = true;
  int changes = 0;
  for (Node& node : graph.nodes) {
    if (node.bodies.empty()) continue;
    Bodies bodies(node);
    const int changed = tidy_captures(graph, node, bodies) + tidy_outputs(read, node, bodies);
    if (changed == 0) continue;
    changes += changed;
    for (Graph& body : bodies.graphs) erase_unused(body);
    bodies.store();
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

Result<int> run_with_bodies(const Pass& pass, Graph& graph, const PassContext& context) {
  PX_ASSIGN(int changes, pass.run(graph, context));
  changes += tidy_bodies(graph);
  bool inside = false;
  for (const NodeId id : graph.nodes.ids()) {
    Node& node = graph.nodes[id];
    if (node.bodies.empty()) continue;
    Bodies bodies(node);
    int changed = 0;
    for (Graph& body : bodies.graphs) {
      PX_ASSIGN(const int here, run_with_bodies(pass, body, context));
      changed += here;
    }
    if (changed == 0) continue;
    bodies.store();
    changes += changed;
    inside = true;
  }
  if (inside) {
    tidy_bodies(graph);
    PX_RETURN_IF_ERROR(infer_graph(graph));
  }
  return changes;
}

}  // namespace parallax
