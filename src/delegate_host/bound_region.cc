#include "delegate_host/bound_region.h"

#include <utility>

#include "base/status.h"
#include "delegate_host/answers.h"

namespace parallax {

Result<std::shared_ptr<BoundRegion>> BoundRegion::make(RegionStore::Entry entry,
                                                       std::shared_ptr<const CRegion> values,
                                                       const Compiled& compiled,
                                                       const std::shared_ptr<DeviceLedger>& ledger,
                                                       std::span<const ValueDims> told) {
  PX_ASSIGN(const auto sizes, CSizes::make(compiled, *values, told));
  const std::shared_ptr<BoundRegion> bound(
      new BoundRegion(std::move(entry), std::move(values)),
      [](const BoundRegion* old) { destroy_outside_answers([old] { delete old; }); });
  px_binding given{};
  given.size = sizeof given;
  const px_delegate& table = bound->delegate().functions();
  {
    const MutexLock lock(bound->region->one_call);
    PX_RETURN_IF_ERROR(call_delegate([&](px_status* status) {
      return table.bind(bound->delegate().device, bound->region->handle, &sizes->get(), &given,
                        status);
    }));
  }
  if (given.binding == nullptr)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kInternal, {}, "the delegate bound a region to null"});
  bound->handle = given.binding;
  PX_ASSIGN(bound->charge_, DeviceCharge::make(ledger, given.memory_bytes, given.shared_bytes,
                                               "tensors of a region"));
  return bound;
}

std::optional<Error> BoundRegion::problem() const {
  if (!refused_.load(std::memory_order_acquire)) return std::nullopt;
  const MutexLock lock(mutex_);
  return error_;
}

void BoundRegion::refuse(Error error) {
  const MutexLock lock(mutex_);
  if (!error_) error_ = std::move(error);
  refused_.store(true, std::memory_order_release);
}

void BoundRegion::forget() {
  const MutexLock lock(mutex_);
  error_.reset();
  refused_.store(false, std::memory_order_release);
}

BoundRegion::~BoundRegion() {
  if (handle == nullptr || !delegate().is_here()) return;
  const MutexLock lock(region->one_call);
  delegate().functions().unbind(delegate().device, region->handle, handle);
}

}  // namespace parallax
