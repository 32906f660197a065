#include "session/binding.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "base/user_call.h"

namespace parallax {
namespace {

std::string shape_text(const Graph& graph, const Value& value) {
  return to_string(value.shape, graph.symbol_names());
}

/// Returns the names of the graph's inputs: "'a', 'b'".
std::string input_names(const Graph& graph) {
  std::string names;
  for (const ValueId id : graph.inputs)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.values[id].name);
  return names.empty() ? "none" : names;
}

/// Returns the type of an input for a message: "float32 1x3xheight", "sequence f32 any".
std::string type_text(const Graph& graph, const Value& value) {
  if (value.container != nullptr) return to_string(*value.container, value.dtype);
  return fmt::format("{} {}", to_string(value.dtype), shape_text(graph, value));
}

/// Finds the tensor for each graph input.
Status match_names(const Graph& graph, std::span<const NamedInput> inputs,
                   std::vector<const NamedInput*>& tensors) {
  tensors.assign(graph.inputs.size(), nullptr);
  for (const NamedInput& input : inputs) {
    const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
      return graph.values[id].name == input.name;
    });
    if (found == graph.inputs.end()) {
      return refuse(ErrorCode::kInvalidInput, fmt::format("the model has no input '{}'; it has {}",
                                                          input.name, input_names(graph)));
    }
    const NamedInput*& tensor = tensors[static_cast<std::size_t>(found - graph.inputs.begin())];
    if (tensor != nullptr)
      return refuse(ErrorCode::kInvalidInput, fmt::format("input '{}' is given twice", input.name));
    tensor = &input;
  }
  const auto missing = std::ranges::count(tensors, nullptr);
  if (missing == 0) return {};
  std::string names;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] != nullptr) continue;
    const Value& value = graph.values[graph.inputs[i]];
    names +=
        fmt::format("{}'{}' ({})", names.empty() ? "" : ", ", value.name, type_text(graph, value));
  }
  return refuse(ErrorCode::kInvalidInput, missing == 1
                                              ? fmt::format("input {} is missing", names)
                                              : fmt::format("inputs {} are missing", names));
}

/// Whether the object has the type: `types` are the containers around tensors of `dtype`.
bool is_of_type(const Object& object, std::span<const ObjectType> types, DType key, DType dtype) {
  if (types.empty()) return object.type() == ObjectType::kTensor && object.dtype() == dtype;
  if (object.type() != types[0]) return false;
  const auto elements = object.elements();
  if (types[0] == ObjectType::kMap)
    return types.size() == 1 && elements[0].dtype() == key && elements[1].dtype() == dtype;
  return std::ranges::all_of(elements, [&](const Object& element) {
    return is_of_type(element, types.subspan(1), key, dtype);
  });
}

/// Whether all tensors in the object have memory of the dense size that is aligned, as inputs must.
bool is_readable(const Object& object) {
  if (object.type() != ObjectType::kTensor)
    return std::ranges::all_of(object.elements(), is_readable);
  if (object.dtype() == DType::kString) return true;
  const TensorView tensor = object.tensor_view();
  const auto bytes = bytes_of(tensor.dtype, tensor.dims);
  return bytes && static_cast<std::uint64_t>(*bytes) == tensor.bytes.size() &&
         (*bytes == 0 || tensor.bytes.data() != nullptr) &&
         reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) %
                 static_cast<std::uintptr_t>(alignment_of(tensor.dtype)) ==
             0;
}

Status check_object(const Graph& graph, const Value& value, const Object& object) {
  static constexpr std::span<const ObjectType> kTensor;
  const auto types =
      value.container == nullptr ? kTensor : std::span<const ObjectType>(value.container->types);
  const DType key = value.container == nullptr ? DType::kI64 : value.container->key;
  if (!is_of_type(object, types, key, value.dtype)) {
    return refuse(ErrorCode::kInvalidInput, fmt::format("input '{}' must be {}, as an object",
                                                        value.name, type_text(graph, value)));
  }
  if (!is_readable(object)) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("input '{}' has a tensor of another size than its memory, or whose "
                              "memory is not aligned",
                              value.name));
  }
  if (value.container != nullptr ||
      static_cast<std::size_t>(object.dims().rank()) == value.shape.size())
    return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("input '{}' must be {}, not {}", value.name, type_text(graph, value),
                            object.dims().to_string()));
}

}  // namespace

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

Status check_fixed_dims(const Graph& graph, const Value& value, const Dims& dims) {
  bool fits = static_cast<std::size_t>(dims.rank()) == value.shape.size();
  for (int axis = 0; fits && axis < dims.rank(); ++axis)
    fits =
        value.shape[static_cast<std::size_t>(axis)].constant().value_or(dims[axis]) == dims[axis];
  if (fits) return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("input '{}' must have shape {}, not {}", value.name,
                            shape_text(graph, value), dims.to_string()));
}

namespace {

/// Binds the symbols that are a whole dimension; the first dimension that names one decides.
void bind_plain_symbols(const std::vector<SymbolId>& plain, const Dims& dims, Binding& binding) {
  for (std::size_t axis = 0; axis < plain.size(); ++axis) {
    if (!plain[axis].valid()) continue;
    auto& bound = binding.symbols[static_cast<std::size_t>(plain[axis].value)];
    if (!bound) bound = dims[static_cast<int>(axis)];
  }
}

/// Tells the user how to run sizes that differ although the file gives them one name; "" if the
/// mismatch is another one.
std::string remedy_of_names(const Value& value, const Dims& expected, const Dims& given) {
  for (int axis = 0; axis < given.rank(); ++axis)
    if (expected[axis] != given[axis] && value.shape[static_cast<std::size_t>(axis)].constant())
      return "";
  return fmt::format(
      ": the file gives sizes one name, which may differ if LoadOptions::inputs (--shape {}={}) "
      "has them",
      value.name, given.to_string());
}

/// Binds the symbols of dimensions a * symbol + b that no other dimension has bound.
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

std::optional<Dims> known_dims(const Value& value, const Binding& binding) {
  Dims dims;
  for (const Expr& expr : value.shape) {
    const auto dim = expr.evaluate(binding.symbols);
    if (!dim || *dim < 0 || dims.rank() >= Dims::kMaxRank) return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

Result<std::vector<std::optional<Dims>>> bound_output_dims(const Graph& graph,
                                                           const Binding& binding) {
  const auto has_value = [&](SymbolId symbol) {
    return binding.symbols[static_cast<std::size_t>(symbol.value)].has_value();
  };
  std::vector<std::optional<Dims>> result;
  for (const ValueId id : graph.outputs) {
    const Value& value = graph.values[id];
    auto& dims = result.emplace_back();
    if (value.container != nullptr) continue;
    dims = known_dims(value, binding);
    if (dims) continue;
    const bool all = std::ranges::all_of(value.shape, [&](const Expr& expr) {
      return std::ranges::all_of(expr.symbols(), has_value);
    });
    if (!all) continue;
    return refuse(ErrorCode::kInvalidInput, fmt::format("output '{}' ({}) gets no valid size",
                                                        value.name, shape_text(graph, value)));
  }
  return result;
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
  PX_RETURN_IF_ERROR(match_names(graph_, inputs, bound.inputs));
  auto& symbols = bound.binding.symbols;
  symbols.assign(graph_.symbols.size(), std::nullopt);
  bound.bytes.clear();
  const auto dims_of = [&](std::size_t i) -> const Dims& {
    const Value& value = graph_.values[graph_.inputs[i]];
    static const Dims kNone;
    if (value.container != nullptr) return kNone;
    return is_object(value) ? bound.inputs[i]->object.dims() : bound.inputs[i]->tensor.dims;
  };
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const NamedInput& input = *bound.inputs[i];
    const Value& value = graph_.values[graph_.inputs[i]];
    if (is_object(value)) {
      PX_RETURN_IF_ERROR(check_object(graph_, value, input.object));
      bound.bytes.push_back(reinterpret_cast<const std::byte*>(&input.object));
    } else {
      PX_RETURN_IF_ERROR(check_tensor(graph_, value, input.tensor));
      bound.bytes.push_back(input.tensor.bytes.data());
    }
    bind_plain_symbols(plain_[i], dims_of(i), bound.binding);
  }
  if (std::find(symbols.begin(), symbols.end(), std::nullopt) != symbols.end()) {
    for (std::size_t i = 0; i < plain_.size(); ++i)
      bind_linear_symbols(graph_.values[graph_.inputs[i]], dims_of(i), bound.binding);
  }
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const Dims& given = dims_of(i);
    PX_ASSIGN(const Dims expected, bound_dims(graph_, graph_.inputs[i], bound.binding));
    if (expected == given) continue;
    const Value& value = graph_.values[graph_.inputs[i]];
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("input '{}' must have shape {} (here {}), not {}{}", value.name,
                              shape_text(graph_, value), expected.to_string(), given.to_string(),
                              remedy_of_names(value, expected, given)));
  }
  return {};
}

Result<Dims> InputBinder::told_dims(std::span<const NamedInput> inputs, std::size_t input) const {
  Binding binding;
  binding.symbols.resize(graph_.symbols.size());
  const auto for_each = [&](const auto& bind_symbols) {
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      const Value& value = graph_.values[graph_.inputs[i]];
      const auto given = std::ranges::find(inputs, value.name, &NamedInput::name);
      if (given == inputs.end() || value.container != nullptr) continue;
      const Dims& dims = is_object(value) ? given->object.dims() : given->tensor.dims;
      if (static_cast<std::size_t>(dims.rank()) == plain_[i].size()) bind_symbols(i, value, dims);
    }
  };
  for_each([&](std::size_t i, const Value&, const Dims& dims) {
    bind_plain_symbols(plain_[i], dims, binding);
  });
  for_each([&](std::size_t, const Value& value, const Dims& dims) {
    bind_linear_symbols(value, dims, binding);
  });
  return bound_dims(graph_, graph_.inputs[input], binding);
}

namespace {

/// Refuses a binding that leaves dimensions of the inputs without a value; the message names all.
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

Result<Binding> bind_dims(const Graph& graph, std::span<const DimValue> dims) {
  Binding binding;
  binding.symbols.resize(graph.symbols.size());
  for (const DimValue& dim : dims) {
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
