// Runs that use a State: its values are inputs, its memory receives outputs.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "base/user_call.h"
#include "session/session_impl.h"
#include "session/state_impl.h"

namespace parallax {

Status StateRun::add_values(std::span<const NamedInput> given, const InputBinder& binder,
                            std::vector<NamedInput>& all) {
  all.assign(given.begin(), given.end());
  std::ranges::fill(state_.wanted, nullptr);
  const auto missing = [&](std::size_t tie) {
    return std::ranges::find(all, state_.input(tie).name, &NamedInput::name) == all.end();
  };
  // Known values determine the sizes of those that are missing.
  {
    const MutexLock lock(state_.mutex);
    for (std::size_t i = 0; i < state_.ties.size(); ++i) {
      if (state_.values[i].known && missing(i))
        all.push_back({state_.input(i).name, state_.values[i].tensor.view()});
    }
  }
  for (std::size_t i = 0; i < state_.ties.size(); ++i) {
    if (!missing(i)) continue;
    PX_ASSIGN(const Dims dims, binder.told_dims(all, state_.ties[i].input));
    PX_ASSIGN(const TensorView view, first_value(i, dims));
    all.push_back({state_.input(i).name, view});
  }
  return {};
}

/// Makes the first value of a tied input. Other threads only read values, under the mutex: this run
/// holds the turn.
Result<TensorView> StateRun::first_value(std::size_t tie, const Dims& dims) {
  CountedTensor tensor;
  {
    const MutexLock lock(state_.mutex);
    tensor.swap(state_.values[tie].tensor);
  }
  if (tensor.has(dims)) {
    std::ranges::fill(tensor.mutable_view().bytes, std::byte{0});
  } else {
    tensor = {};
    PX_ASSIGN(tensor, state_.allocate(state_.input(tie).dtype, dims));
  }
  if (const Constant* const given = state_.first_value(tie); given != nullptr)
    std::ranges::copy(given->bytes, tensor.mutable_view().bytes.begin());
  const TensorView view = tensor.view();
  const MutexLock lock(state_.mutex);
  tensor.swap(state_.values[tie].tensor);
  return view;
}

Status StateRun::make_next(std::size_t tie, const Dims& dims) {
  CountedTensor& next = state_.next[tie];
  if (next.has(dims)) return {};
  next = {};
  PX_ASSIGN(next, state_.allocate(state_.output(tie).dtype, dims));
  return {};
}

Status StateRun::reserve(const Binding& binding) {
  for (std::size_t i = 0; i < state_.ties.size(); ++i)
    if (const auto dims = known_dims(state_.output(i), binding))
      PX_RETURN_IF_ERROR(make_next(i, *dims));
  return {};
}

Result<std::byte*> StateRun::place(int output, DType dtype, const Dims& dims,
                                   const PlaceOutput& users) {
  const auto tie = state_.tie_of_output(static_cast<std::size_t>(output));
  if (!tie) return users(output, dtype, dims);
  if (!check_fixed_dims(state_.graph(), state_.input(*tie), dims)) {
    return refuse(ErrorCode::kInvalidInput,
                  fmt::format("output '{}' is {}, which tied input '{}' ({}) cannot be",
                              state_.output(*tie).name, dims.to_string(), state_.input(*tie).name,
                              to_string(state_.input(*tie).shape, state_.graph().symbol_names())));
  }
  PX_ASSIGN(state_.wanted[*tie], users(output, dtype, dims));
  PX_RETURN_IF_ERROR(make_next(*tie, dims));
  return state_.next[*tie].mutable_view().bytes.data();
}

void StateRun::commit() {
  for (std::size_t i = 0; i < state_.ties.size(); ++i) {
    const TensorView made = state_.next[i].view();
    if (state_.wanted[i] != nullptr && !made.bytes.empty())
      std::memcpy(state_.wanted[i], made.bytes.data(), made.bytes.size());
  }
  const MutexLock lock(state_.mutex);
  for (std::size_t i = 0; i < state_.ties.size(); ++i) {
    state_.values[i].tensor.swap(state_.next[i]);
    state_.values[i].known = true;
  }
}

Status Session::Impl::run_on(State::Impl& state, std::span<const NamedInput> inputs,
                             const Request& request) {
  if (&impl_of(state.model) != &impl_of(model))
    return refuse(ErrorCode::kInvalidInput, "the State belongs to another model");
  if (!state.turn.lock_within(request.deadline)) return tl::unexpected(ended(request.deadline));
  const MutexLock turn(state.turn, std::adopt_lock);
  StateRun on(state);
  // Reused by later runs, as in run().
  thread_local std::vector<NamedInput> all;
  PX_RETURN_IF_ERROR(on.add_values(inputs, binder, all));
  const PlaceOutput place = [&](int output, DType dtype, const Dims& dims) {
    return on.place(output, dtype, dims, request.place);
  };
  Status status = run(all, {place, request.trace, request.deadline, nullptr, &on});
  all.clear();  // do not keep the caller's objects alive
  if (status) on.commit();
  return status;
}

}  // namespace parallax
