#include "ops/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "ops/common.h"
#include "ops/control_flow.h"

namespace parallax {

namespace {

/// Elements a constant may have to be read as integers. Split has a size per output; all other
/// lists are as short as content. Reading is linear in the file then, however many nodes share a
/// constant.
std::size_t most_ints(const Node& node) { return std::max(kMaxContent, node.outputs.size()); }

/// kData symbols by a name that follows from the node, so that inferring a graph again gives the
/// same symbols. The table of names is built when the first is asked for.
class FreshSymbols {
 public:
  explicit FreshSymbols(Graph& graph) : graph_(graph) {}

  Expr make(const Node& node, int number) {
    if (ids_.empty()) {
      for (SymbolId id : graph_.symbols.ids()) ids_.emplace(graph_.symbols[id].name, id);
    }
    std::string name = fmt::format("{}.{}", node.name, number);
    while (true) {
      const auto [it, added] = ids_.try_emplace(name);
      if (added) it->second = graph_.symbols.push_back({name, SymbolKind::kData});
      // In a body, one of that name may stand for a symbol of the graph around it.
      const Symbol& symbol = graph_.symbols[it->second];
      if (symbol.kind == SymbolKind::kData && !symbol.outer.valid())
        return Expr::symbol(it->second);
      name += '\'';
    }
  }

 private:
  Graph& graph_;
  std::unordered_map<std::string, SymbolId> ids_;
};

bool fits(DType dtype, const Expr& element) {
  if (element.overflow()) return false;
  const auto value = element.constant();
  if (!value) return dtype != DType::kBool;
  switch (dtype) {
    case DType::kI64:
      return true;
    case DType::kI32:
      return *value >= std::numeric_limits<std::int32_t>::min() &&
             *value <= std::numeric_limits<std::int32_t>::max();
    case DType::kBool:
      return *value == 0 || *value == 1;
    default:
      return false;
  }
}

/// Drops content that cannot be the elements of `output`: too many, wrapped around, not 0 or 1.
void check_content(InferOutput& output) {
  if (!output.content) return;
  const auto size = content_size(output.shape);
  bool good = size && *size == output.content->size();
  for (const Expr& element : *output.content) good = good && fits(output.dtype, element);
  if (!good) output.content.reset();
}

Status check_output(const InferContext& context, const InferOutput& output) {
  if (output.shape.size() > static_cast<std::size_t>(Dims::kMaxRank)) {
    return fail(context,
                fmt::format("rank {} is more than {}", output.shape.size(), Dims::kMaxRank),
                ErrorCode::kUnsupported);
  }
  bool all_known = true;
  std::int64_t bytes = size_of(output.dtype);
  for (const Expr& dim : output.shape) {
    const auto n = dim.constant();
    if (dim.overflow())
      return fail(context, "a dimension of the result is too large or too complex");
    if (!n) {
      all_known = false;
      continue;
    }
    if (*n < 0) return fail(context, fmt::format("a dimension of the result is negative: {}", *n));
  }
  if (!all_known) return {};
  const auto elements = concrete(output.shape)->checked_elements();
  if (!elements || !checked_mul(*elements, bytes)) {
    return fail(context, "the result is too large for any memory");
  }
  return {};
}

/// Runs the operator's inference and checks what it says.
InferResult infer_checked(const InferContext& context) {
  PX_ASSIGN(auto outputs, op_def(context.node.op).infer(context));
  for (InferOutput& output : outputs) {
    PX_RETURN_IF_ERROR(check_output(context, output));
    check_content(output);
  }
  if (outputs.size() < context.node.outputs.size()) {
    return fail(context, "more outputs than the operator has");
  }
  return outputs;
}

/// `inputs` keeps its memory from node to node.
std::span<const InferInput> gather_inputs(const Graph& graph, const Node& node,
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
    input.content = value.content;
    input.constant = value.constant ? &*value.constant : nullptr;
  }
  return std::span(inputs).first(node.inputs.size());
}

/// How many elements of content inference may still attach to the values of a graph. A small file
/// can ask for very many copies of a list; beyond the limit they stay unknown.
class ContentLimit {
 public:
  explicit ContentLimit(std::size_t nodes) : left_((std::size_t{1} << 20) + 64 * nodes) {}
  void charge(Content& content) {
    if (!content) return;
    if (content->size() > left_) {
      content.reset();
    } else {
      left_ -= content->size();
    }
  }

 private:
  std::size_t left_;
};

/// What inferring the nodes of one graph shares.
struct InferState {
  FreshSymbols symbols;
  ContentLimit limit;
  std::vector<InferInput> inputs = {};
};

Status infer_one(Graph& graph, NodeId id, InferState& state) {
  if (op_def(graph.nodes[id].op).control_flow) PX_RETURN_IF_ERROR(infer_bodies(graph, id));
  const Node& node = graph.nodes[id];
  const auto inputs = gather_inputs(graph, node, state.inputs);
  int asked = 0;
  const InferContext context{node, inputs,
                             [&](std::string_view) { return state.symbols.make(node, asked++); },
                             &graph.symbols};
  PX_ASSIGN(auto outputs, infer_checked(context));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    Value& value = graph.values[node.outputs[i]];
    state.limit.charge(outputs[i].content);
    value.dtype = outputs[i].dtype;
    value.shape = std::move(outputs[i].shape);
    value.content = std::move(outputs[i].content);
  }
  return {};
}

std::string describe(const InferInput& input, std::span<const std::string> names) {
  if (!input.present) return "_";
  return fmt::format("{} {}", to_string(input.dtype), to_string(input.shape, names));
}

}  // namespace

std::optional<std::vector<std::int64_t>> InferContext::known_ints(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  const InferInput& input = inputs[i];
  if (input.constant != nullptr) return integers(*input.constant, most_ints(node));
  if (!input.content) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Expr& element : *input.content) {
    const auto value = element.constant();
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<std::vector<Expr>> InferContext::exprs(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  if (inputs[i].content) return inputs[i].content;
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
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    list += (i == 0 ? "" : ", ") + describe(inputs[i], names);
  }
  return {Stage::kLoad, code, node.name,
          fmt::format("{}: {} (inputs: {})", to_string(node.op), message, list)};
}

Status infer_node(Graph& graph, NodeId node) {
  InferState state{FreshSymbols(graph), ContentLimit(1)};
  return infer_one(graph, node, state);
}

Status infer_graph(Graph& graph) {
  InferState state{FreshSymbols(graph), ContentLimit(graph.nodes.size())};
  for (NodeId id : graph.nodes.ids()) {
    PX_RETURN_IF_ERROR(check_node(graph.nodes[id], false));
    PX_RETURN_IF_ERROR(infer_one(graph, id, state));
  }
  return {};
}

namespace {

tl::unexpected<Error> at_run_time(Error error) {
  error.stage = Stage::kExecute;
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
    const auto elements = inputs[i].dims.checked_elements().value_or(0);
    if (inputs[i].bytes == nullptr && elements > 0) {
      return at_run_time(context.error(fmt::format("the values of input {} are missing", i),
                                       ErrorCode::kInternal));
    }
    const auto bytes = static_cast<std::size_t>(elements * size_of(inputs[i].dtype));
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
