#include "delegate/region_store.h"

#include <utility>

#include "base/status.h"
#include "delegate/answers.h"

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
  px_status status = no_status();
  PX_RETURN_IF_ERROR(status_of(delegate->table.functions.compile(
                                   delegate->device, &compiled->region->get(), &given, &status),
                               status));
  if (given.region == nullptr)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kInternal, {}, "the delegate compiled a region to null"});
  compiled->handle = given.region;
  // In the host's memory they are weights, which no budget counts.
  if (delegate->memory == PX_MEMORY_DEVICE) {
    PX_ASSIGN(compiled->charge,
              DeviceCharge::make(ledger, given.memory_bytes, 0, "constants of a region"));
  }
  return compiled;
}

}  // namespace

CompiledRegion::~CompiledRegion() {
  if (handle != nullptr && delegate->is_here())
    delegate->table.functions.discard(delegate->device, handle);
}

std::optional<Error> RegionState::problem() const {
  if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
  const MutexLock lock(mutex_);
  return error_;
}

void RegionState::fail(Error error) {
  const MutexLock lock(mutex_);
  if (!error_) error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

void RegionState::forget() {
  const MutexLock lock(mutex_);
  error_.reset();
  failed_.store(false, std::memory_order_release);
}

RegionStore::Entry RegionStore::get(const std::shared_ptr<const OpenDelegate>& delegate,
                                    const std::shared_ptr<DeviceLedger>& ledger,
                                    const Result<std::shared_ptr<const CRegion>>& region,
                                    const std::string& name) {
  std::shared_ptr<RegionState> state;
  {
    const MutexLock lock(mutex_);
    auto& found = states_[region ? (*region)->key() : name];
    if (found == nullptr) found = std::make_shared<RegionState>(name);
    state = found;
  }
  if (!region) state->fail(region.error());
  if (state->problem()) return {std::move(state), nullptr};
  // Another thread that compiles the same region is waited for.
  std::shared_ptr<CompiledRegion> compiled;
  std::optional<Error> error;
  {
    const MutexLock lock(state->mutex_);
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
  if (problem()) return false;
  const MutexLock lock(mutex_);
  return compiled_.expired();
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
  for (const auto& [key, state] : states_) state->fail(error);
}

void RegionStore::forget_failures() {
  const MutexLock lock(mutex_);
  for (const auto& [key, state] : states_) state->forget();
  ++generation_;
}

std::vector<std::pair<std::string, std::string>> RegionStore::failures() const {
  std::vector<std::pair<std::string, std::string>> list;
  const MutexLock lock(mutex_);
  for (const auto& [key, state] : states_)
    if (const auto problem = state->problem()) list.emplace_back(state->name, problem->to_string());
  return list;
}

}  // namespace parallax
