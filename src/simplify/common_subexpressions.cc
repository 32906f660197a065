// Merges nodes that do the same with the same inputs, and equal small constants (so that nodes with
// copies of a shape become equal).
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/status.h"
#include "ops/deferred.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Larger constants are equal only if they are the same bytes in memory; so are constants beyond
/// the remaining quota: constants may overlap in a small file.
constexpr std::size_t kMaxCompared = 4096;
static_assert(kMaxCompared < kDeferredBytes, "bytes that are not computed cannot be compared");

/// All properties that make two nodes or values equal, as bytes. Each part includes its length, so
/// that different parts never give the same bytes.
class Key {
 public:
  explicit Key(LoadQuota& quota) : quota_(quota) {}
  template <class T>
  void number(T x) {
    bytes_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  void text(std::string_view x) {
    number(x.size());
    bytes_.append(x);
  }
  void constant(const Constant& x) {
    number(x.dtype);
    number(x.dims.rank());
    for (const std::int64_t dim : x.dims) number(dim);
    if (x.bytes.size() > kMaxCompared || !quota_.take_bytes(std::ssize(x.bytes))) {
      number(x.bytes.data());
    } else {
      bytes_.append(reinterpret_cast<const char*>(x.bytes.data()), x.bytes.size());
    }
  }
  template <class T>
  void list(const std::vector<T>& x) {
    number(x.size());
    for (const T& item : x) number(item);
  }
  std::string take() { return std::move(bytes_); }

 private:
  LoadQuota& quota_;
  std::string bytes_;
};

struct AddAttribute {
  Key& key;
  void operator()(std::int64_t x) const { key.number(x); }
  void operator()(float x) const { key.number(x); }
  void operator()(const std::string& x) const { key.text(x); }
  void operator()(const Constant& x) const { key.constant(x); }
  void operator()(const std::vector<std::string>& x) const {
    key.number(x.size());
    for (const std::string& one : x) key.text(one);
  }
  template <class T>
  void operator()(const std::vector<T>& x) const {
    key.list(x);
  }
};

std::string key_of(const Node& node, LoadQuota& quota) {
  Key key(quota);
  key.number(node.op);
  key.number(node.inputs.size());
  for (const ValueId id : node.inputs) key.number(id.value);
  key.number(node.outputs.size());
  for (const ValueId id : node.outputs) key.number(id.valid());
  for (const auto& [name, value] : node.attributes) {
    key.text(name);
    key.number(value.index());
    std::visit(AddAttribute{key}, value);
  }
  key.number(node.epilogue.activation.op);
  for_each_parameter(node.epilogue.activation,
                     [&](std::string_view, float value) { key.number(value); });
  return key.take();
}

/// Returns the key of a constant or symbolic value; nullopt for others.
std::optional<std::string> key_of(const Value& value, LoadQuota& quota) {
  Key key(quota);
  key.number(value.kind);
  if (value.kind == ValueKind::kConstant) {
    key.constant(*value.constant);
    return key.take();
  }
  if (value.kind != ValueKind::kSymbolic) return std::nullopt;
  key.number(value.dtype);
  for (const Expr& dim : value.shape) key.text(dim.to_string({}));
  key.number(value.content->size());
  for (const Expr& e : *value.content) key.text(e.to_string({}));
  return key.take();
}

/// Merges equal values. Returns the number of replaced values.
int merge_values(const Graph& graph, Replacements& replacements, LoadQuota& quota) {
  std::unordered_map<std::string, ValueId> first;
  int merged = 0;
  for (const ValueId id : graph.values.ids()) {
    auto key = key_of(graph.values[id], quota);
    if (!key) continue;
    const auto [known, added] = first.emplace(std::move(*key), id);
    if (!added && replacements.replace(id, known->second)) ++merged;
  }
  return merged;
}

/// Replaces the outputs of `node` by those of `kept`. Returns false if no output may be replaced.
bool merge_nodes(Replacements& replacements, const Node& node, const Node& kept) {
  bool any = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    any = replacements.replace(node.outputs[i], kept.outputs[i]) || any;
  }
  return any;
}

}  // namespace

Result<int> common_subexpressions(Graph& graph, const PassContext& context) {
  Replacements replacements(graph);
  LoadQuota keys = *context.quota;  // they are gone afterwards
  const int merged = merge_values(graph, replacements, keys);
  std::unordered_map<std::string, NodeId> first;
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    Node& node = graph.nodes[id];
    replacements.apply(node);
    // Comparing bodies has never paid.
    if (!node.bodies.empty() || op_def(node.op).random) continue;
    const auto [known, added] = first.emplace(key_of(node, keys), id);
    if (!added && merge_nodes(replacements, node, graph.nodes[known->second])) ++changes;
  }
  replacements.finish();
  // If two symbols stood for the same data-dependent size, one remains.
  if (changes > 0) PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes + merged;
}

}  // namespace parallax
