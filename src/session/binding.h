// From what the user gives, inputs by name or sizes by name, to a Binding of the graph's symbols.
// Pure functions. Internal to session/.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "parallax/session.h"

namespace parallax {

struct BoundInputs {
  Binding binding;
  std::vector<const std::byte*> bytes;  ///< in the order of the graph's inputs
};

/// Checks names, dtypes, ranks and dimensions, and solves the symbols. Errors: kInvalidInput, with
/// what was expected and what was given; kUnboundSymbol.
Result<BoundInputs> bind_inputs(const Graph& graph, std::span<const NamedInput> inputs);

/// Errors: kInvalidInput (unknown, repeated or negative), kUnboundSymbol (missing).
Result<Binding> bind_dims(const Graph& graph, std::span<const Session::DimValue> dims);

/// Concrete dims of `id`. Errors: kUnboundSymbol, kInvalidInput.
Result<Dims> bound_dims(const Graph& graph, ValueId id, const Binding& binding);

}  // namespace parallax
