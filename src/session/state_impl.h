// The contents of a State, and a run that uses one. Internal to session/.
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

/// A tensor whose bytes count in an account for as long as it lives.
class CountedTensor {
 public:
  CountedTensor() = default;
  CountedTensor(CountedTensor&& other) noexcept { swap(other); }
  CountedTensor& operator=(CountedTensor&& other) noexcept {
    CountedTensor(std::move(other)).swap(*this);
    return *this;
  }
  ~CountedTensor();
  /// Allocates zeros. `limit`: that of the account in bytes; nullopt: no limit. Errors:
  /// kBudgetExceeded, kOutOfMemory.
  static Result<CountedTensor> allocate(const std::shared_ptr<MemoryAccount>& account,
                                        std::optional<std::int64_t> limit, DType dtype,
                                        const Dims& dims);

  /// Whether there is a tensor of these dims.
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

  Impl(const Model& model_in, std::vector<Tied> ties_in, std::shared_ptr<MemoryAccount> account_in,
       std::optional<std::int64_t> limit_in);

  /// Makes the contents of a State for the account of `session`.
  static std::unique_ptr<Impl> make(const Session::Impl& session, std::vector<Tied> ties);
  /// Makes the State of a session's own, for runs without one; null if the model keeps no state.
  static std::unique_ptr<Impl> make_own(const Session::Impl& session);

  const Graph& graph() const { return impl_of(model).graph(); }
  /// Returns the value of a tied input before the first run; null: zeros.
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
  Result<CountedTensor> allocate(DType dtype, const Dims& dims) const {
    return CountedTensor::allocate(account, limit, dtype, dims);
  }
  /// Returns a consistent copy of all values. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::vector<Slot>> copy_values() const;

  const Model model;
  const std::vector<Tied> ties;
  const std::shared_ptr<MemoryAccount> account;
  const std::optional<std::int64_t> limit;  ///< the account's, in bytes; nullopt: no limit
  /// Held by a run, and by every other call that changes values.
  TimedMutex turn PX_ACQUIRED_BEFORE(mutex){LockOrder::kState};
  mutable Mutex mutex;
  std::vector<Slot> values PX_GUARDED_BY(mutex);
  std::vector<CountedTensor> next;  ///< the buffers that a run writes, by tie
  std::vector<std::byte*> wanted;   ///< the caller's memory for the output of a tie, or null
};

/// A run that uses a State. The caller holds `state.turn` while this lives.
class StateRun {
 public:
  explicit StateRun(State::Impl& state) : state_(state) {}

  /// Writes `given` to `all`, followed by the values of the tied inputs that are not given. Errors:
  /// kUnboundSymbol if the sizes of a first value do not follow from the other inputs.
  Status add_values(std::span<const NamedInput> given, const InputBinder& binder,
                    std::vector<NamedInput>& all);
  /// Allocates the buffers for tied outputs whose sizes are known, before the run gets other
  /// memory. Errors: kBudgetExceeded, kOutOfMemory.
  Status reserve(const Binding& binding);
  /// Returns the memory for an output. `users` returns the caller's; null for a tied output that
  /// the caller does not want. Errors: those of `users`; kInvalidInput if the tied input cannot
  /// have these dims; kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> place(int output, DType dtype, const Dims& dims, const PlaceOutput& users);
  /// Copies the tied outputs that the caller requested, and makes all of them the new values.
  void commit();

 private:
  Result<TensorView> first_value(std::size_t tie, const Dims& dims);
  Status make_next(std::size_t tie, const Dims& dims);

  State::Impl& state_;
};

}  // namespace parallax
