// Turns what the user gives, inputs by name or sizes by name, into a Binding of the graph's
// symbols. Internal to session/.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "parallax/session.h"

namespace parallax {

struct BoundInputs {
  Binding binding;
  std::vector<const std::byte*> bytes;    ///< in the order of the graph's inputs; of an Object
  std::vector<const NamedInput*> inputs;  ///< the same
};

/// Binds the inputs of one graph, which must outlive it. Thread-safe.
class InputBinder {
 public:
  explicit InputBinder(const Graph& graph);

  /// Checks names, dtypes, ranks and dimensions, and solves the symbols. Allocates nothing if
  /// `bound` has been used before and every symbol is a whole dimension somewhere. Errors:
  /// kInvalidInput, with what was expected and what was given; kUnboundSymbol.
  Status bind(std::span<const NamedInput> inputs, BoundInputs& bound) const;

  /// The dims of an input that `inputs` do not give but tell; `input` is its position. What is
  /// wrong with them bind() says. Errors: kUnboundSymbol, kInvalidInput.
  Result<Dims> told_dims(std::span<const NamedInput> inputs, std::size_t input) const;

 private:
  const Graph& graph_;
  /// By input and axis: the symbol that is the whole dimension, invalid if it is an expression.
  std::vector<std::vector<SymbolId>> plain_;
};

/// Errors: kInvalidInput (unknown, repeated or negative), kUnboundSymbol (missing).
Result<Binding> bind_dims(const Graph& graph, std::span<const Session::DimValue> dims);

/// Concrete dims of `id`. Errors: kUnboundSymbol, kInvalidInput.
Result<Dims> bound_dims(const Graph& graph, ValueId id, const Binding& binding);

/// Whether the tensor can be the input `value`, whatever the symbols are: its type, rank and
/// memory. Errors: kInvalidInput.
Status check_tensor(const Graph& graph, const Value& value, const TensorView& tensor);
/// Whether dims are those that `value` has whatever the symbols are. Errors: kInvalidInput.
Status check_fixed_dims(const Graph& graph, const Value& value, const Dims& dims);

}  // namespace parallax
