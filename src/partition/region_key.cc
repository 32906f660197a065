#include "partition/region_key.h"

#include <string>
#include <string_view>

namespace parallax {
namespace {

/// FNV-1a of 64 bits.
class KeyHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0xff);
  }
  void add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

void add_value(const Graph& graph, const ConcreteShapes& shapes, ValueId id, KeyHash& hash) {
  hash.add(id.valid() ? static_cast<std::int64_t>(graph.values[id].dtype) : -1);
  if (!id.valid()) return;
  hash.add(graph.values[id].name);
  if (!shapes.contains(id) || !shapes[id]) return;
  for (const std::int64_t dim : *shapes[id]) hash.add(dim);
}

}  // namespace

IdVector<NodeId, std::uint64_t> node_keys(const Graph& graph, const ConcreteShapes& shapes,
                                          std::string_view body) {
  IdVector<NodeId, std::uint64_t> keys;
  keys.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    KeyHash hash;
    hash.add(to_string(node.op));
    hash.add(std::string(body) + node.name);
    for (const ValueId input : node.inputs) add_value(graph, shapes, input, hash);
    for (const ValueId output : node.outputs) add_value(graph, shapes, output, hash);
    keys.push_back(hash.value());
  }
  return keys;
}

std::uint64_t region_key(const IdVector<NodeId, std::uint64_t>& keys,
                         std::span<const NodeId> nodes) {
  std::uint64_t sum = nodes.size();
  for (const NodeId node : nodes) sum += keys[node] * 0x9e3779b97f4a7c15U;
  KeyHash hash;
  hash.add(static_cast<std::int64_t>(sum));
  return hash.value() == 0 ? 1 : hash.value();
}

}  // namespace parallax
