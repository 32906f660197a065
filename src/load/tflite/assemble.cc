#include "load/tflite/assembler.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "load/known_inputs.h"
#include "load/names.h"
#include "load/tflite/quantization.h"
#include "load/tflite/sparse.h"

namespace parallax {
namespace {

UnsupportedNode note_of(const TfliteFile& file, const schema::Operator& op, std::string name,
                        const Error& error) {
  constexpr std::size_t kLongest = 500;  // messages may quote names of any length
  return {std::move(name), shorten(code_name(code_of(file, op))), "tflite",
          load_error(ErrorCode::kUnsupported, shorten(error.message, kLongest)).to_string()};
}

/// Returns the name of a tensor, or `fallback` if the file gives none.
std::string_view name_or(const schema::Tensor& tensor, std::string_view fallback) {
  const std::string_view name = text_of(tensor.name());
  return name.empty() ? fallback : name;
}

std::string symbol_name(std::string_view input, std::size_t axis) {
  return fmt::format("{}_dim_{}", input, axis);
}

/// Bytes that an operator's nodes, results and a plan of them take.
constexpr std::int64_t kBytesPerOperator = 1536;
/// Bytes of one node more that an operator becomes.
constexpr std::int64_t kBytesPerNode = 768;

/// Counts the nodes of a graph from node `first` on, those of bodies too.
std::int64_t nodes_from(const Graph& graph, std::int32_t first) {
  std::int64_t count = 0;
  for (auto id = NodeId{first}; id.value < static_cast<std::int32_t>(graph.nodes.size());
       ++id.value) {
    ++count;
    for (const auto& body : graph.nodes[id].bodies) count += std::ssize(body->nodes);
  }
  return count;
}

/// The operator that makes complex numbers of real ones.
constexpr auto kComplexSource = schema::BuiltinOperator::RFFT2D;

}  // namespace

Status TfliteScope::infer() {
  for (; inferred_ < static_cast<std::int32_t>(graph.nodes.size()); ++inferred_)
    PX_RETURN_IF_ERROR(inference_.infer(NodeId{inferred_}));
  return {};
}

ValueId TfliteScope::add_input(std::string name) {
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::kInput;
  graph.inputs.push_back(graph.values.push_back(std::move(value)));
  return graph.inputs.back();
}

/// Returns the shape of an input that has the name `known_as` for the caller.
Result<Shape> SubgraphAssembler::input_shape(const schema::Tensor& tensor,
                                             std::string_view known_as, std::string_view name) {
  const auto known = std::ranges::find(context_.known, known_as, &KnownInput::name);
  const bool sized = known != context_.known.end() && known->dims;
  const Dims dims = dims_of(tensor);
  if (sized) PX_RETURN_IF_ERROR(check_known_dims(*known, static_cast<std::size_t>(dims.rank())));
  const auto open = elements_of(tensor.shape_signature());
  Shape shape;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims.rank()); ++axis) {
    if (sized && (*known->dims)[axis] >= 0) {
      shape.push_back(Expr((*known->dims)[axis]));
    } else if (axis < open.size() && open[axis] < 0) {
      shape.push_back(
          Expr::symbol(scope_.graph.symbol(symbol_name(name, axis), SymbolKind::kInput)));
    } else {
      shape.push_back(Expr(dims[static_cast<int>(axis)]));
    }
  }
  return shape;
}

Status SubgraphAssembler::add_inputs() {
  const TfliteEntry& entry = context_.entry;
  const std::vector<std::string_view> names(entry.inputs.begin(), entry.inputs.end());
  PX_RETURN_IF_ERROR(check_known_inputs(context_.known, names));
  const std::set<std::string_view> inputs(entry.inputs.begin(), entry.inputs.end());
  for (const std::string& output : entry.outputs)
    if (!output.empty() && !inputs.contains(output)) scope_.writer.reserve_value_name(output);
  const auto indices = elements_of(file_.inputs());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int32_t index = indices[i];
    const schema::Tensor& t = tensor(index);
    const auto dtype = dtype_of(t.type());
    if (!dtype)
      return unsupported(
          fmt::format("input {} has a type that is not supported", tensor_name(file_, index)));
    Value input;
    input.kind = ValueKind::kInput;
    input.name = scope_.writer.fresh_value_name(entry.inputs[i]);
    input.dtype = *dtype;
    PX_ASSIGN(input.shape, input_shape(t, entry.inputs[i], input.name));
    value(index) = scope_.graph.values.push_back(std::move(input));
    scope_.graph.inputs.push_back(value(index));
  }
  return {};
}

/// A constant becomes a value when it is first read.
Result<ValueId> SubgraphAssembler::read(std::int32_t index) {
  if (index < 0) return ValueId{};
  ValueId& known = value(index);
  if (known.valid()) return known;
  const schema::Tensor& t = tensor(index);
  const auto dtype = dtype_of(t.type());
  const std::string name = tensor_name(file_, index);
  if (!dtype || *dtype == DType::kString)
    return unsupported(fmt::format("{} has a type that is not supported", name));
  if (TfliteVariable* const variable = state_at(index)) return read_variable(*variable, t);
  if (t.is_variable()) {
    PX_ASSIGN(const auto plain, plain_value(t, true));
    known = scope_.writer.constant(scope_.writer.fresh_value_name(name_or(t, "variable")), *plain);
    return known;
  }
  Constant constant{*dtype, dims_of(t), constant_bytes(context_.file, t), context_.owner};
  if (t.sparsity() != nullptr) {
    PX_ASSIGN(constant, dense_constant(context_.file, t, context_.quota));
  }
  known = scope_.writer.constant(scope_.writer.fresh_value_name(name_or(t, "constant")),
                                 std::move(constant));
  return known;
}

bool SubgraphAssembler::reads_missing(const schema::Operator& op) const {
  const auto inputs = elements_of(op.inputs());
  return std::ranges::any_of(inputs, [&](std::int32_t index) {
    return index >= 0 && missing_[static_cast<std::size_t>(index)];
  });
}

/// Results take the names of the file's tensors; one that was there before is copied.
Status SubgraphAssembler::name_results(const schema::Operator& op, std::span<const ValueId> results,
                                       std::int32_t first) {
  const auto outputs = elements_of(op.outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] < 0) continue;
    ValueId result = i < results.size() ? results[i] : ValueId{};
    if (!result.valid()) return unsupported(fmt::format("output {} is not supported", i));
    const Value& made = scope_.graph.values[result];
    std::string name = scope_.writer.fresh_value_name(name_or(tensor(outputs[i]), "result"));
    const bool fresh = made.kind == ValueKind::kResult && made.producer.value >= first &&
                       std::ranges::find(values_, result) == values_.end();
    if (!fresh) {
      const ValueId copy = scope_.writer.result(name);
      PX_RETURN_IF_ERROR(scope_.writer.node({name, OpKind::kIdentity, {}, {result}, {copy}}));
      result = copy;
    }
    scope_.graph.values[result].name = std::move(name);
    value(outputs[i]) = result;
  }
  return scope_.infer();
}

/// Real numbers of a quantized tensor are made once.
Result<ValueId> SubgraphAssembler::read_real(OperatorWriter& writing, std::int32_t index) {
  PX_ASSIGN(const ValueId value, read(index));
  if (!value.valid() || !is_quantized(tensor(index))) return value;
  if (state_at(index) != nullptr) return dequantized(writing, value, tensor(index));
  ValueId& real = real_[static_cast<std::size_t>(index)];
  if (!real.valid()) real = dequantized(writing, value, tensor(index));
  PX_RETURN_IF_ERROR(writing.status());
  return real;
}

Status SubgraphAssembler::run_rule(const TfliteRule& rule, const schema::Operator& op,
                                   const std::string& name) {
  const FileOperatorName names{name, code_name(code_of(context_.file, op))};
  const auto infer = [this] { return scope_.infer(); };
  OperatorWriter reading(scope_.writer, names, infer, NodeOrigin::kLoader);
  std::vector<ValueId> inputs;
  for (const std::int32_t index : elements_of(op.inputs())) {
    PX_ASSIGN(const ValueId input, read_real(reading, index));
    inputs.push_back(input);
  }
  std::vector<const schema::Tensor*> outputs;
  for (const std::int32_t index : elements_of(op.outputs()))
    outputs.push_back(index < 0 ? nullptr : &tensor(index));
  const auto first = static_cast<std::int32_t>(scope_.graph.nodes.size());
  TfliteOperator writing(scope_.writer, op, names, std::move(inputs), outputs,
                         custom_options(context_.file, op), infer);
  rule.write(writing);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId real = writing.results()[i];
    if (!writing.failed() && real.valid() && outputs[i] != nullptr && is_quantized(*outputs[i]))
      writing.result(i, quantized(writing, real, *outputs[i]));
  }
  PX_RETURN_IF_ERROR(writing.status());
  PX_RETURN_IF_ERROR(keep_states(writing, op));
  const std::int64_t more = nodes_from(scope_.graph, first) - 1;
  if (more > 0 && !context_.quota.need_node_bytes(more * kBytesPerNode))
    return unsupported(
        "the nodes of operators would take too much memory for the size of the file");
  return name_results(op, writing.results(), first);
}

/// Notes why an operator cannot run if that is asked for, and goes on. An error without a message
/// stands for operators that were noted.
Status SubgraphAssembler::note(const schema::Operator& op, const std::string& name, Status status) {
  Error& error = status.error();
  if (error.node.empty()) error.node = name;
  if (context_.noted == nullptr || error.code != ErrorCode::kUnsupported) return status;
  if (!error.message.empty()) context_.noted->push_back(note_of(context_.file, op, name, error));
  for (const std::int32_t index : elements_of(op.outputs()))
    if (index >= 0) missing_[static_cast<std::size_t>(index)] = true;
  scope_.skip();
  return {};
}

bool SubgraphAssembler::is_complex(std::int32_t index) const {
  return index >= 0 && tensor(index).type() == schema::TensorType::COMPLEX64;
}

/// Only rules that are made for it read complex tensors, or make them.
Result<const TfliteRule*> SubgraphAssembler::find_rule(const schema::Operator& op) const {
  const schema::OperatorCode& code = code_of(context_.file, op);
  const auto inputs = elements_of(op.inputs()), outputs = elements_of(op.outputs());
  const auto complex = [this](std::int32_t index) { return is_complex(index); };
  const bool reads = std::ranges::any_of(inputs, complex);
  const bool writes = std::ranges::any_of(outputs, complex);
  const TfliteRule* const rule = reads && complex(inputs[0]) ? tflite_complex_rule(code)
                                 : reads                     ? nullptr
                                                             : tflite_rule(code);
  if (rule != nullptr && (reads || !writes || builtin_of(code) == kComplexSource)) return rule;
  return unsupported(fmt::format("{} is not supported{}", code_name(code),
                                 reads || writes ? " for complex numbers" : ""));
}

Status SubgraphAssembler::write(const schema::Operator& op, const std::string& name) {
  if (!context_.quota.need_node_bytes(kBytesPerOperator))
    return unsupported("the operators would take too much memory for the size of the file");
  const auto first = static_cast<std::int32_t>(scope_.graph.nodes.size());
  if (runs_subgraphs(op)) {
    PX_ASSIGN(const auto results, call(op, name));
    return name_results(op, results, first);
  }
  if (is_tflite_variable(builtin_of(code_of(context_.file, op)))) return write_variable(op);
  PX_ASSIGN(const TfliteRule* const rule, find_rule(op));
  return run_rule(*rule, op, name);
}

Status SubgraphAssembler::add_operator(std::size_t index) {
  const schema::Operator& op = *file_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const std::string name = operator_name(context_.file, index_, index);
  Status status = reads_missing(op) ? unsupported("") : write(op, name);
  return status ? status : note(op, name, std::move(status));
}

Status SubgraphAssembler::add_operators() {
  for (const std::int32_t index : order_)
    PX_RETURN_IF_ERROR(add_operator(static_cast<std::size_t>(index)));
  return {};
}

Result<std::vector<ValueId>> SubgraphAssembler::outputs() {
  std::vector<ValueId> values;
  for (const std::int32_t index : elements_of(file_.outputs())) {
    if (index >= 0 && missing_[static_cast<std::size_t>(index)]) return unsupported("");
    if (is_main() && is_complex(index)) return unsupported("complex outputs are not supported");
    PX_ASSIGN(const ValueId output, read(index));
    values.push_back(output);
  }
  return values;
}

Status SubgraphAssembler::name_outputs() {
  const TfliteEntry& entry = context_.entry;
  std::set<std::string_view> taken(entry.inputs.begin(), entry.inputs.end());
  std::set<std::int32_t> named;
  Graph& graph = scope_.graph;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId& output = graph.outputs[i];
    const bool made = graph.values[output].kind == ValueKind::kResult;
    if (!named.insert(output.value).second || (!made && !entry.named)) continue;
    const bool free = taken.insert(entry.outputs[i]).second;
    if (!free && !entry.named) continue;
    std::string name = free ? entry.outputs[i] : scope_.writer.fresh_value_name(entry.outputs[i]);
    if (made) {
      graph.values[output].name = std::move(name);
      continue;
    }
    const ValueId copy = scope_.writer.result(name);
    PX_RETURN_IF_ERROR(
        scope_.writer.node({std::move(name), OpKind::kIdentity, {}, {output}, {copy}}));
    output = copy;
  }
  return scope_.infer();
}

namespace {

/// Lists all operators without a rule, with their counts.
Status check_operators(const TfliteFile& file) {
  std::map<std::string, int> missing;
  for (const TfliteSubgraph& subgraph : file.subgraphs) {
    for (const std::int32_t index : subgraph.order) {
      const auto& op =
          *subgraph.graph->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
      const schema::OperatorCode& code = code_of(file, op);
      if (!is_tflite_supported(code)) ++missing[code_name(code)];
    }
  }
  if (missing.empty()) return {};
  std::string list;
  for (const auto& [name, count] : missing)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
  return unsupported("operators that are not supported: " + shorten(list, 2000));
}

}  // namespace

Result<Graph> assemble_tflite(const TfliteFile& file, const TfliteEntry& entry,
                              std::span<const KnownInput> known, std::shared_ptr<const void> owner,
                              LoadQuota& quota, std::vector<UnsupportedNode>* noted) {
  if (noted == nullptr) PX_RETURN_IF_ERROR(check_operators(file));
  for (const TfliteSubgraph& subgraph : file.subgraphs) {
    quota.allow_nodes(std::ssize(subgraph.order));
    quota.allow_kept(std::ssize(subgraph.order) * kBytesPerOperator);
  }
  TfliteContext context{file, entry, known, std::move(owner), quota, noted};
  TfliteScope scope(context);
  context.scope = &scope;
  scope.graph.name = text_of(file.subgraphs[entry.subgraph].graph->name());
  SubgraphAssembler main(context, scope, entry.subgraph);
  PX_RETURN_IF_ERROR(main.add_inputs());
  PX_RETURN_IF_ERROR(main.add_operators());
  if (noted != nullptr && !noted->empty()) return unsupported("operators that cannot run");
  PX_ASSIGN(scope.graph.outputs, main.outputs());
  PX_RETURN_IF_ERROR(main.name_outputs());
  PX_RETURN_IF_ERROR(main.add_states());
  return std::move(scope.graph);
}

}  // namespace parallax
