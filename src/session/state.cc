#include "parallax/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/user_call.h"
#include "session/session_impl.h"
#include "session/state_impl.h"

namespace parallax {
namespace {

/// Refuses a pair whose output can never be the value of the input. Errors: kUnsupported for
/// objects, kInvalidInput for different types, ranks or fixed dimensions.
Status check_pair(const Graph& graph, const Value& input, const Value& output) {
  for (const Value* each : {&input, &output})
    if (is_object(*each))
      return refuse(
          ErrorCode::kUnsupported,
          fmt::format("'{}' is not a tensor of numbers; only those can be tied", each->name));
  bool alike = input.dtype == output.dtype && input.shape.size() == output.shape.size();
  for (std::size_t i = 0; alike && i < input.shape.size(); ++i) {
    const auto from = output.shape[i].constant(), to = input.shape[i].constant();
    alike = !from || !to || *from == *to;
  }
  if (alike) return {};
  const auto names = graph.symbol_names();
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("output '{}' ({} {}) cannot be tied to input '{}' ({} {})", output.name,
                            to_string(output.dtype), to_string(output.shape, names), input.name,
                            to_string(input.dtype), to_string(input.shape, names)));
}

Result<std::size_t> position(const Graph& graph, const std::vector<ValueId>& ids,
                             std::string_view what, const std::string& name) {
  const auto found =
      std::ranges::find(ids, name, [&](ValueId id) { return graph.values[id].name; });
  if (found != ids.end()) return static_cast<std::size_t>(found - ids.begin());
  std::string names;
  for (const ValueId id : ids)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.values[id].name);
  return refuse(ErrorCode::kInvalidInput, fmt::format("the model has no {} '{}' to tie; it has {}",
                                                      what, name, names.empty() ? "none" : names));
}

/// Returns the ties of the model itself.
std::vector<State::Impl::Tied> own_ties(const Graph& graph) {
  std::vector<State::Impl::Tied> own;
  const std::size_t count = graph.states.size();
  for (std::size_t i = 0; i < count; ++i)
    own.push_back({graph.inputs.size() - count + i, graph.outputs.size() - count + i});
  return own;
}

/// Returns the ties of the model itself, then `ties`.
Result<std::vector<State::Impl::Tied>> find_ties(const Graph& graph, std::span<const Tie> ties) {
  std::vector<State::Impl::Tied> found = own_ties(graph);
  if (ties.empty() && found.empty())
    return refuse(ErrorCode::kInvalidInput, "a State needs at least one tie");
  for (const Tie& tie : ties) {
    State::Impl::Tied next;
    PX_ASSIGN(next.input, position(graph, graph.inputs, "input", tie.input));
    PX_ASSIGN(next.output, position(graph, graph.outputs, "output", tie.output));
    for (const State::Impl::Tied& other : found) {
      if (next.input == other.input)
        return refuse(ErrorCode::kInvalidInput, fmt::format("input '{}' is tied twice", tie.input));
      if (next.output == other.output)
        return refuse(ErrorCode::kInvalidInput,
                      fmt::format("output '{}' is tied twice", tie.output));
    }
    PX_RETURN_IF_ERROR(check_pair(graph, graph.values[graph.inputs[next.input]],
                                  graph.values[graph.outputs[next.output]]));
    found.push_back(next);
  }
  return found;
}

void copy_bytes(const TensorView& from, const MutableTensorView& to) {
  std::ranges::copy(from.bytes, to.bytes.begin());
}

}  // namespace

CountedTensor::~CountedTensor() {
  if (account_ != nullptr)
    account_->memory.unfix(static_cast<std::int64_t>(tensor_.view().bytes.size()));
}

Result<CountedTensor> CountedTensor::allocate(const std::shared_ptr<MemoryAccount>& account,
                                              std::optional<std::int64_t> limit, DType dtype,
                                              const Dims& dims) {
  CountedTensor counted;
  PX_ASSIGN(counted.tensor_, Tensor::allocate(dtype, dims));
  const auto bytes = static_cast<std::int64_t>(counted.tensor_.view().bytes.size());
  PX_RETURN_IF_ERROR(account->memory.fix(bytes, limit));
  counted.account_ = account;
  return counted;
}

State::Impl::Impl(const Model& model_in, std::vector<Tied> ties_in,
                  std::shared_ptr<MemoryAccount> account_in, std::optional<std::int64_t> limit_in)
    : model(model_in),
      ties(std::move(ties_in)),
      account(std::move(account_in)),
      limit(limit_in),
      values(ties.size()),
      next(ties.size()),
      wanted(ties.size()) {}

std::unique_ptr<State::Impl> State::Impl::make(const Session::Impl& session,
                                               std::vector<Tied> ties) {
  const MemoryBudget& budget = session.options.budget;
  const bool limited = budget.kind == MemoryBudget::Kind::kBytes;
  return std::make_unique<Impl>(session.model, std::move(ties), session.account,
                                limited ? std::optional(budget.bytes) : std::nullopt);
}

std::unique_ptr<State::Impl> State::Impl::make_own(const Session::Impl& session) {
  if (session.graph().states.empty()) return nullptr;
  return make(session, own_ties(session.graph()));
}

const Constant* State::Impl::first_value(std::size_t tie) const {
  const auto& firsts = graph().states;
  const std::size_t own = graph().inputs.size() - firsts.size();
  if (ties[tie].input < own || !firsts[ties[tie].input - own]) return nullptr;
  return &*firsts[ties[tie].input - own];
}

/// Allocates without holding the mutex, because that may call the user's allocator; repeats until
/// all values fit.
Result<std::vector<State::Impl::Slot>> State::Impl::copy_values() const {
  struct Missing {
    std::size_t tie;
    DType dtype;
    Dims dims;
  };
  std::vector<Slot> slots(ties.size());
  while (true) {
    std::vector<Missing> missing;
    {
      const MutexLock lock(mutex);
      for (std::size_t i = 0; i < values.size(); ++i) {
        slots[i].known = values[i].known;
        if (!values[i].known) continue;
        const TensorView view = values[i].tensor.view();
        if (slots[i].tensor.has(view.dims)) {
          copy_bytes(view, slots[i].tensor.mutable_view());
        } else {
          missing.push_back({i, view.dtype, view.dims});
        }
      }
    }
    if (missing.empty()) return slots;
    for (const Missing& each : missing) {
      slots[each.tie].tensor = {};
      PX_ASSIGN(slots[each.tie].tensor, allocate(each.dtype, each.dims));
    }
  }
}

std::optional<std::size_t> State::Impl::tie_of_output(std::size_t output) const {
  const auto found = std::ranges::find(ties, output, &Tied::output);
  if (found == ties.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ties.begin());
}

Result<std::size_t> State::Impl::tie_of_input(std::string_view name) const {
  for (std::size_t i = 0; i < ties.size(); ++i)
    if (input(i).name == name) return i;
  return refuse(ErrorCode::kInvalidInput, fmt::format("no input '{}' is tied", name));
}

State::State(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
State::State(State&&) noexcept = default;
State& State::operator=(State&& other) noexcept {
  State taken(std::move(other));
  std::swap(impl_, taken.impl_);
  return *this;
}
State::~State() {
  const Call call;
  if (forked_during_call()) (void)impl_.release();
  impl_.reset();  // within the call
}

Result<State> State::create(const Session& session, std::span<const Tie> ties) {
  return without_exceptions([&]() -> Result<State> {
    const Session::Impl& of = impl_of(session);
    PX_ASSIGN(auto found, find_ties(of.graph(), ties));
    return State(Impl::make(of, std::move(found)));
  });
}

Result<State> State::copy() const {
  return without_exceptions([&]() -> Result<State> {
    auto copy = std::make_unique<Impl>(impl_->model, impl_->ties, impl_->account, impl_->limit);
    PX_ASSIGN(auto values, impl_->copy_values());
    {
      const MutexLock lock(copy->mutex);
      copy->values = std::move(values);
    }
    return State(std::move(copy));
  });
}

Status State::set(std::string_view input, const TensorView& value) {
  return without_exceptions([&]() -> Status {
    PX_ASSIGN(const std::size_t tie, impl_->tie_of_input(input));
    PX_RETURN_IF_ERROR(check_tensor(impl_->graph(), impl_->input(tie), value));
    PX_RETURN_IF_ERROR(check_fixed_dims(impl_->graph(), impl_->input(tie), value.dims));
    if (!impl_->turn.lock_within({})) return tl::unexpected(ended({}));
    const MutexLock turn(impl_->turn, std::adopt_lock);
    bool fits = false;
    {
      const MutexLock lock(impl_->mutex);
      fits = impl_->values[tie].tensor.has(value.dims);
    }
    CountedTensor fresh;
    if (!fits) {
      PX_ASSIGN(fresh, impl_->allocate(value.dtype, value.dims));
    }
    const MutexLock lock(impl_->mutex);
    Impl::Slot& slot = impl_->values[tie];
    if (!fits) slot.tensor.swap(fresh);
    copy_bytes(value, slot.tensor.mutable_view());
    slot.known = true;
    return {};
  });
}

Result<Tensor> State::get(std::string_view input) const {
  return without_exceptions([&]() -> Result<Tensor> {
    PX_ASSIGN(const std::size_t tie, impl_->tie_of_input(input));
    const MutexLock lock(impl_->mutex);
    const Impl::Slot& slot = impl_->values[tie];
    if (!slot.known)
      return refuse(ErrorCode::kInvalidInput,
                    fmt::format("tied input '{}' has no value before the first run", input));
    const TensorView view = slot.tensor.view();
    PX_ASSIGN(Tensor copy, Tensor::allocate(view.dtype, view.dims));
    copy_bytes(view, copy.mutable_view());
    return copy;
  });
}

void State::reset() {
  unless_forked_during_call([&] {
    if (!impl_->turn.lock_within({})) return 0;
    const MutexLock turn(impl_->turn, std::adopt_lock);
    const MutexLock lock(impl_->mutex);
    for (Impl::Slot& slot : impl_->values) slot.known = false;
    return 0;
  });
}

}  // namespace parallax
