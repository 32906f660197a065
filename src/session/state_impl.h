// What a State holds, and a run on one. Internal to session/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
  /// Zeros. Errors: kBudgetExceeded, kOutOfMemory.
  static Result<CountedTensor> allocate(const std::shared_ptr<MemoryAccount>& account,
                                        std::optional<std::int64_t> limit, DType dtype,
                                        const Dims& dims);

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

/// Thread-safe but for `next` and `wanted`, which belong to who has the turn.
struct State::Impl {
  /// Positions in the lists of the graph.
  struct Tied {
    std::size_t input = 0, output = 0;
  };
  struct Slot {
    CountedTensor tensor;
    bool known = false;  ///< otherwise the next run begins with zeros
  };

  Impl(const Model& model_in, std::vector<Tied> ties_in, std::shared_ptr<MemoryAccount> account_in,
       std::optional<std::int64_t> limit_in);

  const Graph& graph() const { return model.impl().graph(); }
  const Value& input(std::size_t tie) const {
    return graph().values[graph().inputs[ties[tie].input]];
  }
  const Value& output(std::size_t tie) const {
    return graph().values[graph().outputs[ties[tie].output]];
  }
  /// The tie that has the output; nothing where it has none.
  std::optional<std::size_t> tie_of_output(std::size_t output) const;
  /// The tie of an input. Errors: kInvalidInput.
  Result<std::size_t> tie_of_input(std::string_view input) const;
  Result<CountedTensor> allocate(DType dtype, const Dims& dims) const {
    return CountedTensor::allocate(account, limit, dtype, dims);
  }
  /// Returns a consistent copy of all values. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::vector<Slot>> copy_values() const;

  const Model model;
  const std::vector<Tied> ties;
  const std::shared_ptr<MemoryAccount> account;
  const std::optional<std::int64_t> limit;  ///< of the account
  /// Held by a run and by other calls that change values.
  TimedMutex turn PX_ACQUIRED_BEFORE(mutex){LockOrder::kState};
  mutable Mutex mutex;
  std::vector<Slot> values PX_GUARDED_BY(mutex);
  std::vector<CountedTensor> next;  ///< where a run writes
  std::vector<std::byte*> wanted;   ///< the caller's memory for the output of a tie, or null
};

/// A run on a State, by who has its turn.
class StateRun {
 public:
  explicit StateRun(State::Impl& state) : state_(state) {}

  /// `given`, and behind them the values of tied inputs that are not given, into `all`. Errors:
  /// kUnboundSymbol where a value begins with sizes that nothing tells.
  Status add_values(std::span<const NamedInput> given, const InputBinder& binder,
                    std::vector<NamedInput>& all);
  /// Allocates what the run writes, as far as its sizes are known: before it gets other memory.
  Status reserve(const Binding& binding);
  /// The memory of an output. `users` gives that of the caller; null for a tied output that it does
  /// not want.
  Result<std::byte*> place(int output, DType dtype, const Dims& dims, const PlaceOutput& users);
  /// Copies what the caller wants, and makes what the run wrote the values.
  void commit();

 private:
  Result<TensorView> zeros(std::size_t tie, const Dims& dims);
  Status make_next(std::size_t tie, const Dims& dims);

  State::Impl& state_;
};

}  // namespace parallax
