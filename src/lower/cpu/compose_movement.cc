// Combines chains of operators that only move elements into one pass over memory: the result of
// several Slices, Concats, Splits and Transposes (and Reshapes between them) of one value is a
// Gather of runs of it, with indices that are computed here. Rolling an image and cutting it into
// windows, or merging patches, are such chains.
//
//     pattern  a value that at least two copying nodes make of one other value
//     guard    known shapes; runs of kFewestBytes or more stay whole; not one run alone, which is a
//              view where it lies
//     rewrite  Reshape(Gather(Reshape(source, [rows, run]), indices), shape)
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/charge.h"
#include "lower/cpu/lower.h"
#include "lower/cpu/movement.h"
#include "lower/patterns/fuse_util.h"
#include "ops/op.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Shorter runs cost more to look up than to copy twice.
constexpr std::int64_t kFewestBytes = 64;
/// Maximum size of a table of indices, so that it stays in the cache and loading stays fast.
constexpr std::int64_t kMaxRows = 1 << 16;

/// How a value is made of another one by movements alone.
struct Origin {
  ValueId source;
  std::int64_t run = 0;  ///< elements that stay together at least
  int copies = 0;        ///< nodes that copy, at least
};

/// Converts `dims` to units of `run` elements by `factors`: the last axes become 1, one of them
/// perhaps shorter. Returns false if `run` does not divide as origins require.
bool to_units(Ints& dims, std::int64_t run, Ints& factors) {
  factors.assign(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 0 && run > 1;) {
    const std::int64_t factor = std::gcd(run, dims[d]);
    if (factor != run && factor != dims[d]) return false;
    dims[d] /= factor;
    factors[d] = factor;
    run /= factor;
  }
  return run == 1;
}

class Composer {
 public:
  Composer(Graph& graph, const PassContext& context)
      : graph_(graph),
        names_(graph),
        origins_(graph.values.size()),
        quota_(context.quota),
        context_(context) {
    for (const NodeId id : graph.nodes.ids()) {
      const Node& node = graph.nodes[id];
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (node.outputs[o].valid()) origins_[node.outputs[o]] = origin_of(node, o);
      }
    }
    find_wanted();
  }

  int run() {
    IdVector<NodeId, std::vector<Node>> composed(graph_.nodes.size());
    int changes = 0;
    for (const NodeId id : graph_.nodes.ids())
      if (compose(graph_.nodes[id], composed[id])) ++changes;
    if (changes == 0) return 0;
    IdVector<NodeId, Node> nodes;
    for (const NodeId id : graph_.nodes.ids()) {
      if (composed[id].empty()) nodes.push_back(std::move(graph_.nodes[id]));
      for (Node& node : composed[id]) nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    return changes;
  }

 private:
  std::optional<Movement> movement_of(const Node& node, std::size_t output) const {
    return read_movement(graph_, node, output);
  }

  std::optional<Ints> dims_of(ValueId value) const {
    return known_dims(graph_.values[value].shape);
  }

  /// Finds values with a reader that is not part of a longer movement.
  void find_wanted() {
    wanted_ = IdVector<ValueId, bool>(graph_.values.size(), false);
    for (const ValueId output : graph_.outputs) wanted_[output] = true;
    for (const Node& node : graph_.nodes) {
      const bool moves = !node.outputs.empty() && node.outputs[0].valid() &&
                         origins_[node.outputs[0]].source.valid();
      for (const ValueId input : node.inputs) {
        if (input.valid() && !moves) wanted_[input] = true;
      }
    }
  }

  Origin origin_or_self(ValueId value) const {
    if (origins_[value].source.valid()) return origins_[value];
    const auto dims = dims_of(value);
    return {value, dims ? elements_in(*dims) : 0, 0};
  }

  /// Invalid source: not made by movements alone, or by ones too fine.
  Origin origin_of(const Node& node, std::size_t output) const {
    const auto movement = movement_of(node, output);
    const auto dims = dims_of(node.outputs[output]);
    if (movement && !dims && !movement->view && behind_copy(node))
      context_.missed("sizes are free", node);
    if (!movement || !dims) return {};
    const std::size_t parts = movement->joined >= 0 ? node.inputs.size() : 1;
    Origin origin;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto from = dims_of(node.inputs[part]);
      if (!from || graph_.values[node.inputs[part]].constant) return {};
      const Origin own = origin_or_self(node.inputs[part]);
      if (part > 0 && own.source != origin.source) return {};
      origin.source = own.source;
      origin.copies = std::min(origin.copies + own.copies, 2);
      origin.run = std::gcd(origin.run, std::gcd(own.run, run_of(*movement, *from, *dims)));
    }
    // Counts to two, which is all that matters.
    origin.copies = std::min(origin.copies + (movement->view ? 0 : 1), 2);
    const auto bytes = static_cast<std::int64_t>(size_of(graph_.values[origin.source].dtype));
    if (origin.run * bytes >= kFewestBytes) return origin;
    if (origin.copies >= 2) context_.missed("the runs are too short", node);
    return {};
  }

  /// Returns true if the first input is the result of a copying node, or of one or two views of it.
  bool behind_copy(const Node& node) const {
    ValueId value = node.inputs[0];
    for (int views = 0; views <= 2; ++views) {
      const Value& input = graph_.values[value];
      if (input.kind != ValueKind::kResult || !input.producer.valid()) return false;
      const Node& maker = graph_.nodes[input.producer];
      const auto movement = movement_of(maker, 0);
      if (!movement) return false;
      if (!movement->view) return true;
      value = maker.inputs[0];
    }
    return false;
  }

  using Table = std::vector<std::int32_t>;

  /// Returns for each unit of `value` the unit of the source; nullopt if units do not fit.
  std::optional<Table> table_of(ValueId value, const Origin& origin) {
    std::unordered_map<std::int32_t, Table> tables;
    std::vector<ValueId> order = movements_before(value, origin.source);
    Table identity(static_cast<std::size_t>(elements_in(*dims_of(origin.source)) / origin.run));
    std::iota(identity.begin(), identity.end(), 0);
    tables[origin.source.value] = std::move(identity);
    for (const ValueId id : order) {
      const std::int64_t units = elements_in(*dims_of(id)) / origin.run;
      const std::int64_t work = LoadQuota::kWorkPerNode + units * LoadQuota::kWorkPerProduct;
      if (units > kMaxRows || !quota_->take_work(work)) return std::nullopt;
      const Node& node = graph_.nodes[graph_.values[id].producer];
      const auto output = static_cast<std::size_t>(
          std::find(node.outputs.begin(), node.outputs.end(), id) - node.outputs.begin());
      const auto movement = movement_of(node, output);
      auto table = moved(node, id, *movement, origin.run, tables);
      if (!table) return std::nullopt;
      tables[id.value] = *std::move(table);
    }
    return std::move(tables[value.value]);
  }

  /// Returns the values between source and `value`, each after those from which it is computed.
  std::vector<ValueId> movements_before(ValueId value, ValueId source) const {
    std::vector<ValueId> order, open = {value};
    std::unordered_map<std::int32_t, bool> seen = {{source.value, true}};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!seen.emplace(id.value, true).second) continue;
      order.push_back(id);
      const Node& node = graph_.nodes[graph_.values[id].producer];
      const std::size_t parts = node.op == OpKind::kConcat ? node.inputs.size() : 1;
      for (std::size_t part = 0; part < parts; ++part) open.push_back(node.inputs[part]);
    }
    std::sort(order.begin(), order.end(), [this](ValueId a, ValueId b) {
      return graph_.values[a].producer.value < graph_.values[b].producer.value;
    });
    return order;
  }

  std::optional<Table> moved(const Node& node, ValueId result, const Movement& m, std::int64_t run,
                             const std::unordered_map<std::int32_t, Table>& tables) const {
    if (m.view) return tables.at(node.inputs[0].value);
    Ints to = *dims_of(result), to_factors;
    if (!to_units(to, run, to_factors)) return std::nullopt;
    Table table(static_cast<std::size_t>(elements_in(to)));
    std::int64_t joined = 0;
    const std::size_t parts = m.joined >= 0 ? node.inputs.size() : 1;
    for (std::size_t part = 0; part < parts; ++part) {
      Ints from = *dims_of(node.inputs[part]), factors;
      if (!to_units(from, run, factors)) return std::nullopt;
      Ints size = to, start = m.start;
      if (m.joined >= 0)
        size[static_cast<std::size_t>(m.joined)] = from[static_cast<std::size_t>(m.joined)];
      for (std::size_t d = 0; d < start.size(); ++d) {
        if (start[d] % factors[d] != 0 || (factors[d] > 1 && m.step[d] != 1)) return std::nullopt;
        start[d] /= factors[d];
      }
      copy(tables.at(node.inputs[part].value), from, m, start, size, to, joined, table);
      if (m.joined >= 0) joined += from[static_cast<std::size_t>(m.joined)];
    }
    return table;
  }

  /// Fills the box `size` of the result, which begins at `joined` along the joined axis.
  static void copy(const Table& x, const Ints& from, const Movement& m, const Ints& start,
                   const Ints& size, const Ints& to, std::int64_t joined, Table& y) {
    const std::size_t rank = to.size();
    Ints from_strides(rank, 1), strides(rank), to_strides(rank, 1);
    for (std::size_t d = rank; d-- > 1;) {
      from_strides[d - 1] = from_strides[d] * from[d];
      to_strides[d - 1] = to_strides[d] * to[d];
    }
    std::int64_t at = 0, base = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto axis = static_cast<std::size_t>(m.axes[d]);
      strides[d] = from_strides[axis] * m.step[d];
      base += start[d] * from_strides[axis];
    }
    if (m.joined >= 0) at = joined * to_strides[static_cast<std::size_t>(m.joined)];
    Ints index(rank, 0);
    for (std::int64_t left = elements_in(size); left > 0; --left) {
      y[static_cast<std::size_t>(at)] = x[static_cast<std::size_t>(base)];
      for (std::size_t d = rank; d-- > 0;) {
        at += to_strides[d];
        base += strides[d];
        if (++index[d] < size[d]) break;
        at -= size[d] * to_strides[d];
        base -= size[d] * strides[d];
        index[d] = 0;
      }
    }
  }

  /// Returns the number of units that stay contiguous everywhere, starting at multiples of it on
  /// both sides.
  static std::int64_t common_run(const Table& table, std::int64_t source_units) {
    std::int64_t run = std::gcd(static_cast<std::int64_t>(table.size()), source_units);
    for (std::size_t i = 0; i < table.size() && run > 1; ++i) {
      if (i > 0 && table[i] == table[i - 1] + 1) continue;
      run = std::gcd(run, std::gcd(static_cast<std::int64_t>(i), std::int64_t{table[i]}));
    }
    return run;
  }

  static bool is_one_run(const Table& table) {
    for (std::size_t i = 1; i < table.size(); ++i) {
      if (table[i] != table[i - 1] + 1) return false;
    }
    return true;
  }

  ValueId result(ValueId like, const char* suffix, Shape shape) {
    Value value;
    value.name = names_.make(graph_.values[like].name + suffix);
    value.dtype = graph_.values[like].dtype;
    value.shape = std::move(shape);
    return graph_.values.push_back(std::move(value));
  }

  void append(std::vector<Node>& nodes, OpKind op, std::vector<ValueId> inputs, ValueId output,
              std::string name) {
    Node node;
    node.op = op;
    node.name = std::move(name);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    nodes.push_back(std::move(node));
  }

  ValueId shape_constant(ValueId value, const Ints& dims) {
    return add_constant(graph_, names_, graph_.values[value].name + "/shape", make_i64(dims));
  }

  /// Appends the Gather that replaces `node`. Returns false if the node stays.
  bool compose(const Node& node, std::vector<Node>& nodes) {
    const ValueId value = node.outputs.size() == 1 ? node.outputs[0] : ValueId{};
    if (!value.valid() || graph_.values[value].content) return false;
    const Origin origin = origins_[value];
    if (!origin.source.valid() || origin.copies < 2 || !wanted_[value]) return false;
    const Ints dims = *dims_of(value);
    const std::int64_t source_units = elements_in(*dims_of(origin.source)) / origin.run;
    if (std::max(elements_in(dims) / origin.run, source_units) > kMaxRows) {
      context_.missed("the table of runs would be too long", node);
      return false;
    }
    const auto table = table_of(value, origin);
    if (!table) return false;
    const bool same = is_one_run(*table);
    if (same && std::int64_t{source_units} != static_cast<std::int64_t>(table->size()))
      return false;
    if (same) {
      append(nodes, OpKind::kReshape, {origin.source, shape_constant(value, dims)}, value,
             node.name);
      return true;
    }
    const std::int64_t merged = common_run(*table, source_units), run = origin.run * merged;
    const auto rows_left = std::ssize(*table) / merged;
    if (!can_charge(*quota_, rows_left * static_cast<std::int64_t>(sizeof(std::int64_t))))
      return false;
    Ints indices;
    for (std::size_t i = 0; i < table->size(); i += static_cast<std::size_t>(merged))
      indices.push_back((*table)[i] / merged);
    const auto count = static_cast<std::int64_t>(indices.size());
    Constant which = make_i64(indices);
    if (!charge(quota_, which)) return false;
    const ValueId rows = result(value, "/runs", {source_units / merged, run});
    append(nodes, OpKind::kReshape,
           {origin.source, shape_constant(value, {source_units / merged, run})}, rows,
           names_.make(node.name + "/runs"));
    const ValueId moved = result(value, "/moved", {count, run});
    const ValueId table_id =
        add_constant(graph_, names_, graph_.values[value].name + "/indices", std::move(which));
    append(nodes, OpKind::kGather, {rows, table_id}, moved, names_.make(node.name + "/moved"));
    append(nodes, OpKind::kReshape, {moved, shape_constant(value, dims)}, value, node.name);
    return true;
  }

  Graph& graph_;
  UniqueNames names_;
  IdVector<ValueId, Origin> origins_;
  IdVector<ValueId, bool> wanted_;
  const std::shared_ptr<LoadQuota>& quota_;
  const PassContext& context_;
};

}  // namespace

Result<int> compose_movement(Graph& graph, const PassContext& context) {
  const int changes = Composer(graph, context).run();
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
