// What a model keeps from run to run: inputs that a run reads as the run before left outputs. The
// caches of streaming models, the keys and values of generated text, the state of an LSTM.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parallax/result.h"
#include "parallax/session.h"
#include "parallax/tensor.h"

namespace parallax {

/// An input and the output that is its value in the next run.
struct Tie {
  std::string input;
  std::string output;
};

/// The values of tied inputs: one State for each stream. A run that is given one
/// (RunOptions::state) reads them and leaves its tied outputs there, once it has succeeded. A run
/// that fails or is cancelled leaves the State as it was.
///
/// Values are kept twice, because a run writes beside what it reads; nothing is copied. They count
/// in the memory budget, or account, of the session that it was made for.
///
/// Thread-safe: runs on one State, set() and reset() wait for each other, in any order; get() and
/// copy() give what the last of them left, without waiting for a run. It may outlive its session.
class State {
 public:
  /// Of no values yet. Runs of other sessions of the same model may take it as well. Errors:
  /// kInvalidInput for no ties, names that the model does not have, an input or output that is tied
  /// twice, and pairs whose types, ranks or fixed dimensions differ; kUnsupported for sequences,
  /// optionals, maps and strings.
  static Result<State> create(const Session& session, std::span<const Tie> ties);
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  /// Another State with the same values. Errors: kOutOfMemory, kBudgetExceeded.
  Result<State> copy() const;

  /// Gives a tied input its value for the next run: a copy of `value`. Without one it begins with
  /// zeros, of the sizes that the other inputs of the run tell. An input with a size of its own, as
  /// that of keys and values which grow, needs one; it may be empty. Errors: kInvalidInput for
  /// another name, type or shape; kOutOfMemory, kBudgetExceeded.
  Status set(std::string_view input, const TensorView& value);
  /// A copy of the value that the next run reads. Errors: kInvalidInput for another name, and where
  /// there is no value before the first run; kOutOfMemory.
  Result<Tensor> get(std::string_view input) const;
  /// No tied input has a value.
  void reset();

  struct Impl;
  Impl& impl() const { return *impl_; }  ///< for the library itself

 private:
  explicit State(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parallax
