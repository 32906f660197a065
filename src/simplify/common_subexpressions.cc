// Merges nodes that do the same with the same inputs, and equal small constants (so that nodes with
// copies of a shape become equal).
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/name_map.h"
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
  /// A key that needs more bits would not fit into the quota.
  void count(std::size_t x) { number(static_cast<std::uint32_t>(x)); }
  void text(std::string_view x) {
    count(x.size());
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
    count(x.size());
    for (const T& item : x) number(item);
  }
  std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

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
    key.count(x.size());
    for (const std::string& one : x) key.text(one);
  }
  template <class T>
  void operator()(const std::vector<T>& x) const {
    key.list(x);
  }
};

/// Adds the properties of a node. Returns true.
bool add_key(Key& key, const Node& node) {
  key.number(node.op);
  key.count(node.inputs.size());
  for (const ValueId id : node.inputs) key.number(id.value);
  key.count(node.outputs.size());
  for (const ValueId id : node.outputs) key.number(id.valid());
  for (const auto& [name, value] : node.attributes) {
    key.text(name);
    key.number(static_cast<std::uint8_t>(value.index()));
    std::visit(AddAttribute{key}, value);
  }
  key.number(node.epilogue.activation.op);
  for_each_parameter(node.epilogue.activation,
                     [&](std::string_view, float value) { key.number(value); });
  return true;
}

/// Adds the properties of a constant or symbolic value. Returns false for others.
bool add_key(Key& key, const Value& value) {
  key.number(value.kind);
  if (value.kind == ValueKind::kConstant) {
    key.constant(*value.constant);
    return true;
  }
  if (value.kind != ValueKind::kSymbolic) return false;
  key.number(value.dtype);
  for (const Expr& dim : value.shape) key.text(dim.to_string({}));
  key.count(value.content->size());
  for (const Expr& e : *value.content) key.text(e.to_string({}));
  return true;
}

/// Returns a hash of a key: of both ends if it is long, since long constants seldom differ between
/// them alone.
std::uint64_t hash_of(std::string_view key) {
  constexpr std::size_t kEnd = 256;
  if (key.size() <= 2 * kEnd) return name_hash(key);
  return name_hash(key.substr(0, kEnd)) ^ std::rotl(name_hash(key.substr(key.size() - kEnd)), 1);
}

/// Finds the first of several equal items, nodes or values. Keeps hashes of the keys under the key
/// of this process, so that a file cannot choose items that collide; makes the key of an item again
/// if another has its hash.
template <class Id, class Item>
class FirstEqual {
 public:
  FirstEqual(const IdVector<Id, Item>& items, LoadQuota& quota)
      : items_(items), key_(quota), other_(quota) {}

  /// Returns the first item that is equal to `id`, among it and those of earlier calls.
  Id of(Id id) {
    key_.clear();
    if (!add_key(key_, items_[id])) return id;
    const auto [known, added] = first_.emplace(hash_of(key_.bytes()), id);
    if (added) return id;
    other_.clear();
    add_key(other_, items_[known->second]);
    return other_.bytes() == key_.bytes() ? known->second : id;
  }

 private:
  const IdVector<Id, Item>& items_;
  Key key_, other_;  ///< keep their memory from item to item
  std::unordered_map<std::uint64_t, Id> first_;
};

/// Merges equal values. Returns the number of replaced values.
int merge_values(const Graph& graph, Replacements& replacements, LoadQuota& quota) {
  FirstEqual first(graph.values, quota);
  int merged = 0;
  for (const ValueId id : graph.values.ids())
    if (replacements.replace(id, first.of(id))) ++merged;
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
  FirstEqual first(graph.nodes, keys);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    Node& node = graph.nodes[id];
    replacements.apply(node);
    // Comparing bodies has never paid.
    if (!node.bodies.empty() || op_def(node.op).random) continue;
    const NodeId same = first.of(id);
    if (same != id && merge_nodes(replacements, node, graph.nodes[same])) ++changes;
  }
  replacements.finish();
  // If two symbols stood for the same data-dependent size, one remains.
  if (changes > 0) PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes + merged;
}

}  // namespace parallax
