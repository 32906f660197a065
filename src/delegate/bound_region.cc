#include "delegate/bound_region.h"

#include <utility>

#include "base/status.h"
#include "delegate/answers.h"

namespace parallax {

Result<std::unique_ptr<DeviceBytes>> DeviceBytes::allocate(
    std::shared_ptr<const OpenDelegate> delegate, std::size_t bytes) {
  std::unique_ptr<DeviceBytes> result(new DeviceBytes(std::move(delegate)));
  const OpenDelegate& its = *result->delegate_;
  px_memory given{};
  given.size = sizeof given;
  px_status status = no_status();
  PX_RETURN_IF_ERROR(
      status_of(its.table.functions.allocate(its.device, bytes, &given, &status), status));
  if (given.memory == nullptr)
    return tl::unexpected(
        Error{Stage::kExecute, ErrorCode::kOutOfMemory, {}, "the delegate allocated nothing"});
  result->memory_ = given;
  return result;
}

DeviceBytes::~DeviceBytes() {
  if (memory_.memory != nullptr && delegate_->is_here())
    delegate_->table.functions.release(delegate_->device, memory());
}

Result<std::shared_ptr<BoundRegion>> BoundRegion::make(RegionStore::Entry entry,
                                                       std::shared_ptr<const CRegion> values,
                                                       const Compiled& compiled) {
  PX_ASSIGN(const auto sizes, CSizes::make(compiled, *values));
  const std::shared_ptr<BoundRegion> bound(
      new BoundRegion(std::move(entry), std::move(values)),
      [](const BoundRegion* old) { destroy_outside_answers([old] { delete old; }); });
  px_binding given{};
  given.size = sizeof given;
  px_status status = no_status();
  const px_delegate& table = bound->delegate().table.functions;
  {
    const MutexLock lock(bound->region->one_call);
    PX_RETURN_IF_ERROR(status_of(
        table.bind(bound->delegate().device, bound->region->handle, &sizes->get(), &given, &status),
        status));
  }
  if (given.binding == nullptr)
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kInternal, {}, "the delegate bound a region to null"});
  bound->handle = given.binding;
  return bound;
}

BoundRegion::~BoundRegion() {
  {
    const MutexLock lock(mutex_);
    idle_.clear();
  }
  if (handle == nullptr || !delegate().is_here()) return;
  const MutexLock lock(region->one_call);
  delegate().table.functions.unbind(delegate().device, region->handle, handle);
}

Result<DevicePlaces> BoundRegion::take_places(const std::vector<std::size_t>& bytes) {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      DevicePlaces places = std::move(idle_.back());
      idle_.pop_back();
      return places;
    }
  }
  DevicePlaces places;
  for (const std::size_t each : bytes) {
    PX_ASSIGN(auto piece, DeviceBytes::allocate(region->delegate, each));
    places.push_back(std::move(piece));
  }
  return places;
}

void BoundRegion::give_back(DevicePlaces places) {
  const MutexLock lock(mutex_);
  idle_.push_back(std::move(places));
}

}  // namespace parallax
