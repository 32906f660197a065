#include "device/support.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "ops/op.h"

namespace parallax {
namespace {

Support refuse(CpuReason reason, std::string detail) { return {reason, std::move(detail), false}; }

/// Returns whether input `i` only defines a shape and its elements are known when the plan is made.
bool says_shape(const Node& node, const Value& value, std::size_t i) {
  if (value.kind == ValueKind::kSymbolic) return true;
  return op_def(node.op).decides_shape(i) && value.kind == ValueKind::kConstant;
}

Support check_value(const Value& value, const std::optional<Dims>& dims,
                    const OperatorLimits& limits) {
  if (is_object(value))
    return refuse(CpuReason::kDType, fmt::format("'{}' is not a tensor of numbers", value.name));
  if (!dims) {
    return refuse(CpuReason::kDynamicShape,
                  fmt::format("the size of '{}' depends on values", value.name));
  }
  // Optional inputs may be empty constants.
  if (value.kind != ValueKind::kConstant && dims->elements() == 0)
    return refuse(CpuReason::kEmpty, fmt::format("'{}' has no elements", value.name));
  if (std::find(limits.dtypes.begin(), limits.dtypes.end(), value.dtype) == limits.dtypes.end()) {
    return refuse(CpuReason::kDType, fmt::format("'{}' is {}", value.name, to_string(value.dtype)));
  }
  if (dims->rank() > limits.max_rank) {
    return refuse(CpuReason::kRank, fmt::format("'{}' has rank {}, at most {} can run", value.name,
                                                dims->rank(), limits.max_rank));
  }
  return {};
}

bool in_range(const AttributeLimit& limit, double x) {
  return (!limit.min || x >= *limit.min) && (!limit.max || x <= *limit.max);
}

struct AttributeCheck {
  const AttributeLimit& limit;

  bool operator()(std::int64_t x) const { return numeric(static_cast<double>(x)); }
  bool operator()(float x) const { return numeric(static_cast<double>(x)); }
  bool operator()(const std::string& x) const {
    return !limit.min && !limit.max &&
           (limit.one_of.empty() ||
            std::find(limit.one_of.begin(), limit.one_of.end(), x) != limit.one_of.end());
  }
  bool operator()(const std::vector<std::int64_t>& list) const { return all(list); }
  bool operator()(const std::vector<float>& list) const { return all(list); }
  bool operator()(const Constant&) const { return false; }
  bool operator()(const std::vector<std::string>& list) const {
    return std::ranges::all_of(list, [this](const std::string& x) { return (*this)(x); });
  }

 private:
  bool numeric(double x) const { return limit.one_of.empty() && in_range(limit, x); }
  template <class List>
  bool all(const List& list) const {
    return std::all_of(list.begin(), list.end(),
                       [&](auto x) { return numeric(static_cast<double>(x)); });
  }
};

}  // namespace

std::string_view to_string(CpuReason reason) {
  switch (reason) {
    case CpuReason::kNone:
      return "none";
    case CpuReason::kOperator:
      return "operator";
    case CpuReason::kDynamicShape:
      return "dynamic-shape";
    case CpuReason::kEmpty:
      return "empty";
    case CpuReason::kDType:
      return "dtype";
    case CpuReason::kRank:
      return "rank";
    case CpuReason::kAttribute:
      return "attribute";
    case CpuReason::kBridge:
      return "bridge";
    case CpuReason::kMemory:
      return "memory";
    case CpuReason::kLoses:
      return "loses";
    case CpuReason::kLimit:
      return "limit";
    case CpuReason::kShared:
      return "shared";
    case CpuReason::kPinned:
      return "pinned";
    case CpuReason::kRefused:
      return "refused";
  }
  return "unknown";
}

Support check_support(const Graph& graph, const ConcreteShapes& shapes, NodeId id,
                      const Delegate& delegate) {
  const Node& node = graph.nodes[id];
  const auto found = delegate.operators.find(node.op);
  if (found == delegate.operators.end()) {
    return refuse(CpuReason::kOperator,
                  fmt::format("{} has no {}", delegate.name, to_string(node.op)));
  }
  const OperatorLimits& limits = found->second;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input.valid() || says_shape(node, graph.values[input], i)) continue;
    Support support = check_value(graph.values[input], shapes[input], limits);
    if (support.reason != CpuReason::kNone) return support;
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    Support support = check_value(graph.values[output], shapes[output], limits);
    if (support.reason != CpuReason::kNone) return support;
  }
  for (const AttributeLimit& limit : limits.attributes) {
    const AttributeValue* value = node.attributes.find(limit.name);
    if (value == nullptr || std::visit(AttributeCheck{limit}, *value)) continue;
    return refuse(CpuReason::kAttribute,
                  fmt::format("{} of {} is outside what {} can run", limit.name, to_string(node.op),
                              delegate.name));
  }
  return {CpuReason::kNone, "", limits.bridge};
}

ConcreteShapes assumed_shapes(const Graph& graph, const Binding& binding) {
  auto symbols = binding.symbols;
  symbols.resize(graph.symbols.size());
  for (auto& symbol : symbols)
    if (!symbol) symbol = kAssumedSize;
  ConcreteShapes result(graph.values.size());
  for (const ValueId id : graph.values.ids()) {
    Dims dims;
    bool known = graph.values[id].shape.size() <= std::size_t{Dims::kMaxRank};
    for (const Expr& expr : graph.values[id].shape) {
      const auto dim = expr.evaluate(symbols);
      known = known && dim && *dim >= 0;
      if (!known) break;
      dims.push_back(*dim);
    }
    if (known && bytes_of(graph.values[id].dtype, dims)) result[id] = dims;
  }
  return result;
}

Support check_run_time_support(const Graph& graph, const ConcreteShapes& shapes,
                               const ConcreteShapes& assumed, NodeId id, const Delegate& delegate) {
  const Node& node = graph.nodes[id];
  std::vector<SymbolId> told;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const Value& input = graph.values[node.inputs[i]];
    if (op_def(node.op).decides_shape(i) && !says_shape(node, input, i))
      return refuse(CpuReason::kDynamicShape,
                    fmt::format("'{}' decides a size, and only running tells it", input.name));
    for (const Expr& dim : input.shape) std::ranges::copy(dim.symbols(), std::back_inserter(told));
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid() || shapes[output]) continue;
    for (const Expr& dim : graph.values[output].shape)
      for (const SymbolId symbol : dim.symbols())
        if (graph.symbols[symbol].kind == SymbolKind::kData &&
            std::ranges::find(told, symbol) == told.end())
          return refuse(CpuReason::kDynamicShape,
                        fmt::format("only the node itself tells the size of '{}'",
                                    graph.values[output].name));
  }
  return check_support(graph, assumed, id, delegate);
}

}  // namespace parallax
