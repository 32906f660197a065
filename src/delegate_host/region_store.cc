#include "delegate_host/region_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "delegate_host/answers.h"

namespace parallax {
namespace {

Result<std::shared_ptr<CompiledRegion>> compile_region(
    const std::shared_ptr<const OpenDelegate>& delegate,
    const std::shared_ptr<DeviceLedger>& ledger, std::shared_ptr<const CRegion> region) {
  const std::shared_ptr<CompiledRegion> compiled(
      new CompiledRegion(delegate, std::move(region)),
      [](const CompiledRegion* old) { destroy_outside_answers([old] { delete old; }); });
  px_compiled given{};
  given.size = sizeof given;
  PX_RETURN_IF_ERROR(call_delegate([&](px_status* status) {
    return delegate->functions().compile(delegate->device, &compiled->region->get(), &given,
                                         status);
  }));
  if (given.region == nullptr)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kInternal, {}, "the delegate compiled a region to null"});
  compiled->handle = given.region;
  // In host memory they are weights, which no budget counts.
  if (delegate->memory == PX_MEMORY_DEVICE) {
    PX_ASSIGN(compiled->charge,
              DeviceCharge::make(ledger, given.memory_bytes, 0, "constants of a region",
                                 DeviceBytes::kConstants));
  }
  return compiled;
}

}  // namespace

CompiledRegion::~CompiledRegion() {
  if (handle != nullptr && delegate->is_here())
    delegate->functions().discard(delegate->device, handle);
}

std::optional<Error> RegionState::problem() const {
  if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
  const MutexLock lock(errors_mutex_);
  const auto& of_region = errors_[static_cast<std::size_t>(Refusal::kRegion)];
  return of_region ? of_region : errors_[static_cast<std::size_t>(Refusal::kDevice)];
}

void RegionState::refuse(Refusal kind, Error error) {
  const MutexLock lock(errors_mutex_);
  std::optional<Error>& first = errors_[static_cast<std::size_t>(kind)];
  if (!first) first = std::move(error);
  if (kind == Refusal::kRegion || kind == Refusal::kDevice)
    failed_.store(true, std::memory_order_release);
}

bool RegionState::mark_reported(Refusal kind) noexcept {
  const unsigned bit = 1U << static_cast<unsigned>(kind);
  return (told_.fetch_or(bit) & bit) == 0;
}

std::vector<RegionRefusal> RegionState::refusals() const {
  std::vector<RegionRefusal> list;
  const MutexLock lock(errors_mutex_);
  for (const Refusal kind :
       {Refusal::kSizes, Refusal::kMoment, Refusal::kRegion, Refusal::kDevice}) {
    const auto& error = errors_[static_cast<std::size_t>(kind)];
    // A device that is lost says no more of a region that failed.
    const bool known =
        kind == Refusal::kDevice && errors_[static_cast<std::size_t>(Refusal::kRegion)];
    if (error && !known)
      list.push_back({name, std::string(scope_of(kind)) + error->to_string(), kind});
  }
  return list;
}

void RegionState::forget() {
  const MutexLock lock(errors_mutex_);
  errors_ = {};
  told_ = 0;
  failed_.store(false, std::memory_order_release);
}

RegionStore::Entry RegionStore::get(const std::shared_ptr<const OpenDelegate>& delegate,
                                    const std::shared_ptr<DeviceLedger>& ledger,
                                    const Result<std::shared_ptr<const CRegion>>& region,
                                    const std::string& name) {
  std::shared_ptr<RegionState> state;
  std::optional<Error> lost;
  {
    const MutexLock lock(mutex_);
    lost = lost_;
    auto& found = states_[region ? (*region)->key() : name];
    if (found == nullptr) found = std::make_shared<RegionState>(name);
    state = found;
  }
  if (lost) state->refuse(Refusal::kDevice, *std::move(lost));
  if (!region) state->fail(region.error());
  if (state->problem()) return {std::move(state), nullptr};
  // Another thread that compiles the same region is waited for.
  std::shared_ptr<CompiledRegion> compiled;
  std::optional<Error> error;
  {
    const MutexLock turn(state->compiling_);
    compiled = state->compiled_.lock();
    if (compiled == nullptr) {
      auto made = compile_region(delegate, ledger, *region);
      if (made) {
        compiled = *std::move(made);
        state->compiled_ = compiled;
      } else {
        error = std::move(made).error();
      }
    }
  }
  if (error) state->fail(*std::move(error));
  return {std::move(state), std::move(compiled)};
}

bool RegionState::is_unused() const {
  if (!refusals().empty() || !compiling_.try_lock()) return false;
  const bool expired = compiled_.expired();
  compiling_.unlock();
  return expired;
}

void RegionStore::keep_latest(CompiledRegions regions) {
  // The regions before end after the mutex is released: that calls the delegate.
  const MutexLock lock(mutex_);
  latest_.swap(regions);
  // A thread that compiles or binds a region holds its state.
  std::erase_if(states_, [](const auto& each) {
    return each.second.use_count() == 1 && each.second->is_unused();
  });
}

void RegionStore::fail_all(const Error& error) {
  const MutexLock lock(mutex_);
  if (!lost_) lost_ = error;
  for (const auto& [key, state] : states_) state->refuse(Refusal::kDevice, error);
}

std::optional<Error> RegionStore::lost() const {
  const MutexLock lock(mutex_);
  return lost_;
}

void RegionStore::forget_failures() {
  const MutexLock lock(mutex_);
  lost_.reset();
  for (const auto& [key, state] : states_) state->forget();
  ++generation_;
}

std::vector<RegionRefusal> RegionStore::refusals() const {
  std::vector<RegionRefusal> list;
  const MutexLock lock(mutex_);
  for (const auto& [key, state] : states_)
    std::ranges::move(state->refusals(), std::back_inserter(list));
  return list;
}

}  // namespace parallax
