#include "partition/split/co_split.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ir/elements.h"
#include "ops/deferred.h"
#include "ops/params/axis.h"
#include "partition/split/co_rewrite.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

Shape shape_of(const Dims& dims) {
  Shape shape;
  for (const std::int64_t dim : dims) shape.emplace_back(dim);
  return shape;
}

class Splitter {
 public:
  Splitter(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
           const CoPlan& plan, const IdVector<NodeId, bool>& on_device)
      : graph_(graph),
        shapes_(shapes),
        axes_(axes),
        plan_(plan),
        on_device_(on_device),
        out_(graph),
        names_(graph),
        pieces_(graph.values.size()),
        whole_(graph.values.size()) {
    out_.nodes = {};
    for (const ValueId id : graph.values.ids())
      if (graph.values[id].kind != ValueKind::kResult) whole_[id] = id;
  }

  CoGraph split() {
    bool before = true;
    for (const SplitSegment& stretch : plan_.stretches) {
      if (stretch.split || before) ++stage_;
      before = stretch.split;
      if (stretch.split) {
        split_stretch(stretch);
      } else {
        add_whole(plan_.order[stretch.begin]);
      }
    }
    ++stage_;
    part_ = 0;
    for (const ValueId output : graph_.outputs) finish_output(output);
    return cleaned();
  }

 private:
  struct Piece {
    ValueId id;
    Rows rows;
    std::size_t part = 0;
  };
  using Key = std::tuple<ValueId, int, std::int64_t, std::int64_t, bool>;

  void split_stretch(const SplitSegment& stretch);
  void add_part(NodeId id);
  void add_whole(NodeId id);
  void finish_output(ValueId id);
  CoGraph cleaned();

  NodeId append(Node node, CoNode info) {
    nodes_.push_back(info);
    const NodeId id = out_.nodes.push_back(std::move(node));
    for (const ValueId output : out_.nodes[id].outputs)
      if (output.valid()) out_.values[output].producer = id;
    return id;
  }
  CoNode mover() const { return {device_ ? CoSide::kDevice : CoSide::kCpu, stage_, {}, 0}; }
  Dims dims_of(ValueId id) const {
    Dims dims;
    for (const Expr& dim : out_.values[id].shape) dims.push_back(dim.constant().value_or(0));
    return dims;
  }
  ValueId add_result(const std::string& name, DType dtype, const Dims& dims) {
    Value value;
    value.name = names_.make(name);
    value.dtype = dtype;
    value.shape = shape_of(dims);
    return out_.values.push_back(std::move(value));
  }

  ValueId fetch(ValueId id, int axis, const Rows& rows);
  ValueId fetch_pieces(ValueId id, const Rows& rows);
  ValueId fetch_whole(ValueId id);
  ValueId slice(ValueId id, int axis, const Rows& rows);
  ValueId slice_constant(ValueId id, int axis, const Rows& rows);
  ValueId concat(ValueId of, int axis, std::vector<ValueId> parts, bool as_itself);

  const Graph& graph_;
  const ConcreteShapes& shapes_;
  const RowAxes& axes_;
  const CoPlan& plan_;
  const IdVector<NodeId, bool>& on_device_;
  Graph out_;
  IdVector<NodeId, CoNode> nodes_;
  UniqueNames names_;
  IdVector<ValueId, std::vector<Piece>> pieces_;  ///< results of earlier stretches
  IdVector<ValueId, ValueId> whole_;              ///< invalid: there are pieces only
  std::unordered_map<std::int32_t, Piece> own_;   ///< results of this part of this stretch
  std::map<Key, ValueId> fetched_;
  int stage_ = -1;
  std::size_t part_ = 0;  ///< part of the next node
  bool device_ = false;   ///< whether the device runs the next node
};

ValueId Splitter::concat(ValueId of, int axis, std::vector<ValueId> parts, bool as_itself) {
  const Value& value = graph_.values[of];
  ValueId result = of;
  if (!as_itself) {
    Dims dims = dims_of(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) dims[axis] += dims_of(parts[i])[axis];
    result = add_result(value.name + ".joined", value.dtype, dims);
  }
  Node node;
  node.name = names_.make(value.name + ".join");
  node.op = parts.size() == 1 ? OpKind::kIdentity : OpKind::kConcat;
  if (parts.size() > 1) set_param(node, &AxisParams<0>::axis, axis);
  node.inputs = std::move(parts);
  node.outputs = {result};
  append(std::move(node), mover());
  return result;
}

/// Returns rows of a constant as a constant: the same bytes if they are contiguous, otherwise a
/// copy, computed when it is needed.
ValueId Splitter::slice_constant(ValueId id, int axis, const Rows& rows) {
  const Constant& from = *out_.values[id].constant;
  Dims dims = from.dims;
  std::int64_t blocks = 1;
  for (int i = 0; i < axis; ++i) blocks *= dims[i];
  const std::int64_t pieces = blocks * dims[axis];
  dims[axis] = rows.count();
  const auto size = static_cast<std::int64_t>(from.bytes.size());
  if (pieces == 0 || size % pieces != 0 || info_of(from.dtype).bits < 8) return {};
  const std::int64_t of_row = size / pieces;
  const auto begin = static_cast<std::size_t>(of_row * rows.begin);
  const auto length = static_cast<std::size_t>(of_row * rows.count());
  const std::string name = out_.values[id].name + ".rows";
  if (blocks == 1 && deferred_depth(from) == 0) {
    Constant cut{from.dtype, dims, from.bytes.subspan(begin, length), from.owner};
    return add_constant(out_, names_, name, std::move(cut));
  }
  if (deferred_depth(from) > 0 && !may_be_deferred(from.dtype, dims)) return {};
  const auto fill = [whole = from.bytes, begin, length, count = static_cast<std::size_t>(blocks)](
                        std::span<std::byte> bytes) -> Status {
    for (std::size_t block = 0; block < count; ++block)
      std::ranges::copy(whole.subspan(whole.size() / count * block + begin, length),
                        bytes.begin() + static_cast<std::ptrdiff_t>(block * length));
    return {};
  };
  return add_constant(out_, names_, name, defer_large(from.dtype, dims, {from}, fill));
}

ValueId Splitter::slice(ValueId id, int axis, const Rows& rows) {
  Dims dims = dims_of(id);
  if (rows == Rows{0, dims[axis]}) return id;
  if (out_.values[id].kind == ValueKind::kConstant)
    if (const ValueId cut = slice_constant(id, axis, rows); cut.valid()) return cut;
  dims[axis] = rows.count();
  const std::string name = out_.values[id].name;
  const ValueId result =
      add_result(fmt::format("{}.{}_{}", name, rows.begin, rows.end), out_.values[id].dtype, dims);
  const auto number = [&](std::int64_t x) {
    return add_constant(out_, names_, name + ".at", make_i64(std::array{x}));
  };
  Node node;
  node.name = names_.make(name + ".cut");
  node.op = OpKind::kSlice;
  node.inputs = {id, number(rows.begin), number(rows.end), number(axis)};
  node.outputs = {result};
  append(std::move(node), mover());
  return result;
}

/// Returns rows of a value that earlier stretches computed in pieces, along its own axis.
ValueId Splitter::fetch_pieces(ValueId id, const Rows& rows) {
  const int axis = axes_.axis[id];
  const auto& pieces = pieces_[id];
  const Piece* all = nullptr;
  for (const Piece& piece : pieces)
    if (piece.rows.covers(rows) && (all == nullptr || piece.part == part_)) all = &piece;
  const auto cut = [&](const Piece& piece, const Rows& part) {
    return slice(piece.id, axis, {part.begin - piece.rows.begin, part.end - piece.rows.begin});
  };
  if (all != nullptr) return cut(*all, rows);
  std::vector<ValueId> parts;
  for (std::int64_t at = rows.begin; at < rows.end;) {
    const Piece* next = nullptr;
    for (const Piece& piece : pieces)
      if (piece.rows.begin <= at && piece.rows.end > at && (next == nullptr || piece.part == part_))
        next = &piece;
    const std::int64_t end = std::min(next->rows.end, rows.end);
    parts.push_back(cut(*next, {at, end}));
    at = end;
  }
  const bool everything = rows == Rows{0, (*shapes_[id])[axis]};
  const bool as_itself = everything && !device_;
  if (as_itself) whole_[id] = id;
  return concat(id, axis, std::move(parts), as_itself);
}

ValueId Splitter::fetch_whole(ValueId id) {
  if (whole_[id].valid()) return whole_[id];
  return fetch(id, axes_.axis[id], {0, (*shapes_[id])[axes_.axis[id]]});
}

/// Returns a value of the graph, or rows of it, extracted and joined if necessary. `axis` -1: all
/// of it.
ValueId Splitter::fetch(ValueId id, int axis, const Rows& rows) {
  if (!id.valid()) return id;
  if (axis < 0) return fetch_whole(id);
  const bool all = rows == Rows{0, (*shapes_[id])[axis]};
  if (all && whole_[id].valid()) return whole_[id];
  const Key key{id, axis, rows.begin, rows.end, device_};
  const auto known = fetched_.find(key);
  if (known != fetched_.end()) return known->second;
  ValueId result;
  const auto own = own_.find(id.value);
  if (axis != axes_.axis[id] && !whole_[id].valid()) {
    result = slice(fetch_whole(id), axis, rows);
  } else if (own != own_.end()) {
    const Rows& there = own->second.rows;
    result = slice(own->second.id, axis, {rows.begin - there.begin, rows.end - there.begin});
  } else if (whole_[id].valid()) {
    result = slice(whole_[id], axis, rows);
  } else {
    result = fetch_pieces(id, rows);
  }
  fetched_.emplace(key, result);
  return result;
}

void Splitter::add_part(NodeId id) {
  const Rows made = plan_.made[id][part_];
  if (made.empty()) return;
  const SplitRule& rule = *axes_.rule[id];
  Node node = graph_.nodes[id];
  device_ = part_ == 1 && on_device_[id];
  node.name = names_.make(fmt::format("{}.{}_{}", node.name, made.begin, made.end));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input.valid() || rule.inputs[i].axis < 0) {
      inputs.push_back(fetch(input, -1, {}));
      continue;
    }
    const int axis = rule.inputs[i].axis;
    const Rows rows = overlap_of(rule.inputs[i].of(made), {0, (*shapes_[input])[axis]});
    if (!rows.empty()) inputs.push_back(fetch(input, axis, rows));
  }
  rewrite_for_rows(graph_, shapes_, rule, made, out_, names_, node);
  // Inputs that rewriting put in place of parameters stay.
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (i >= inputs.size() && node.op == OpKind::kSlice) {
      inputs.push_back(node.inputs[i]);
    } else if (i < graph_.nodes[id].inputs.size() && node.inputs[i] != graph_.nodes[id].inputs[i]) {
      inputs[i] = node.inputs[i];
    }
  if (node.op == OpKind::kConcat && inputs.size() == 1) {
    node.op = OpKind::kIdentity;
    node.attributes = {};
  }
  node.inputs = std::move(inputs);
  for (ValueId& output : node.outputs) {
    if (!output.valid()) continue;
    Dims dims = *shapes_[output];
    dims[rule.axis] = made.count();
    const Value& value = graph_.values[output];
    const ValueId of = std::exchange(
        output,
        add_result(fmt::format("{}.{}_{}", value.name, made.begin, made.end), value.dtype, dims));
    own_[of.value] = {output, made, part_};
  }
  const auto all = static_cast<double>(rows_of(shapes_, graph_.nodes[id], rule));
  append(std::move(node), {device_ ? CoSide::kDevice : CoSide::kCpu, stage_, id,
                           static_cast<double>(made.count()) / all});
}

/// Divides a stretch. The device's part comes first: if both may start, it starts before the CPU
/// continues.
void Splitter::split_stretch(const SplitSegment& stretch) {
  std::vector<std::pair<ValueId, Piece>> made;
  for (std::size_t part = kParts; part-- > 0;) {
    part_ = part;
    own_.clear();
    fetched_.clear();
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) add_part(plan_.order[i]);
    for (const auto& [value, piece] : own_) made.emplace_back(ValueId{value}, piece);
  }
  own_.clear();
  fetched_.clear();
  for (auto& [value, piece] : made) pieces_[value].push_back(piece);
  for (auto& [value, piece] : made)
    std::ranges::sort(pieces_[value], {}, [](const Piece& p) { return p.rows.begin; });
}

void Splitter::add_whole(NodeId id) {
  part_ = 0;
  device_ = false;
  Node node = graph_.nodes[id];
  for (ValueId& input : node.inputs)
    if (input.valid()) input = fetch_whole(input);
  for (const ValueId output : node.outputs)
    if (output.valid()) whole_[output] = output;
  append(std::move(node), {CoSide::kEither, stage_, id, 1});
}

void Splitter::finish_output(ValueId id) {
  if (whole_[id] == id) return;
  device_ = false;
  const ValueId all = fetch_whole(id);
  // One part made it all.
  if (all != id) (void)concat(id, 0, {all}, true);
  whole_[id] = id;
}

/// Removes dead nodes.
CoGraph Splitter::cleaned() {
  std::unordered_map<std::string, CoNode> by_name;
  for (const NodeId id : out_.nodes.ids()) by_name.emplace(out_.nodes[id].name, nodes_[id]);
  erase_unused(out_);
  CoGraph result{std::move(out_), {}};
  for (const Node& node : result.graph.nodes) result.nodes.push_back(by_name.at(node.name));
  return result;
}

}  // namespace

Graph concrete_graph(const Graph& graph, const Binding& binding) {
  Graph result = graph;
  for (Value& value : result.values) {
    for (Expr& dim : value.shape)
      if (const auto number = dim.evaluate(binding.symbols)) dim = *number;
    if (!value.content) continue;
    bool known = true;
    for (Expr& element : *value.content) {
      const auto number = element.evaluate(binding.symbols);
      if (number) element = *number;
      known = known && number.has_value();
    }
    if (value.kind != ValueKind::kSymbolic || !known) continue;
    Dims dims;
    for (const Expr& dim : value.shape) dims.push_back(dim.constant().value_or(0));
    const auto bytes = bytes_of(value.dtype, dims);
    if (!bytes || dims.elements() != static_cast<std::int64_t>(value.content->size())) continue;
    std::vector<std::byte> elements(static_cast<std::size_t>(*bytes));
    for (std::size_t i = 0; i < value.content->size(); ++i)
      store_integer(value.dtype, *(*value.content)[i].constant(), elements.data(), i);
    value.constant = make_constant(value.dtype, dims, elements);
    value.kind = ValueKind::kConstant;
    value.content.reset();
  }
  return result;
}

CoGraph split_graph(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                    const CoPlan& plan, const IdVector<NodeId, bool>& on_device) {
  return Splitter(graph, shapes, axes, plan, on_device).split();
}

}  // namespace parallax
