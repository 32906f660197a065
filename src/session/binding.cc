#include "session/binding.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "session/user_call.h"

namespace parallax {
namespace {

std::string shape_text(const Graph& graph, const Value& value) {
  return to_string(value.shape, graph.symbol_names());
}

/// "'a', 'b'": the names of the graph's inputs.
std::string input_names(const Graph& graph) {
  std::string names;
  for (const ValueId id : graph.inputs)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.values[id].name);
  return names.empty() ? "none" : names;
}

/// Finds the tensor for each graph input.
Status match_names(const Graph& graph, std::span<const NamedInput> inputs,
                   std::vector<const TensorView*>& tensors) {
  tensors.assign(graph.inputs.size(), nullptr);
  for (const NamedInput& input : inputs) {
    const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
      return graph.values[id].name == input.name;
    });
    if (found == graph.inputs.end()) {
      return refuse(ErrorCode::kInvalidInput, fmt::format("the model has no input '{}'; it has {}",
                                                          input.name, input_names(graph)));
    }
    const TensorView*& tensor = tensors[static_cast<std::size_t>(found - graph.inputs.begin())];
    if (tensor != nullptr)
      return refuse(ErrorCode::kInvalidInput, fmt::format("input '{}' is given twice", input.name));
    tensor = &input.tensor;
  }
  const auto missing = std::ranges::count(tensors, nullptr);
  if (missing == 0) return {};
  std::string names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] != nullptr) continue;
    const Value& value = graph.values[graph.inputs[i]];
    names += fmt::format("{}'{}' ({} {})", names.empty() ? "" : ", ", value.name,
                         to_string(value.dtype), shape_text(graph, value));
  }
  return refuse(ErrorCode::kInvalidInput, missing == 1
                                              ? fmt::format("input {} is missing", names)
                                              : fmt::format("inputs {} are missing", names));
}

/// Everything about one tensor that no symbol decides.
Status check_tensor(const Graph& graph, const Value& value, const TensorView& tensor) {
  const auto mismatch = [&](std::string_view what) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("input '{}' must be {} {}, not {} {}{}", value.name,
                              to_string(value.dtype), shape_text(graph, value),
                              to_string(tensor.dtype), tensor.dims.to_string(), what));
  };
  if (tensor.dtype != value.dtype) return mismatch("");
  if (static_cast<std::size_t>(tensor.dims.rank()) != value.shape.size()) return mismatch("");
  for (const std::int64_t dim : tensor.dims)
    if (dim < 0) return mismatch(": a negative dimension");
  const auto bytes = bytes_of(tensor.dtype, tensor.dims);
  if (!bytes) return mismatch(fmt::format(" in {} bytes", tensor.bytes.size()));
  if (static_cast<std::uint64_t>(*bytes) != tensor.bytes.size())
    return mismatch(fmt::format(" in {} bytes, dense it has {}", tensor.bytes.size(), *bytes));
  if (*bytes > 0 && tensor.bytes.data() == nullptr) return mismatch(" without memory");
  if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) %
          static_cast<std::uintptr_t>(alignment_of(tensor.dtype)) !=
      0)
    return mismatch(" at an address that is not aligned to its element size");
  return {};
}

/// Dimensions that are a symbol alone bind it; the first one that names it decides.
void bind_plain_symbols(const std::vector<SymbolId>& plain, const Dims& dims, Binding& binding) {
  for (std::size_t axis = 0; axis < plain.size(); ++axis) {
    if (!plain[axis].valid()) continue;
    auto& bound = binding.symbols[static_cast<std::size_t>(plain[axis].value)];
    if (!bound) bound = dims[static_cast<int>(axis)];
  }
}

/// A dimension a * symbol + b binds its symbol where nothing else does.
void bind_linear_symbols(const Value& value, const Dims& dims, Binding& binding) {
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const Expr& expr = value.shape[static_cast<std::size_t>(axis)];
    const std::vector<SymbolId> symbols = expr.symbols();
    if (symbols.size() != 1) continue;
    auto& bound = binding.symbols[static_cast<std::size_t>(symbols[0].value)];
    if (bound) continue;
    const auto at = [&](std::int64_t x) {
      bound = x;
      const auto y = expr.evaluate(binding.symbols);
      bound.reset();
      return y;
    };
    const auto zero = at(0);
    const auto one = at(1);
    const auto slope = zero && one ? checked_sub(*one, *zero) : std::nullopt;
    const auto rise = zero ? checked_sub(dims[axis], *zero) : std::nullopt;
    if (!slope || !rise || *slope == 0 || *rise % *slope != 0 || *rise / *slope < 0) continue;
    bound = *rise / *slope;
  }
}

}  // namespace

Result<Dims> bound_dims(const Graph& graph, ValueId id, const Binding& binding) {
  const Value& value = graph.values[id];
  Dims dims;
  for (const Expr& expr : value.shape) {
    const auto dim = expr.evaluate(binding.symbols);
    if (dim && *dim >= 0 && dims.rank() < Dims::kMaxRank) {
      dims.push_back(*dim);
      continue;
    }
    for (const SymbolId symbol : expr.symbols()) {
      if (binding.symbols[static_cast<std::size_t>(symbol.value)]) continue;
      return refuse(ErrorCode::kUnboundSymbol,
                    fmt::format("dimension '{}' of input '{}' ({}) has no value",
                                graph.symbols[symbol].name, value.name, shape_text(graph, value)));
    }
    return refuse(ErrorCode::kInvalidInput, fmt::format("input '{}' ({}) gets no valid size",
                                                        value.name, shape_text(graph, value)));
  }
  return dims;
}

InputBinder::InputBinder(const Graph& graph) : graph_(graph) {
  for (const ValueId id : graph.inputs) {
    std::vector<SymbolId>& plain = plain_.emplace_back();
    for (const Expr& expr : graph.values[id].shape) {
      const std::vector<SymbolId> symbols = expr.symbols();
      const bool alone = symbols.size() == 1 && expr == Expr::symbol(symbols[0]);
      plain.push_back(alone ? symbols[0] : SymbolId{});
    }
  }
}

Status InputBinder::bind(std::span<const NamedInput> inputs, BoundInputs& bound) const {
  PX_RETURN_IF_ERROR(match_names(graph_, inputs, bound.tensors));
  auto& symbols = bound.binding.symbols;
  symbols.assign(graph_.symbols.size(), std::nullopt);
  bound.bytes.clear();
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const TensorView& tensor = *bound.tensors[i];
    PX_RETURN_IF_ERROR(check_tensor(graph_, graph_.values[graph_.inputs[i]], tensor));
    bind_plain_symbols(plain_[i], tensor.dims, bound.binding);
    bound.bytes.push_back(tensor.bytes.data());
  }
  if (std::find(symbols.begin(), symbols.end(), std::nullopt) != symbols.end()) {
    for (std::size_t i = 0; i < plain_.size(); ++i)
      bind_linear_symbols(graph_.values[graph_.inputs[i]], bound.tensors[i]->dims, bound.binding);
  }
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const Dims& given = bound.tensors[i]->dims;
    PX_ASSIGN(const Dims expected, bound_dims(graph_, graph_.inputs[i], bound.binding));
    if (expected == given) continue;
    const Value& value = graph_.values[graph_.inputs[i]];
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("input '{}' must have shape {} (here {}), not {}", value.name,
                              shape_text(graph_, value), expected.to_string(), given.to_string()));
  }
  return {};
}

namespace {

/// Names every dimension of the inputs that has no value.
Status check_all_bound(const Graph& graph, const Binding& binding) {
  std::string names;
  std::vector<SymbolId> missing;
  for (const ValueId input : graph.inputs) {
    const Value& value = graph.values[input];
    for (const Expr& expr : value.shape) {
      for (const SymbolId symbol : expr.symbols()) {
        if (binding.symbols[static_cast<std::size_t>(symbol.value)] ||
            std::ranges::find(missing, symbol) != missing.end())
          continue;
        missing.push_back(symbol);
        names += fmt::format("{}'{}' of input '{}' ({})", names.empty() ? "" : ", ",
                             graph.symbols[symbol].name, value.name, shape_text(graph, value));
      }
    }
  }
  if (missing.empty()) return {};
  return refuse(ErrorCode::kUnboundSymbol,
                missing.size() == 1 ? fmt::format("dimension {} has no value", names)
                                    : fmt::format("dimensions without a value: {}", names));
}

}  // namespace

Result<Binding> bind_dims(const Graph& graph, std::span<const Session::DimValue> dims) {
  Binding binding;
  binding.symbols.resize(graph.symbols.size());
  for (const Session::DimValue& dim : dims) {
    bool found = false;
    for (const SymbolId id : graph.symbols.ids()) {
      const Symbol& symbol = graph.symbols[id];
      if (symbol.kind != SymbolKind::kInput || symbol.name != dim.name) continue;
      found = true;
      auto& bound = binding.symbols[static_cast<std::size_t>(id.value)];
      if (bound) {
        return refuse(ErrorCode::kInvalidInput,
                      fmt::format("dimension '{}' is given twice", dim.name));
      }
      bound = dim.value;
    }
    if (!found) {
      return refuse(ErrorCode::kInvalidInput,
                    fmt::format("the model has no free dimension '{}'", dim.name));
    }
    if (dim.value < 0) {
      return refuse(ErrorCode::kInvalidInput,
                    fmt::format("dimension '{}' cannot be {}", dim.name, dim.value));
    }
  }
  PX_RETURN_IF_ERROR(check_all_bound(graph, binding));
  return binding;
}

}  // namespace parallax
