#include "compile/equivalent_nodes.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "ops/deferred.h"
#include "ops/op.h"

namespace parallax {
namespace {

bool same(const Constant& a, const Constant& b) {
  // Lists that decide shapes are short; two large constants are not worth reading.
  constexpr std::size_t kMaxBytes = 1024;
  static_assert(kMaxBytes < kDeferredBytes, "bytes that are not computed cannot be compared");
  if (a.dtype != b.dtype || !(a.dims == b.dims)) return false;
  if (a.bytes.data() == b.bytes.data()) return true;
  return a.bytes.size() <= kMaxBytes && std::ranges::equal(a.bytes, b.bytes);
}

bool same(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, Constant>) {
          return same(x, std::get<T>(b));
        } else {
          return x == std::get<T>(b);
        }
      },
      a);
}

bool same(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

/// Returns true if the elements of both are known and equal.
bool same_elements(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == ValueKind::kConstant) return same(*a.constant, *b.constant);
  return a.kind == ValueKind::kSymbolic && a.content == b.content;
}

/// Compares inputs of `def`, or outputs if it is null.
bool same_values(const Graph& graph, const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                 const OpDef* def) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!a[i].valid() || !b[i].valid()) return false;
    const Value& x = graph.values[a[i]];
    const Value& y = graph.values[b[i]];
    if (x.dtype != y.dtype || x.shape != y.shape) return false;
    if (def != nullptr && def->decides_shape(i) && !same_elements(x, y)) return false;
  }
  return true;
}

bool alike(const Graph& graph, const Node& a, const Node& b) {
  return a.inputs.size() == b.inputs.size() && a.outputs.size() == b.outputs.size() &&
         same_values(graph, a.outputs, b.outputs, nullptr) &&
         same_values(graph, a.inputs, b.inputs, &op_def(a.op)) &&
         same(a.attributes, b.attributes) && a.epilogue == b.epilogue;
}

}  // namespace

IdVector<NodeId, NodeId> find_equivalent(const Graph& graph) {
  std::array<std::vector<NodeId>, kOpCount> known;
  IdVector<NodeId, NodeId> result;
  result.reserve(graph.nodes.size());
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    result.push_back(id);
    if (!node.bodies.empty() || op_def(node.op).random) continue;
    auto& firsts = known[static_cast<std::size_t>(node.op)];
    const auto found = std::find_if(firsts.begin(), firsts.end(), [&](NodeId first) {
      return alike(graph, graph.nodes[first], node);
    });
    if (found != firsts.end()) {
      result[id] = *found;
    } else if (firsts.size() < kMaxAlike) {
      firsts.push_back(id);
    }
  }
  return result;
}

}  // namespace parallax
