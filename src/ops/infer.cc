#include "ops/infer.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ops/common.h"
#include "ops/control_flow.h"
#include "ops/infer_checked.h"

namespace parallax {

namespace {

/// Elements a constant may have to be read as integers. Split has a size per output; all other
/// lists are as short as content. Reading is linear in the file then, however many nodes share a
/// constant.
std::size_t most_ints(const Node& node) { return std::max(kMaxContent, node.outputs.size()); }

std::string describe(const InferInput& input, std::span<const std::string> names) {
  if (!input.present) return "_";
  if (input.container != nullptr) return to_string(*input.container, input.dtype);
  return fmt::format("{} {}", to_string(input.dtype), to_string(input.shape, names));
}

/// Returns the bytes of one expression without its place in a list.
std::int64_t tree_bytes(const Expr& e) {
  constexpr std::int64_t kBytes = 112, kBytesPerNode = 56;
  return e.constant() ? 0 : kBytes + kBytesPerNode * e.size();
}

std::int64_t shape_bytes(const Shape& shape) {
  std::int64_t bytes = 0;
  for (const Expr& dim : shape) bytes += tree_bytes(dim);
  return bytes;
}

/// Lets `inputs` be what inference knows of the inputs of `node`.
std::span<const InferInput> gather(const Graph& graph, const Node& node,
                                   std::vector<InferInput>& inputs) {
  if (inputs.size() < node.inputs.size()) inputs.resize(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    InferInput& input = inputs[i];
    if (!node.inputs[i].valid()) {
      input = {};
      continue;
    }
    const Value& value = graph.values[node.inputs[i]];
    input.present = true;
    input.dtype = value.dtype;
    input.shape = value.shape;
    input.container = value.container.get();
    input.content = value.content ? &*value.content : nullptr;
    input.constant = value.constant ? &*value.constant : nullptr;
  }
  return std::span(inputs).first(node.inputs.size());
}

tl::unexpected<Error> spent(const Graph& graph, const Node& node, std::string_view what) {
  std::vector<InferInput> inputs;
  const InferContext context{node, gather(graph, node, inputs), {}, &graph.symbols};
  return fail(context, fmt::format("loading the model takes too much {}", what),
              ErrorCode::kUnsupported);
}

/// Bytes of values in the load's account; a body that two branches share counts once.
struct TypeBytes {
  std::int64_t shapes = 0, contents = 0;
};
void add_types(const Graph& graph, TypeBytes& sum) {
  for (const Value& value : graph.values) {
    sum.shapes += shape_bytes(value.shape);
    sum.contents += content_bytes(value.content);
  }
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.bodies.size(); ++i)
      if (i == 0 || node.bodies[i] != node.bodies[0]) add_types(*node.bodies[i], sum);
  }
}

}  // namespace

std::int64_t content_bytes(const Content& content) {
  std::int64_t bytes = 0;
  if (!content) return bytes;
  for (const Expr& element : *content) {
    bytes += static_cast<std::int64_t>(sizeof(Expr)) + tree_bytes(element);
  }
  return bytes;
}

Expr FreshSymbols::make(const Node& node, int number) {
  for (; known_ < static_cast<std::int32_t>(graph_.symbols.size()); ++known_) {
    const SymbolId id{known_};
    ids_.emplace(graph_.symbols[id].name, id);
  }
  std::string name = fmt::format("{}.{}", node.name, number);
  while (true) {
    const auto [it, added] = ids_.try_emplace(name);
    if (added) it->second = graph_.symbols.push_back({name, SymbolKind::kData});
    // In a body, one of that name may stand for a symbol of the graph around it.
    const Symbol& symbol = graph_.symbols[it->second];
    if (symbol.kind == SymbolKind::kData && !symbol.outer.valid()) return Expr::symbol(it->second);
    name += '\'';
  }
}

Status need_work(const Graph& graph, const Node& node, std::int64_t work, LoadQuota& quota) {
  if (quota.need_work(work)) return {};
  return spent(graph, node, "work");
}

Status set_type(const Graph& graph, const Node& node, Value& value, InferOutput type,
                LoadQuota& quota) {
  quota.return_type(shape_bytes(value.shape), content_bytes(value.content));
  value.shape.clear();
  value.content.reset();
  if (!quota.need_shape(shape_bytes(type.shape))) return spent(graph, node, "memory");
  value.dtype = type.dtype;
  value.shape = std::move(type.shape);
  value.container = std::move(type.container);
  if (quota.take_elements(content_bytes(type.content))) value.content = std::move(type.content);
  return {};
}

void settle(const Graph& graph, LoadQuota& quota) {
  TypeBytes sum;
  add_types(graph, sum);
  quota.settle_types(sum.shapes, sum.contents);
}

namespace {

Status need_work_of_node(const Graph& graph, const Node& node, LoadQuota& quota) {
  const auto inputs = static_cast<std::int64_t>(node.inputs.size());
  return need_work(graph, node, LoadQuota::kWorkPerNode + inputs * LoadQuota::kWorkPerInput, quota);
}

/// Arithmetic on shapes: inference would make the expressions of its elements once more.
bool computes_elements(const Graph& graph, const Node& node) {
  const auto any_known = [&](const std::vector<ValueId>& ids) {
    return std::ranges::any_of(
        ids, [&](ValueId id) { return id.valid() && graph.values[id].content.has_value(); });
  };
  return any_known(node.outputs) ||
         (any_known(node.inputs) && std::ranges::any_of(node.outputs, [&](ValueId id) {
            return id.valid() && has_content(graph.values[id].dtype);
          }));
}

/// Whether a value may be what inference says: dimensions that are no numbers may be equal.
bool agrees(const Value& value, const InferOutput& output) {
  if ((value.container == nullptr) != (output.container == nullptr)) return false;
  return value.dtype == output.dtype &&
         std::ranges::equal(value.shape, output.shape, [](const Expr& a, const Expr& b) {
           const auto known = a.constant(), inferred = b.constant();
           return !known || !inferred || *known == *inferred;
         });
}

}  // namespace

Status check_inferred(const Graph& graph, LoadQuota& quota) {
  IdVector<SymbolId, Symbol> symbols = graph.symbols;
  std::vector<InferInput> inputs;
  for (const Node& node : graph.nodes) {
    PX_RETURN_IF_ERROR(check_node(node, NodeOrigin::kPass));
    PX_RETURN_IF_ERROR(need_work_of_node(graph, node, quota));
    for (std::size_t i = 0; i < node.bodies.size(); ++i)
      if (i == 0 || node.bodies[i] != node.bodies[0])
        PX_RETURN_IF_ERROR(check_inferred(*node.bodies[i], quota));
    if (computes_elements(graph, node)) continue;
    const std::int64_t terms = expr_terms();
    const InferContext context{
        node, gather(graph, node, inputs),
        [&](std::string_view hint) {
          return Expr::symbol(symbols.push_back({std::string(hint), SymbolKind::kData}));
        },
        &symbols};
    PX_ASSIGN(const auto outputs, infer_checked(context));
    PX_RETURN_IF_ERROR(
        need_work(graph, node, (expr_terms() - terms) * LoadQuota::kWorkPerTerm, quota));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const Value& value = graph.values[node.outputs[i]];
      if (agrees(value, outputs[i])) continue;
      return fail(context,
                  fmt::format("'{}' is {} {} in the graph", value.name, to_string(value.dtype),
                              to_string(value.shape, graph.symbol_names())),
                  ErrorCode::kInternal);
    }
  }
  return {};
}

Status Inference::infer(NodeId id) {
  PX_RETURN_IF_ERROR(need_work_of_node(graph_, graph_.nodes[id], quota_));
  if (op_def(graph_.nodes[id].op).control_flow)
    PX_RETURN_IF_ERROR(infer_bodies(graph_, id, quota_));
  const Node& node = graph_.nodes[id];
  const std::int64_t terms = expr_terms();
  int asked = 0;
  const InferContext context{node, gather(graph_, node, inputs_),
                             [&](std::string_view) { return symbols_.make(node, asked++); },
                             &graph_.symbols};
  PX_ASSIGN(auto outputs, infer_checked(context));
  PX_RETURN_IF_ERROR(
      need_work(graph_, node, (expr_terms() - terms) * LoadQuota::kWorkPerTerm, quota_));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    PX_RETURN_IF_ERROR(
        set_type(graph_, node, graph_.values[node.outputs[i]], std::move(outputs[i]), quota_));
  }
  return {};
}

std::optional<std::vector<std::int64_t>> InferContext::known_ints(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  const InferInput& input = inputs[i];
  if (input.constant != nullptr) return integers(*input.constant, most_ints(node));
  if (input.content == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Expr& element : *input.content) {
    const auto value = element.constant();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Content InferContext::exprs(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  if (inputs[i].content != nullptr) return *inputs[i].content;
  if (inputs[i].constant == nullptr) return std::nullopt;
  const auto values = integers(*inputs[i].constant, most_ints(node));
  if (!values) return std::nullopt;
  return std::vector<Expr>(values->begin(), values->end());
}

Error InferContext::error(std::string message, ErrorCode code) const {
  std::vector<std::string> names;
  if (symbols != nullptr) {
    for (const Symbol& symbol : *symbols) names.push_back(symbol.name);
  }
  std::string list;
  constexpr std::size_t kMaxListed = 16;
  for (std::size_t i = 0; i < std::min(inputs.size(), kMaxListed); ++i) {
    list += (i == 0 ? "" : ", ") + describe(inputs[i], names);
  }
  if (inputs.size() > kMaxListed) list += fmt::format(" and {} more", inputs.size() - kMaxListed);
  return {Stage::kLoad, code, node.name,
          fmt::format("{}: {} (inputs: {})", to_string(node.op), message, list)};
}

Status infer_graph(Graph& graph, LoadQuota& quota) {
  Inference inference(graph, quota);
  for (const NodeId id : graph.nodes.ids()) {
    PX_RETURN_IF_ERROR(check_node(graph.nodes[id], NodeOrigin::kPass));
    PX_RETURN_IF_ERROR(inference.infer(id));
  }
  return {};
}

Status infer_graph(Graph& graph, std::int64_t file_bytes) {
  LoadQuota quota;
  quota.allow_file(file_bytes);
  quota.allow_nodes(static_cast<std::int64_t>(graph.nodes.size()));
  settle(graph, quota);
  return infer_graph(graph, quota);
}

namespace {

tl::unexpected<Error> at_run_time(Error error) {
  error.stage = Stage::kRun;
  if (error.code != ErrorCode::kInternal) error.code = ErrorCode::kInvalidInput;
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<std::vector<std::optional<Dims>>> infer_runtime(const Node& node,
                                                       std::span<const RuntimeInput> inputs) {
  std::vector<InferInput> seen(inputs.size());
  std::vector<Constant> constants(inputs.size());
  const OpDef& def = op_def(node.op);
  // Symbols made here stand for sizes that only the kernel knows; their names show in messages.
  IdVector<SymbolId, Symbol> symbols;
  const InferContext context{
      node, seen,
      [&](std::string_view hint) {
        return Expr::symbol(symbols.push_back({std::string(hint), SymbolKind::kData}));
      },
      &symbols};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present) continue;
    seen[i].present = true;
    seen[i].dtype = inputs[i].dtype;
    seen[i].shape.assign(inputs[i].dims.begin(), inputs[i].dims.end());
    if (!def.decides_shape(i)) continue;
    const auto bytes =
        static_cast<std::size_t>(bytes_of(inputs[i].dtype, inputs[i].dims).value_or(0));
    if (inputs[i].bytes == nullptr && bytes > 0) {
      return at_run_time(context.error(fmt::format("the values of input {} are missing", i),
                                       ErrorCode::kInternal));
    }
    constants[i] = {inputs[i].dtype, inputs[i].dims, {inputs[i].bytes, bytes}, nullptr};
    seen[i].constant = &constants[i];
  }
  auto outputs = infer_checked(context);
  if (!outputs) return at_run_time(std::move(outputs).error());
  std::vector<std::optional<Dims>> dims;
  for (const InferOutput& output : *outputs) dims.push_back(concrete(output.shape));
  dims.resize(node.outputs.size());
  return dims;
}

}  // namespace parallax
