#include "ops/control_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ops/common.h"
#include "ops/infer.h"
#include "ops/params/scan.h"

namespace parallax {

Status check_branches(const Node& node) {
  if (node.bodies.size() != 2) return refuse(node, "must have two bodies");
  if (node.inputs.size() != 1 + node.captures || !node.inputs[0].valid())
    return refuse(node, "must have one input, the condition");
  for (const auto& body : node.bodies) {
    if (body->inputs.size() != node.captures) return refuse(node, "a branch must have no inputs");
    if (body->outputs.size() != node.outputs.size()) {
      return refuse(node, fmt::format("a branch has {} outputs, the node {}", body->outputs.size(),
                                      node.outputs.size()));
    }
  }
  return {};
}

namespace {

std::size_t rank_of_result(const Graph& body) { return body.values[body.outputs[0]].shape.size(); }

bool gives_its_input(const Graph& body) {
  ValueId value = body.outputs[0];
  while (body.values[value].kind == ValueKind::kResult) {
    const Node& node = body.nodes[body.values[value].producer];
    if (node.op != OpKind::kIdentity) return false;
    value = node.inputs[0];
  }
  return body.values[value].kind == ValueKind::kInput;
}

/// Also as passes may write it.
bool squeezes_its_input(const Graph& body) {
  const Value& value = body.values[body.outputs[0]];
  if (body.nodes.size() != 1 || value.kind != ValueKind::kResult) return false;
  const OpKind op = body.nodes[value.producer].op;
  return op == OpKind::kSqueeze || op == OpKind::kReshape;
}

}  // namespace

std::optional<std::size_t> only_branch(const Node& node) {
  if (node.op != OpKind::kIf || node.bodies.size() != 2 || node.outputs.size() != 1)
    return std::nullopt;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Graph& body = *node.bodies[i];
    const Graph& other = *node.bodies[1 - i];
    if (body.outputs.size() == 1 && other.outputs.size() == 1 &&
        rank_of_result(body) < rank_of_result(other) && squeezes_its_input(body) &&
        gives_its_input(other))
      return i;
  }
  return std::nullopt;
}

bool changes_in_body(const Graph& body, const Expr& dim) {
  const auto symbols = dim.symbols();
  return symbols.size() == 1 && dim == Expr::symbol(symbols[0]) &&
         !body.symbols[symbols[0]].outer.valid();
}

namespace {

using ScanList = std::vector<std::int64_t>;

/// The list itself: a node may have very many scans, each of which reads it.
const ScanList& list_of(const Node& node, ScanList ScanParams::*member) {
  static const ScanList kNone;
  const ScanList* const list = find_param(node, member);
  return list == nullptr ? kNone : *list;
}

Result<ScanAxis> scan_axis(const Node& node, bool input, std::size_t i, std::size_t count,
                           int rank) {
  using Params = ScanParams;
  const char* const kind = input ? "input" : "output";
  const ScanList& axes = list_of(node, input ? &Params::input_axes : &Params::output_axes);
  const ScanList& directions =
      list_of(node, input ? &Params::input_directions : &Params::output_directions);
  if ((!axes.empty() && axes.size() != count) ||
      (!directions.empty() && directions.size() != count)) {
    return refuse(node, fmt::format("axes or directions of {} scan {}s, there are {}", axes.size(),
                                    kind, count));
  }
  const auto axis = normalize_axis(axes.empty() ? 0 : axes[i], rank);
  const std::int64_t direction = directions.empty() ? 0 : directions[i];
  if (!axis) return refuse(node, fmt::format("scan {} {} has no axis {}", kind, i, axes[i]));
  if (direction != 0 && direction != 1)
    return refuse(node, fmt::format("a direction must be 0 or 1, not {}", direction));
  return ScanAxis{*axis, direction == 1};
}

}  // namespace

Result<LoopParts> loop_parts(const Node& node) {
  if (node.bodies.size() != 1) return refuse(node, "must have one body");
  const Graph& body = *node.bodies[0];
  LoopParts parts;
  parts.captures = node.captures;
  std::size_t own = node.inputs.size() - node.captures;
  if (node.op == OpKind::kLoop) {
    parts.first_input = 2;
    parts.first_output = 1;
    if (own < 2) return refuse(node, "must have a limit and a condition, or leave them out");
    parts.carried = own - 2;
  } else {
    const std::int64_t scans = params_of<ScanParams>(node).num_scan_inputs;
    if (scans < 1 || static_cast<std::uint64_t>(scans) > own)
      return refuse(node, fmt::format("{} scan inputs of {} inputs", scans, own));
    parts.scan_inputs = static_cast<std::size_t>(scans);
    parts.carried = own - parts.scan_inputs;
  }
  for (std::size_t i = parts.first_input; i < own; ++i)
    if (!node.inputs[i].valid()) return refuse(node, fmt::format("input {} is left out", i));
  const std::size_t inputs = parts.first_input + parts.carried + parts.scan_inputs + parts.captures;
  if (body.inputs.size() != inputs) {
    return refuse(node,
                  fmt::format("the body has {} inputs, must have {}",
                              body.inputs.size() - std::min(body.inputs.size(), node.captures),
                              inputs - parts.captures));
  }
  if (body.outputs.size() < parts.first_output + parts.carried ||
      body.outputs.size() - parts.first_output != node.outputs.size()) {
    return refuse(node, fmt::format("the body has {} outputs, the node {}, with {} carried values",
                                    body.outputs.size(), node.outputs.size(), parts.carried));
  }
  parts.scan_outputs = node.outputs.size() - parts.carried;
  return parts;
}

Result<ScanAxis> scan_input_axis(const Node& node, std::size_t i, std::size_t count, int rank) {
  if (rank == 0) return refuse(node, fmt::format("scan input {} is a scalar", i));
  return scan_axis(node, true, i, count, rank);
}

Result<ScanAxis> scan_output_axis(const Node& node, std::size_t i, std::size_t count, int rank) {
  if (node.op == OpKind::kLoop) return ScanAxis{};
  return scan_axis(node, false, i, count, rank);
}

std::optional<std::int64_t> known_scalar(const Value& value) {
  if (value.content && value.content->size() == 1) return (*value.content)[0].constant();
  if (!value.constant) return std::nullopt;
  const auto numbers = integers(*value.constant, 1);
  if (!numbers || numbers->size() != 1) return std::nullopt;
  return (*numbers)[0];
}

bool never_stops_early(const Graph& body) {
  ValueId condition = body.outputs[0];
  while (body.values[condition].kind == ValueKind::kResult) {
    const Node& node = body.nodes[body.values[condition].producer];
    if (node.op != OpKind::kIdentity) break;
    condition = node.inputs[0];
  }
  return condition == body.inputs[1] || known_scalar(body.values[condition]).value_or(0) != 0;
}

namespace {

/// Returns the expression in the symbols of the graph around the body; nullopt if it has symbols of
/// the body itself.
std::optional<Expr> outside(const Graph& body, const Expr& e) {
  for (const SymbolId id : e.symbols()) {
    if (!body.symbols[id].outer.valid()) return std::nullopt;
  }
  return substitute(e, [&](SymbolId id) { return Expr::symbol(body.symbols[id].outer); });
}

Result<InferOutput> join(const InferContext& context, std::size_t i, const Graph& a,
                         const Graph& b) {
  const Value& x = a.values[a.outputs[i]];
  const Value& y = b.values[b.outputs[i]];
  if (x.dtype != y.dtype) {
    return fail(context, fmt::format("output {} is {} in one branch and {} in the other", i,
                                     to_string(x.dtype), to_string(y.dtype)));
  }
  if (x.container != nullptr || y.container != nullptr) {
    ContainerType both = parallax::join(x.container, y.container);
    if (both != nullptr) return InferOutput{x.dtype, {}, {}, std::move(both)};
    return fail(context, fmt::format("output {} is of different types in the two branches", i));
  }
  if (x.shape.size() != y.shape.size()) {
    return fail(
        context,
        fmt::format("output {} has {} dimensions in one branch and {} in the other; if sizes "
                    "of inputs decide the branch, LoadOptions::inputs (--dim, --shape) may "
                    "fix them",
                    i, x.shape.size(), y.shape.size()),
        ErrorCode::kUnsupported);
  }
  InferOutput output{x.dtype, {}, {}};
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    const auto left = outside(a, x.shape[axis]), right = outside(b, y.shape[axis]);
    const bool same = left && right && *left == *right;
    output.shape.push_back(same ? *left : context.fresh_symbol("branch"));
  }
  if (&a != &b || !x.content) return output;
  output.content.emplace();
  for (const Expr& element : *x.content) {
    const auto known = outside(a, element);
    if (known) {
      output.content->push_back(*known);
      continue;
    }
    output.content.reset();
    break;
  }
  return output;
}

InferResult infer_if(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_branches(context.node));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kBoolTypes));
  PX_RETURN_IF_ERROR(expect_one_element(context, 0));
  const auto condition = context.known_ints(0);
  const bool known = condition && condition->size() == 1;
  const auto only = known ? std::nullopt : only_branch(context.node);
  const Graph& a = *context.node.bodies[only.value_or(known && (*condition)[0] == 0 ? 1 : 0)];
  const Graph& b = known || only ? a : *context.node.bodies[1];
  std::vector<InferOutput> outputs;
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i) {
    PX_ASSIGN(outputs.emplace_back(), join(context, i, a, b));
  }
  return outputs;
}

/// The trip count of a Loop; a fresh symbol where only running tells.
Expr trips_of_loop(const InferContext& context, const Graph& body) {
  const auto first = context.known_ints(1);
  const bool starts = !context.has(1) || (first && first->size() == 1 && (*first)[0] != 0);
  const auto limit = context.exprs(0);
  if (!starts || !limit || limit->size() != 1 || !never_stops_early(body))
    return context.fresh_symbol("trips");
  return max((*limit)[0], Expr(0));
}

Result<Expr> trips_of_scan(const InferContext& context, const LoopParts& parts) {
  std::optional<Expr> trips;
  for (std::size_t i = 0; i < parts.scan_inputs; ++i) {
    const Shape& shape = context.inputs[parts.carried + i].shape;
    PX_ASSIGN(const ScanAxis axis,
              scan_input_axis(context.node, i, parts.scan_inputs, static_cast<int>(shape.size())));
    const Expr& length = shape[static_cast<std::size_t>(axis.axis)];
    trips = trips ? unify(*trips, length) : length;
    if (!trips) return fail(context, "scan inputs of different lengths");
  }
  return *trips;
}

InferResult infer_loop(const InferContext& context) {
  const Node& node = context.node;
  PX_ASSIGN(const LoopParts parts, loop_parts(node));
  const Graph& body = *node.bodies[0];
  if (node.op == OpKind::kLoop) {
    PX_RETURN_IF_ERROR(expect_dtype(context, 0, kI64Types));
    PX_RETURN_IF_ERROR(expect_dtype(context, 1, kBoolTypes));
    PX_RETURN_IF_ERROR(expect_one_element(context, 0));
    PX_RETURN_IF_ERROR(expect_one_element(context, 1));
  }
  std::vector<InferOutput> outputs;
  for (std::size_t i = 0; i < parts.carried; ++i) {
    const InferInput& first = context.inputs[parts.first_input + i];
    const Value& carried = body.values[body.inputs[parts.first_input + i]];
    outputs.push_back({first.dtype, first.shape, {}, carried.container});
    for (std::size_t axis = 0; axis < first.shape.size(); ++axis)
      if (axis < carried.shape.size() && changes_in_body(body, carried.shape[axis]))
        outputs.back().shape[axis] = context.fresh_symbol("carried");
  }
  if (parts.scan_outputs == 0 && node.op == OpKind::kLoop) return outputs;
  Expr trips = 0;
  if (node.op == OpKind::kLoop) {
    trips = trips_of_loop(context, body);
  } else {
    PX_ASSIGN(trips, trips_of_scan(context, parts));
  }
  for (std::size_t i = 0; i < parts.scan_outputs; ++i) {
    const Value& slice = body.values[body.outputs[parts.first_output + parts.carried + i]];
    if (is_object(slice))
      return fail(context, fmt::format("scan output {} is not a tensor of numbers", i),
                  ErrorCode::kUnsupported);
    InferOutput output{slice.dtype, {}, {}};
    for (const Expr& dim : slice.shape) {
      const auto known = outside(body, dim);
      output.shape.push_back(known ? *known : context.fresh_symbol("slice"));
    }
    PX_ASSIGN(const ScanAxis axis, scan_output_axis(node, i, parts.scan_outputs,
                                                    static_cast<int>(slice.shape.size()) + 1));
    output.shape.insert(output.shape.begin() + axis.axis, trips);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

OpDef control_flow(OpKind kind, InferResult (*infer)(const InferContext&)) {
  OpDef d(kind, whole_tensors(WorkKind::kElementwise, ConformanceForm::kBodies));
  d.max_inputs = -1;
  d.max_outputs = -1;
  d.infer = infer;
  d.macs = macs_none;
  d.control_flow = true;
  return d;
}

}  // namespace

Result<std::optional<std::int64_t>> known_trips(
    const Node& node, const IdVector<ValueId, std::optional<Dims>>& dims,
    const std::function<std::optional<std::int64_t>(ValueId)>& element) {
  PX_ASSIGN(const LoopParts parts, loop_parts(node));
  if (node.op == OpKind::kScan) {
    const auto& whole = dims[node.inputs[parts.carried]];
    if (!whole) return std::nullopt;
    PX_ASSIGN(const ScanAxis axis, scan_input_axis(node, 0, parts.scan_inputs, whole->rank()));
    return (*whole)[axis.axis];
  }
  const ValueId condition = node.inputs[1];
  const auto goes_on = condition.valid() ? element(condition) : 1;
  if (goes_on == 0) return 0;
  const auto limit = node.inputs[0].valid() ? element(node.inputs[0]) : std::nullopt;
  if (!goes_on || !limit || !never_stops_early(*node.bodies[0])) return std::nullopt;
  return std::max<std::int64_t>(*limit, 0);
}

const OpDef& op_def_If() {
  static const OpDef def = control_flow(OpKind::kIf, infer_if);
  return def;
}

const OpDef& op_def_Loop() {
  static const OpDef def = control_flow(OpKind::kLoop, infer_loop);
  return def;
}

const OpDef& op_def_Scan() {
  static const OpDef def = [] {
    OpDef d = control_flow(OpKind::kScan, infer_loop);
    d.since = 9;
    d.attributes = attributes_of<ScanParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
