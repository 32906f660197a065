// Turns products of one-hot rows, which classifiers of bytes and characters begin with, into a
// lookup: each row of the product is a row of the weights.
//
//     pattern  MatMul(hot, weights); `hot` is OneHot(index, n, [0, 1]) along its last axis, or
//              Equal(index, [0, 1, ... n - 1]), perhaps cast to f32 and seen in another shape
//     guard    `index` is i32 or i64; the weights are constant, f32 [n, columns], and finite, as 0
//              times infinity is no 0
//     rewrite  Gather(table, Clip(index)), in the shape of the product; the table has the weights,
//              and zeros for an index without a row
//
// The results are those of the product, but for weights that it counts as 0 (denormals).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/charge.h"
#include "ir/elements.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "ops/infer.h"
#include "ops/params/axis.h"
#include "ops/params/matmul.h"

namespace parallax {
namespace {

/// Rows with a single 1: the values that choose its place, and whether negative ones count from the
/// end.
struct HotRows {
  ValueId index;
  bool from_end = false;
};

std::optional<std::int64_t> last_size(const Graph& graph, ValueId value) {
  const Shape& shape = graph.values[value].shape;
  return shape.empty() ? std::nullopt : shape.back().constant();
}

/// Returns the value before nodes that view it in another shape with the last axis unchanged.
ValueId before_views(const Graph& graph, ValueId value) {
  const auto columns = last_size(graph, value);
  for (bool again = columns.has_value(); again;) {
    again = false;
    for (const OpKind kind : {OpKind::kReshape, OpKind::kSqueeze, OpKind::kUnsqueeze}) {
      const Node* const view = produced_by(graph, value, kind);
      if (view == nullptr || last_size(graph, view->inputs[0]) != columns) continue;
      value = view->inputs[0];
      again = true;
    }
  }
  return value;
}

bool is_index(const Graph& graph, ValueId value) {
  const DType dtype = graph.values[value].dtype;
  return dtype == DType::kI32 || dtype == DType::kI64;
}

/// Returns whether `value` is [0, 1] in a type that holds both exactly.
bool is_off_and_on(const Graph& graph, ValueId value) {
  const auto& constant = graph.values[value].constant;
  if (!constant) return false;
  if (const auto numbers = integers(*constant)) return *numbers == std::vector<std::int64_t>{0, 1};
  return constant->dtype == DType::kF32 && floats(*constant) == std::vector<float>{0, 1};
}

std::optional<HotRows> one_hot_rows(const Graph& graph, ValueId value) {
  const Node* const node = produced_by(graph, value, OpKind::kOneHot);
  if (node == nullptr) return std::nullopt;
  const std::int64_t axis = params_of<AxisParams<-1>>(*node).axis;
  const bool last = axis == -1 || axis + 1 == std::ssize(graph.values[value].shape);
  const ValueId index = node->inputs[0];
  if (!last || !is_index(graph, index) || !is_off_and_on(graph, node->inputs[2]))
    return std::nullopt;
  return HotRows{index, true};
}

/// Returns whether `value` is 0, 1, ... n - 1 along its last axis.
bool counts_up(const Graph& graph, ValueId value) {
  const auto& constant = graph.values[value].constant;
  const auto numbers = constant ? integers(*constant) : std::nullopt;
  if (!numbers || last_size(graph, value) != std::ssize(*numbers)) return false;
  std::vector<std::int64_t> wanted(numbers->size());
  std::iota(wanted.begin(), wanted.end(), 0);
  return *numbers == wanted;
}

std::optional<HotRows> equal_rows(const Graph& graph, ValueId value) {
  const Node* const node = produced_by(graph, value, OpKind::kEqual);
  if (node == nullptr) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const ValueId index = node->inputs[side];
    if (is_index(graph, index) && last_size(graph, index) == 1 &&
        counts_up(graph, node->inputs[1 - side]))
      return HotRows{index, false};
  }
  return std::nullopt;
}

/// Returns how `value` is made, if it is rows of `depth` elements with at most one 1.
std::optional<HotRows> match_hot_rows(const Graph& graph, ValueId value, std::int64_t depth) {
  if (last_size(graph, value) != depth) return std::nullopt;
  value = before_views(graph, value);
  if (const Node* const cast = produced_by(graph, value, OpKind::kCast))
    value = before_views(graph, cast->inputs[0]);
  const auto rows = one_hot_rows(graph, value);
  return rows ? rows : equal_rows(graph, value);
}

/// Returns the rows for indices from 0 on, then those for indices below 0, which Gather counts from
/// the end; a row of zeros stands behind the first and before the last ones.
std::vector<float> table_of(const std::vector<float>& weights, std::size_t columns, bool from_end) {
  std::vector<float> table = weights;
  table.resize(weights.size() + 2 * columns);
  if (from_end) table.insert(table.end(), weights.begin(), weights.end());
  // A sum of products that begins with 0 is never -0.
  for (float& element : table) element += 0.0F;
  return table;
}

Constant number_of(DType dtype, std::int64_t number) {
  std::byte bytes[sizeof(std::int64_t)] = {};
  store_integer(dtype, number, bytes, 0);
  return make_constant(dtype, {}, std::span(bytes, dtype == DType::kI32 ? 4U : 8U));
}

/// A lookup that replaces a product.
struct Lookup {
  HotRows rows;
  Constant table;
};

/// Returns the lookup in `weights`; nullopt, and `why`, if it would give other results.
std::optional<Lookup> lookup_in(const Constant& weights, HotRows rows, LoadQuota& quota,
                                std::string_view& why) {
  const std::int64_t count = (rows.from_end ? 2 * weights.dims[0] : weights.dims[0]) + 2;
  const Dims dims{count, weights.dims[1]};
  const auto bytes = bytes_of(DType::kF32, dims);
  if (!bytes || !can_charge(quota, *bytes, weight_bytes(weights))) {
    why = "loading may not copy more weights";
    return std::nullopt;
  }
  const std::vector<float> elements = floats(weights);
  if (elements.empty() ||
      !std::ranges::all_of(elements, [](float x) { return std::isfinite(x); })) {
    why = "the weights are not finite";
    return std::nullopt;
  }
  const auto columns = static_cast<std::size_t>(weights.dims[1]);
  return Lookup{rows, make_f32(dims, table_of(elements, columns, rows.from_end))};
}

std::optional<Lookup> match_lookup(const Graph& graph, const Node& node,
                                   const PassContext& context) {
  if (node.op != OpKind::kMatMul || node.inputs.size() != 2 || !node.epilogue.empty() ||
      !params_of<MatMulParams>(node).b_perm.empty())
    return std::nullopt;
  const Constant* const weights = float_constant(graph, node.inputs[1]);
  if (weights == nullptr || weights->dims.rank() != 2) return std::nullopt;
  const auto rows = match_hot_rows(graph, node.inputs[0], weights->dims[0]);
  if (!rows || !known_before_runs(graph, graph.values[node.outputs[0]].shape)) return std::nullopt;
  std::string_view why;
  auto lookup = lookup_in(*weights, *rows, *context.quota, why);
  if (!lookup) {
    context.missed(why, node);
  } else {
    charge(context.quota, lookup->table, weight_bytes(*weights));
  }
  return lookup;
}

void write_lookup(const Graph& graph, Parts& parts, Lookup lookup) {
  const ValueId index = lookup.rows.index;
  const DType dtype = graph.values[index].dtype;
  const Shape product = graph.values[parts.node().outputs[0]].shape;
  Shape gathered = graph.values[index].shape;
  gathered.push_back(product.back());
  const std::int64_t rows = lookup.table.dims[0];
  // The first index at either side that has no row.
  const std::int64_t high = lookup.rows.from_end ? rows / 2 - 1 : rows - 2;
  const ValueId clipped =
      parts.op(OpKind::kClip, {index, parts.constant(number_of(dtype, high - rows + 1)),
                               parts.constant(number_of(dtype, high))});
  const std::vector<ValueId> inputs{parts.constant(std::move(lookup.table)), clipped};
  if (gathered == product) return parts.result(OpKind::kGather, inputs);
  const ValueId found = parts.op(OpKind::kGather, inputs);
  parts.result(OpKind::kReshape, parts.reshape_inputs(found, product), Parts::exact_shape());
}

}  // namespace

Result<int> gather_one_hot(Graph& graph, const PassContext& context) {
  std::optional<UniqueNames> names;
  std::vector<ReplacedNode> replaced;
  for (const NodeId id : graph.nodes.ids()) {
    auto lookup = match_lookup(graph, graph.nodes[id], context);
    if (!lookup) continue;
    if (!names) names.emplace(graph);
    Parts parts(graph, *names, graph.nodes[id]);
    write_lookup(graph, parts, *std::move(lookup));
    replaced.push_back({id, parts.take()});
  }
  const auto changes = static_cast<int>(replaced.size());
  if (changes == 0) return 0;
  put_parts(graph, std::move(replaced));
  PX_RETURN_IF_ERROR(infer_graph(graph, *context.quota));
  return changes;
}

}  // namespace parallax
