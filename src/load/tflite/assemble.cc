#include "load/tflite/assemble.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/quantization.h"
#include "load/tflite/rules.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// Context of all subgraphs of a file.
struct Context {
  const TfliteFile& file;
  const std::shared_ptr<const void> owner;
  LoadQuota& quota;
  std::vector<UnsupportedNode>* noted = nullptr;
};

UnsupportedNode note_of(const TfliteFile& file, const schema::Operator& op, std::string name,
                        const Error& error) {
  constexpr std::size_t kLongest = 500;  // messages may quote names of any length
  return {std::move(name), shorten(code_name(code_of(file, op))), "tflite",
          load_error(ErrorCode::kUnsupported, shorten(error.message, kLongest)).to_string()};
}

class SubgraphAssembler {
 public:
  SubgraphAssembler(Context& context, std::size_t index)
      : context_(context),
        index_(index),
        file_(*context.file.subgraphs[index].graph),
        order_(context.file.subgraphs[index].order),
        writer_(graph_, {}),
        inference_(graph_, context.quota),
        values_(length_of(file_.tensors())) {
    context.quota.allow_nodes(std::ssize(order_));
  }

  Result<Graph> assemble();

 private:
  Status add_inputs();
  Status add_operator(std::size_t index);
  Status run_rule(const TfliteRule& rule, const schema::Operator& op, const std::string& name);
  Status name_results(const schema::Operator& op, const TfliteOperator& rule, std::int32_t first);
  Status note(const schema::Operator& op, const std::string& name, Status status);
  Result<ValueId> read(std::int32_t tensor);
  Result<ValueId> read_real(OperatorWriter& writing, std::int32_t tensor);
  bool reads_missing(const schema::Operator& op) const;
  Status infer_added();
  const schema::Tensor& tensor(std::int32_t index) const {
    return *file_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  ValueId& value(std::int32_t tensor) { return values_[static_cast<std::size_t>(tensor)]; }

  Context& context_;
  const std::size_t index_;
  const schema::SubGraph& file_;
  const std::vector<std::int32_t>& order_;
  Graph graph_;
  GraphWriter writer_;
  Inference inference_;
  std::vector<ValueId> values_;          ///< by tensor; invalid: not made yet
  std::vector<ValueId> real_ = values_;  ///< by tensor: dequantized, if something read that
  std::vector<bool> missing_ = std::vector<bool>(values_.size());  ///< results of noted nodes
  std::int32_t inferred_ = 0;  ///< nodes whose outputs have shapes
};

std::string symbol_name(std::string_view input, std::size_t axis) {
  return fmt::format("{}_dim_{}", input, axis);
}

Status SubgraphAssembler::add_inputs() {
  for (const std::int32_t index : elements_of(file_.inputs())) {
    const schema::Tensor& t = tensor(index);
    const auto dtype = dtype_of(t.type());
    if (!dtype)
      return unsupported(
          fmt::format("input {} has a type that is not supported", tensor_name(file_, index)));
    Value input;
    input.kind = ValueKind::kInput;
    input.name = writer_.fresh_value_name(t.name() == nullptr ? "input" : text_of(t.name()));
    input.dtype = *dtype;
    const Dims dims = dims_of(t);
    const auto open = elements_of(t.shape_signature());
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(dims.rank()); ++axis) {
      if (axis < open.size() && open[axis] < 0)
        input.shape.push_back(
            Expr::symbol(graph_.symbol(symbol_name(input.name, axis), SymbolKind::kInput)));
      else
        input.shape.push_back(Expr(dims[static_cast<int>(axis)]));
    }
    value(index) = graph_.values.push_back(std::move(input));
    graph_.inputs.push_back(value(index));
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
  if (t.is_variable()) return unsupported(fmt::format("variable {}: state is not supported", name));
  if (t.sparsity() != nullptr) return unsupported(fmt::format("{} is sparse", name));
  const Constant constant{*dtype, dims_of(t), constant_bytes(context_.file, t), context_.owner};
  known = writer_.constant(writer_.fresh_value_name(text_of(t.name())), constant);
  return known;
}

bool SubgraphAssembler::reads_missing(const schema::Operator& op) const {
  const auto inputs = elements_of(op.inputs());
  return std::ranges::any_of(inputs, [&](std::int32_t index) {
    return index >= 0 && missing_[static_cast<std::size_t>(index)];
  });
}

Status SubgraphAssembler::infer_added() {
  for (; inferred_ < static_cast<std::int32_t>(graph_.nodes.size()); ++inferred_)
    PX_RETURN_IF_ERROR(inference_.infer(NodeId{inferred_}));
  return {};
}

/// Results take the names of the file's tensors; one that was there before is copied.
Status SubgraphAssembler::name_results(const schema::Operator& op, const TfliteOperator& rule,
                                       std::int32_t first) {
  const auto outputs = elements_of(op.outputs());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] < 0) continue;
    ValueId result = rule.results()[i];
    if (!result.valid()) return unsupported(fmt::format("output {} is not supported", i));
    const Value& made = graph_.values[result];
    std::string name = writer_.fresh_value_name(text_of(tensor(outputs[i]).name()));
    const bool fresh = made.kind == ValueKind::kResult && made.producer.value >= first &&
                       std::ranges::find(values_, result) == values_.end();
    if (!fresh) {
      const ValueId copy = writer_.result(name);
      PX_RETURN_IF_ERROR(writer_.node({name, OpKind::kIdentity, {}, {result}, {copy}}));
      result = copy;
    }
    graph_.values[result].name = std::move(name);
    value(outputs[i]) = result;
  }
  return infer_added();
}

/// Real numbers of a quantized tensor are made once.
Result<ValueId> SubgraphAssembler::read_real(OperatorWriter& writing, std::int32_t index) {
  PX_ASSIGN(const ValueId value, read(index));
  if (!value.valid() || !is_quantized(tensor(index))) return value;
  ValueId& real = real_[static_cast<std::size_t>(index)];
  if (!real.valid()) real = dequantized(writing, value, tensor(index));
  PX_RETURN_IF_ERROR(writing.status());
  return real;
}

Status SubgraphAssembler::run_rule(const TfliteRule& rule, const schema::Operator& op,
                                   const std::string& name) {
  const FileOperatorName names{name, code_name(code_of(context_.file, op))};
  const auto infer = [this] { return infer_added(); };
  OperatorWriter reading(writer_, names, infer, NodeOrigin::kLoader);
  std::vector<ValueId> inputs;
  for (const std::int32_t index : elements_of(op.inputs())) {
    PX_ASSIGN(const ValueId input, read_real(reading, index));
    inputs.push_back(input);
  }
  std::vector<const schema::Tensor*> outputs;
  for (const std::int32_t index : elements_of(op.outputs()))
    outputs.push_back(index < 0 ? nullptr : &tensor(index));
  const auto first = static_cast<std::int32_t>(graph_.nodes.size());
  TfliteOperator writing(writer_, op, names, std::move(inputs), outputs, infer);
  rule.write(writing);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId real = writing.results()[i];
    if (!writing.failed() && real.valid() && outputs[i] != nullptr && is_quantized(*outputs[i]))
      writing.result(i, quantized(writing, real, *outputs[i]));
  }
  PX_RETURN_IF_ERROR(writing.status());
  return name_results(op, writing, first);
}

/// Notes why an operator cannot run if that is asked for, and goes on.
Status SubgraphAssembler::note(const schema::Operator& op, const std::string& name, Status status) {
  Error& error = status.error();
  if (error.node.empty()) error.node = name;
  if (context_.noted == nullptr || error.code != ErrorCode::kUnsupported) return status;
  context_.noted->push_back(note_of(context_.file, op, name, error));
  for (const std::int32_t index : elements_of(op.outputs()))
    if (index >= 0) missing_[static_cast<std::size_t>(index)] = true;
  inferred_ = static_cast<std::int32_t>(graph_.nodes.size());
  return {};
}

Status SubgraphAssembler::add_operator(std::size_t index) {
  const schema::Operator& op = *file_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (reads_missing(op)) return note(op, "", unsupported("an input is missing"));
  const std::string name = operator_name(context_.file, index_, index);
  const schema::OperatorCode& code = code_of(context_.file, op);
  const TfliteRule* const rule = tflite_rule(builtin_of(code));
  if (rule == nullptr)
    return note(op, name, unsupported(fmt::format("{} is not supported", code_name(code))));
  Status status = run_rule(*rule, op, name);
  return status ? status : note(op, name, std::move(status));
}

Result<Graph> SubgraphAssembler::assemble() {
  graph_.name = text_of(file_.name());
  PX_RETURN_IF_ERROR(add_inputs());
  for (const std::int32_t index : order_)
    PX_RETURN_IF_ERROR(add_operator(static_cast<std::size_t>(index)));
  if (context_.noted != nullptr && !context_.noted->empty())
    return unsupported("nodes that cannot run");
  for (const std::int32_t index : elements_of(file_.outputs())) {
    PX_ASSIGN(const ValueId output, read(index));
    graph_.outputs.push_back(output);
  }
  return std::move(graph_);
}

/// Lists all operators without a rule, with their counts.
Status check_operators(const TfliteFile& file) {
  std::map<std::string, int> missing;
  for (const TfliteSubgraph& subgraph : file.subgraphs) {
    for (const std::int32_t index : subgraph.order) {
      const auto& op =
          *subgraph.graph->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
      const schema::OperatorCode& code = code_of(file, op);
      if (tflite_rule(builtin_of(code)) == nullptr) ++missing[code_name(code)];
    }
  }
  if (missing.empty()) return {};
  std::string list;
  for (const auto& [name, count] : missing)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
  return unsupported("operators that are not supported: " + shorten(list, 2000));
}

}  // namespace

Result<Graph> assemble_tflite(const TfliteFile& file, std::shared_ptr<const void> owner,
                              LoadQuota& quota, std::vector<UnsupportedNode>* noted) {
  if (noted == nullptr) PX_RETURN_IF_ERROR(check_operators(file));
  Context context{file, std::move(owner), quota, noted};
  return SubgraphAssembler(context, 0).assemble();
}

}  // namespace parallax
