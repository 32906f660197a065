// Converts the user's inputs or sizes, both by name, to a Binding of the graph's symbols. Internal
// to session/.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "parallax/session.h"

namespace parallax {

/// The inputs of one run, in the order of the graph's inputs. Valid while the user's inputs are.
struct BoundInputs {
  Binding binding;                        ///< the value of every symbol of the inputs
  std::vector<const std::byte*> bytes;    ///< elements of a tensor; for other types the Object
  std::vector<const NamedInput*> inputs;  ///< the user's inputs
};

/// Binds the inputs of one graph, which must outlive it. Thread-safe.
class InputBinder {
 public:
  explicit InputBinder(const Graph& graph);

  /// Checks names, dtypes, ranks and dimensions, and solves the symbols. Allocates nothing if
  /// `bound` has been used before and every symbol is a whole dimension somewhere. Errors:
  /// kInvalidInput, with what was expected and what was given; kUnboundSymbol.
  Status bind(std::span<const NamedInput> inputs, BoundInputs& bound) const;

  /// Infers the dims of an input that is not among `inputs` from the symbols that these bind;
  /// `input` is its position in the graph's list. Does not check `inputs`: bind() does. Errors:
  /// kUnboundSymbol if a symbol stays open, kInvalidInput for a size that is negative.
  Result<Dims> told_dims(std::span<const NamedInput> inputs, std::size_t input) const;

 private:
  const Graph& graph_;
  /// The symbol that is the whole dimension, by input and axis; invalid if the dimension is a
  /// number or another expression.
  std::vector<std::vector<SymbolId>> plain_;
};

/// Binds the symbols of the inputs to the values in `dims`. Errors: kInvalidInput for a name that
/// is unknown or repeated and for a negative value; kUnboundSymbol, which lists all dimensions
/// without a value.
Result<Binding> bind_dims(const Graph& graph, std::span<const DimValue> dims);

/// Returns the concrete dims of the graph input `id`. Errors: kUnboundSymbol, kInvalidInput.
Result<Dims> bound_dims(const Graph& graph, ValueId id, const Binding& binding);

/// Returns the dims of a value under a binding; nullopt if a symbol in them has no value, or if
/// they are negative, too large or too many.
std::optional<Dims> known_dims(const Value& value, const Binding& binding);

/// Returns the dims of each output of the graph under a binding; nullopt where a symbol has no
/// value, and for sequences, optionals and maps. Errors: kInvalidInput if dims whose symbols all
/// have values are negative, too large or too many.
Result<std::vector<std::optional<Dims>>> bound_output_dims(const Graph& graph,
                                                           const Binding& binding);

/// Checks the dtype, rank, size and alignment of a tensor for the input `value`; not its dimensions
/// against symbols. Errors: kInvalidInput.
Status check_tensor(const Graph& graph, const Value& value, const TensorView& tensor);
/// Checks the rank and the fixed dimensions of the input `value`. Errors: kInvalidInput.
Status check_fixed_dims(const Graph& graph, const Value& value, const Dims& dims);

}  // namespace parallax
