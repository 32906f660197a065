// Converts the user's inputs or sizes, both by name, to a Binding of the graph's symbols. Internal
// to session/.
//
// Session::Impl::run() binds the inputs of each run; State and Planner use the checks and
// bind_dims(). Every error has stage kSession and no node. Pure functions, except for the reuse of
// a BoundInputs; safe to call concurrently.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "parallax/session.h"

namespace parallax {

/// The inputs of one run, in the order of the graph's inputs. Valid while the user's inputs are.
/// Reuse one per thread: its vectors keep their memory. After an error of bind() its contents are
/// unspecified.
struct BoundInputs {
  Binding binding;  ///< the value of every symbol of the inputs
  /// Elements of a tensor; for other types the Object. The memory stays the caller's and is only
  /// read; the address of an Object is that of NamedInput::object.
  std::vector<const std::byte*> bytes;
  /// The user's inputs. Pointers into the span that bind() was given.
  std::vector<const NamedInput*> inputs;
};

/// Binds the inputs of one graph, which must outlive it. Thread-safe.
class InputBinder {
 public:
  /// Finds the symbols that are whole dimensions, so that bind() compares no expressions for them.
  explicit InputBinder(const Graph& graph);

  /// Checks names, dtypes, ranks and dimensions, and solves the symbols. Allocates nothing if
  /// `bound` has been used before and every symbol is a whole dimension somewhere. Errors:
  /// kInvalidInput, with what was expected and what was given; kUnboundSymbol. The order of
  /// `inputs` is free; names must be complete and unique. A symbol gets its value from the first
  /// dimension that it is alone in, else from a dimension that is linear in it and has no other
  /// symbol; every dimension is then compared with its expression. Tensors must be dense and
  /// aligned to their element type, and sequences, optionals and maps must be Objects of the
  /// declared type.
  Status bind(std::span<const NamedInput> inputs, BoundInputs& bound) const;

  /// Infers the dims of an input that is not among `inputs` from the symbols that these bind;
  /// `input` is its position in the graph's list. Does not check `inputs`: bind() does. Errors:
  /// kUnboundSymbol if a symbol stays open, kInvalidInput for a size that is negative. Inputs of
  /// another rank than the graph has, and those that are no tensors, bind no symbols. StateRun
  /// calls this for tied inputs that have no value yet.
  Result<Dims> told_dims(std::span<const NamedInput> inputs, std::size_t input) const;

 private:
  const Graph& graph_;
  /// The symbol that is the whole dimension, by input and axis; invalid if the dimension is a
  /// number or another expression.
  std::vector<std::vector<SymbolId>> plain_;
};

/// Binds the symbols of the inputs to the values in `dims`. Errors: kInvalidInput for a name that
/// is unknown or repeated and for a negative value; kUnboundSymbol, which lists all dimensions
/// without a value. Only free symbols of inputs may be named. The result has an entry for every
/// symbol of the graph; those that only a run determines stay open. Dims may be in any order.
Result<Binding> bind_dims(const Graph& graph, std::span<const DimValue> dims);

/// Returns the concrete dims of the graph input `id`. Errors: kUnboundSymbol, kInvalidInput.
/// kUnboundSymbol names the first open symbol and the input; kInvalidInput stands for a negative
/// dimension, an overflow, or more than Dims::kMaxRank dimensions. REQUIRES: the binding has an
/// entry for every symbol of the graph.
Result<Dims> bound_dims(const Graph& graph, ValueId id, const Binding& binding);

/// Returns the dims of a value under a binding; nullopt if a symbol in them has no value, or if
/// they are negative, too large or too many. Does not check that the bytes fit 63 bits.
std::optional<Dims> known_dims(const Value& value, const Binding& binding);

/// Returns the dims of each output of the graph under a binding; nullopt where a symbol has no
/// value, and for sequences, optionals and maps. Errors: kInvalidInput if dims whose symbols all
/// have values are negative, too large or too many. Session::output_dims() checks the inputs first.
/// One entry per output, in the graph's order.
Result<std::vector<std::optional<Dims>>> bound_output_dims(const Graph& graph,
                                                           const Binding& binding);

/// Checks the dtype, rank, size and alignment of a tensor for the input `value`; not its dimensions
/// against symbols. Errors: kInvalidInput. The message has the expected and the given type. The
/// bytes must be exactly those of a dense tensor; memory may be null only for 0 bytes. `value` is a
/// tensor of numbers.
Status check_tensor(const Graph& graph, const Value& value, const TensorView& tensor);
/// Checks the rank and the fixed dimensions of the input `value`. Errors: kInvalidInput. Dimensions
/// that name a symbol accept any size. State uses it for values that it keeps before it knows the
/// sizes of a run.
Status check_fixed_dims(const Graph& graph, const Value& value, const Dims& dims);

}  // namespace parallax
