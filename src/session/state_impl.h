// The contents of a State, and a run that uses one. Internal to session/.
//
// Order of locks: `turn`, then `mutex`. A run holds the turn from beginning to end, so runs with
// one State follow each other; the mutex is held only to copy or swap values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/access.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "parallax/model.h"
#include "parallax/state.h"
#include "run/execute.h"
#include "session/binding.h"
#include "session/memory_account.h"

namespace parallax {

/// A tensor whose bytes count in an account for as long as it lives. Not thread-safe. Holds the
/// account alive. Bytes are those of the dense tensor.
class CountedTensor {
 public:
  CountedTensor() = default;
  CountedTensor(CountedTensor&& other) noexcept { swap(other); }
  CountedTensor& operator=(CountedTensor&& other) noexcept {
    CountedTensor(std::move(other)).swap(*this);
    return *this;
  }
  /// Releases the bytes in the account, then frees the tensor.
  ~CountedTensor();
  /// Allocates zeros. `limit`: that of the account in bytes; nullopt: no limit. Errors:
  /// kBudgetExceeded, kOutOfMemory. The bytes are reserved by RunMemory::fix(), which does not wait
  /// for other runs.
  static Result<CountedTensor> allocate(const std::shared_ptr<MemoryAccount>& account,
                                        std::optional<std::int64_t> limit, DType dtype,
                                        const Dims& dims);

  /// Whether there is a tensor of these dims. The dtype is not compared: a tie has one.
  bool has(const Dims& dims) const { return account_ != nullptr && tensor_.dims() == dims; }
  TensorView view() const { return tensor_.view(); }
  MutableTensorView mutable_view() { return tensor_.mutable_view(); }
  void swap(CountedTensor& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(tensor_, other.tensor_);
  }

 private:
  std::shared_ptr<MemoryAccount> account_;  ///< null: there is no tensor
  Tensor tensor_;
};

/// Thread-safe except for `next` and `wanted`, which belong to the holder of `turn`.
struct State::Impl {
  /// A tie, by positions in the graph's lists of inputs and outputs.
  struct Tied {
    std::size_t input = 0, output = 0;
  };
  /// The value of a tied input.
  struct Slot {
    CountedTensor tensor;  ///< may keep memory while there is no value
    bool known = false;    ///< whether there is a value; if not, the next run makes the first one
  };

  /// Holds the model and the account alive, so a State may outlive its session. All values are
  /// unknown at first.
  Impl(const Model& model_in, std::vector<Tied> ties_in, std::shared_ptr<MemoryAccount> account_in,
       std::optional<std::int64_t> limit_in);

  /// Makes the contents of a State for the account of `session`. `limit` is that of
  /// MemoryBudget::bytes(); under kAuto there is no limit. The result is not null.
  static std::unique_ptr<Impl> make(const Session::Impl& session, std::vector<Tied> ties);
  /// Makes the State of a session's own, for runs without one; null if the model keeps no state.
  /// Its ties are those of the model, in its order.
  static std::unique_ptr<Impl> make_own(const Session::Impl& session);

  const Graph& graph() const { return impl_of(model).graph(); }
  /// Returns the value of a tied input before the first run; null: zeros. Only a model's own ties
  /// have one; it points into the graph.
  const Constant* first_value(std::size_t tie) const;
  /// The graph input, or output, of a tie.
  const Value& input(std::size_t tie) const {
    return graph().values[graph().inputs[ties[tie].input]];
  }
  const Value& output(std::size_t tie) const {
    return graph().values[graph().outputs[ties[tie].output]];
  }
  /// Returns the tie of an output, by its position; nullopt if it is not tied.
  std::optional<std::size_t> tie_of_output(std::size_t output) const;
  /// Returns the tie of an input, by its name. Errors: kInvalidInput if it is not tied.
  Result<std::size_t> tie_of_input(std::string_view input) const;
  /// Allocates zeros that count in the State's account. Errors: as CountedTensor::allocate().
  Result<CountedTensor> allocate(DType dtype, const Dims& dims) const {
    return CountedTensor::allocate(account, limit, dtype, dims);
  }
  /// Returns a consistent copy of all values. Errors: kBudgetExceeded, kOutOfMemory. Does not wait
  /// for the turn: during a run it copies the values before that run. Allocates without the mutex,
  /// and repeats until the sizes of all values match.
  Result<std::vector<Slot>> copy_values() const;

  const Model model;
  const std::vector<Tied> ties;
  const std::shared_ptr<MemoryAccount> account;
  const std::optional<std::int64_t> limit;  ///< the account's, in bytes; nullopt: no limit
  /// Held by a run, and by every other call that changes values. A waiting run ends with
  /// kLimitExceeded or kCancelled at its deadline.
  TimedMutex turn PX_ACQUIRED_BEFORE(mutex){LockOrder::kState};
  mutable Mutex mutex;
  std::vector<Slot> values PX_GUARDED_BY(mutex);
  /// The buffers that a run writes, by tie. Swapped with the values when a run succeeds; the old
  /// values then serve the next run.
  std::vector<CountedTensor> next;
  /// The caller's memory for the output of a tie, or null. Valid during one run.
  std::vector<std::byte*> wanted;
};

/// A run that uses a State. The caller holds `state.turn` while this lives. Call order:
/// add_values(), reserve(), place() for each output, commit() if the run has succeeded. Without
/// commit() the values stay as they were. All calls come from the thread of the run. Tensors are
/// allocated without the mutex.
class StateRun {
 public:
  explicit StateRun(State::Impl& state) : state_(state) {}

  /// Writes `given` to `all`, followed by the values of the tied inputs that are not given. Errors:
  /// kUnboundSymbol if the sizes of a first value do not follow from the other inputs. Values that
  /// are given replace those of the State for this run. First values are zeros or the model's
  /// constants, and stay in the State. `all` points to memory of the State and of the caller, valid
  /// while the turn is held.
  Status add_values(std::span<const NamedInput> given, const InputBinder& binder,
                    std::vector<NamedInput>& all);
  /// Allocates the buffers for tied outputs whose sizes are known, before the run gets other
  /// memory. Errors: kBudgetExceeded, kOutOfMemory. Buffers of an earlier run are used again if
  /// their dims fit.
  Status reserve(const Binding& binding);
  /// Returns the memory for an output. `users` returns the caller's; null for a tied output that
  /// the caller does not want. Errors: those of `users`; kInvalidInput if the tied input cannot
  /// have these dims; kBudgetExceeded, kOutOfMemory. For a tied output returns memory of the State,
  /// to which kernels write; the caller's memory receives a copy in commit().
  Result<std::byte*> place(int output, DType dtype, const Dims& dims, const PlaceOutput& users);
  /// Copies the tied outputs that the caller requested, and makes all of them the new values. It
  /// does not fail, and allocates no memory. Copies before it takes the mutex.
  void commit();

 private:
  Result<TensorView> first_value(std::size_t tie, const Dims& dims);
  Status make_next(std::size_t tie, const Dims& dims);

  State::Impl& state_;
};

}  // namespace parallax
