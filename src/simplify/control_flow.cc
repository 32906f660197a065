#include "simplify/control_flow.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ops/control_flow.h"
#include "ops/infer.h"
#include "ops/params/scan.h"
#include "simplify/rewrite.h"

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

/// Which values a node reads or the graph gives.
IdVector<ValueId, bool> values_read(const Graph& graph) {
  IdVector<ValueId, bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    for (const ValueId id : node.inputs)
      if (id.valid()) read[id] = true;
  for (const ValueId id : graph.outputs) read[id] = true;
  return read;
}

/// Drops the elements that are not to stay, of a list that begins at `first`.
template <class T>
void keep_only(std::vector<T>& list, std::size_t first, const std::vector<bool>& stays) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
  const auto count = std::min(std::ssize(stays), list.end() - begin);
  auto next = begin;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    if (stays[static_cast<std::size_t>(i)]) *next++ = begin[i];
  list.erase(next, begin + count);
}

/// Makes an input of a body what the graph around says of it.
void sink(const Value& value, Value& inside) {
  if (value.kind != ValueKind::kConstant) {
    inside.kind = ValueKind::kSymbolic;
    return;
  }
  inside.kind = ValueKind::kConstant;
  inside.constant = value.constant;
  inside.dtype = value.dtype;
  inside.shape = value.shape;
  inside.content.reset();
}

/// Captures that bodies can know by themselves, or that none reads.
int tidy_captures(const Graph& graph, Node& node, Bodies& bodies) {
  std::vector<IdVector<ValueId, bool>> read;
  for (const Graph& body : bodies.graphs) read.push_back(values_read(body));
  const std::size_t count = node.captures, own = node.inputs.size() - count;
  std::vector<bool> stays(count, true);
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = graph.values[node.inputs[own + i]];
    const auto inside = [&](Graph& body) -> Value& {
      return body.values[body.inputs[body.inputs.size() - count + i]];
    };
    bool known = value.kind == ValueKind::kConstant || value.kind == ValueKind::kSymbolic;
    bool unread = true;
    for (std::size_t b = 0; b < bodies.graphs.size(); ++b) {
      Graph& body = bodies.graphs[b];
      if (value.kind == ValueKind::kSymbolic) known = known && inside(body).content.has_value();
      unread = unread && !read[b][body.inputs[body.inputs.size() - count + i]];
    }
    stays[i] = !known && !unread;
    if (!known) continue;
    for (Graph& body : bodies.graphs) sink(value, inside(body));
  }
  const auto left = std::count(stays.begin(), stays.end(), true);
  for (Graph& body : bodies.graphs) keep_only(body.inputs, body.inputs.size() - count, stays);
  keep_only(node.inputs, own, stays);
  node.captures = static_cast<std::size_t>(left);
  return static_cast<int>(count - node.captures);
}

/// Removes results of an If, and scan outputs of loops, that are not read; one output stays.
int tidy_outputs(const IdVector<ValueId, bool>& read, Node& node, Bodies& bodies) {
  std::size_t first = 0, in_body = 0;
  if (node.op != OpKind::kIf) {
    const auto parts = loop_parts(node);
    if (!parts) return 0;
    first = parts->carried;
    in_body = parts->first_output;
  }
  std::vector<bool> stays(node.outputs.size() - first);
  for (std::size_t i = 0; i < stays.size(); ++i) {
    const ValueId output = node.outputs[first + i];
    stays[i] = output.valid() && read[output];
  }
  auto left = std::count(stays.begin(), stays.end(), true);
  if (first + static_cast<std::size_t>(left) == 0 && !stays.empty()) {
    stays[0] = true;
    ++left;
  }
  const auto changes = static_cast<int>(std::ssize(stays) - left);
  if (changes == 0) return 0;
  keep_only(node.outputs, first, stays);
  for (Graph& body : bodies.graphs) keep_only(body.outputs, in_body + first, stays);
  if (node.op == OpKind::kScan) {
    for (const auto list : {&ScanParams::output_axes, &ScanParams::output_directions}) {
      auto values = params_of<ScanParams>(node).*list;
      if (values.empty()) continue;
      keep_only(values, 0, stays);
      set_param(node, list, std::move(values));
    }
  }
  return changes;
}

bool may_change(const Pass& pass, const Graph& graph) {
  return pass.needs.empty() || std::ranges::any_of(graph.nodes, [&](const Node& node) {
           return pass.needs.contains(node.op);
         });
}

/// Runs the pass over the graph and its bodies, at every depth; `inside` tells whether a body
/// changed. Inference is left to the caller: once for all depths.
Status run_everywhere(const Pass& pass, Graph& graph, const PassContext& context, int& changes,
                      bool& inside) {
  const std::set<std::string> closed = context.closed ? *context.closed : std::set<std::string>();
  if (may_change(pass, graph)) {
    PX_ASSIGN(const int here, pass.run(graph, context));
    changes += here;
  }
  changes += tidy_bodies(graph, closed);
  bool below = false;
  for (const NodeId id : graph.nodes.ids()) {
    Node& node = graph.nodes[id];
    if (node.bodies.empty() || closed.contains(node.name)) continue;
    Bodies bodies(node);
    // A computation that fails must fail the run only if its branch is taken.
    PassContext at_once = context;
    at_once.evaluate_into = nullptr;
    at_once.closed = nullptr;
    at_once.detours = {};
    int changed = 0;
    for (Graph& body : bodies.graphs)
      PX_RETURN_IF_ERROR(run_everywhere(pass, body, at_once, changed, inside));
    if (changed == 0) continue;
    bodies.store();
    changes += changed;
    below = true;
  }
  if (below) tidy_bodies(graph, closed);
  inside = inside || below;
  return {};
}

}  // namespace

int tidy_bodies(Graph& graph, const std::set<std::string>& closed) {
  if (std::all_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& node) { return node.bodies.empty(); }))
    return 0;
  const IdVector<ValueId, bool> read = values_read(graph);
  int changes = 0;
  for (Node& node : graph.nodes) {
    if (node.bodies.empty() || closed.contains(node.name)) continue;
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
  int changes = 0;
  bool inside = false;
  PX_RETURN_IF_ERROR(run_everywhere(pass, graph, context, changes, inside));
  if (inside) PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes;
}

}  // namespace parallax
