// State of a model between runs: inputs whose values are the outputs of the run before. Examples
// are the caches of streaming models, the keys and values of generated text, the state of an LSTM.
// A TFLite file says itself which state it keeps (Model::ties()): runs of a session that are given
// no State then use one of the session's own, so that they wait for each other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parallax/result.h"
#include "parallax/session.h"
#include "parallax/tensor.h"

namespace parallax {

/// The values of tied inputs; use one State for each stream. A run that is given a State
/// (RunOptions::state) reads its values and, if it succeeds, replaces them by its tied outputs. The
/// run need not be given tied inputs (one that is given is read instead of its value), and returns
/// tied outputs only under RunOptions::tied_outputs; Session::run_into() with views writes those
/// whose view has memory. A run that fails or is cancelled leaves the State unchanged.
///
/// An input without a value begins with the model's initial value. If the model has none, it begins
/// with zeros in the sizes that the run's other inputs give. If these do not give all of its sizes
/// (keys and values that grow), set a value first; it may be empty.
///
/// Each value has two buffers, because a run writes one while it reads the other; no value is
/// copied from run to run. They count in the memory account of the session that the State was
/// created for, and a budget in bytes limits them.
///
/// Thread-safe: runs on one State, set() and reset() wait for each other, in no particular order. A
/// run ends its wait when it is stopped or its time limit is over; set() and reset() wait without a
/// limit. get() and copy() return what the last of them left, without waiting for a run. A State
/// may outlive its session, and must outlive the runs that use it. One that was moved from may only
/// be destroyed or assigned to. In a child of fork(): as Session (session.h).
class State {
 public:
  /// Creates a State without values, for the model's own ties (Model::ties()) and for `ties`; runs
  /// and set() allocate their memory. Runs of other sessions of the same Model may use it as well.
  /// Errors: kInvalidInput if there is nothing to tie, for names that the model does not have, an
  /// input or output that is tied twice, and pairs whose types, ranks or fixed dimensions differ;
  /// kUnsupported for sequences, optionals, maps and strings; kOutOfMemory.
  static Result<State> create(const Session& session, std::span<const Tie> ties = {});
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  ~State();

  /// Returns another State with copies of the values, for the same account. Errors: kOutOfMemory,
  /// kBudgetExceeded.
  Result<State> copy() const;

  /// Copies `value` as the value of a tied input in the next run; waits for a run on this State.
  /// Errors: kInvalidInput for an input that is not tied, for a dtype, rank or fixed dimension that
  /// is not the input's, and for memory that is null, not dense or not aligned; kOutOfMemory,
  /// kBudgetExceeded.
  Status set(std::string_view input, const TensorView& value);
  /// Returns a copy of the value that the next run reads. Errors: kInvalidInput for an input that
  /// is not tied, and if no run or set() has given it a value since the State was created or reset,
  /// even if the model has an initial value; kOutOfMemory.
  Result<Tensor> get(std::string_view input) const;
  /// Removes the values of all tied inputs, so that the next run begins as the first did. Their
  /// memory stays for the values to come. Waits for a run on this State.
  void reset();

  struct Impl;

 private:
  friend struct Access;
  explicit State(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parallax
