// Fuses a table of bytes into the integer product before it, which then looks its results up.
#include <optional>
#include <utility>

#include "lower/cpu/lower.h"
#include "ops/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Returns the table in which `node` looks bytes up; nullopt if it is not such a node.
std::optional<Constant> look_up_of(const Node& node) {
  return node.op == OpKind::kQuantizeLinear ? byte_table(node) : std::nullopt;
}

}  // namespace

Result<int> fuse_byte_tables(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const std::optional<Constant> table = look_up_of(graph.nodes[id]);
    if (!table || !readers.single(graph.nodes[id].inputs[0])) continue;
    const Value& bytes = graph.values[graph.nodes[id].inputs[0]];
    if (bytes.kind != ValueKind::kResult) continue;
    const Node& maker = graph.nodes[bytes.producer];
    const bool product = maker.op == OpKind::kConvInteger || maker.op == OpKind::kMatMulInteger;
    if (!product || !is_requantised(maker) || has_byte_table(maker)) continue;
    Attributes attributes = maker.attributes;
    set_param(attributes, &ByteTableParams::table, *table);
    rewrite_node(graph, id, maker.op, maker.inputs, std::move(attributes), maker.epilogue);
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
