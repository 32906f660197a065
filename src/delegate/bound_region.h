// A region for the sizes of one binding, and one run of it. Internal to delegate/.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "delegate/region_store.h"
#include "run/device.h"

namespace parallax {

/// A piece of a device's own memory.
class DeviceBytes {
 public:
  /// Errors: of the delegate.
  static Result<std::unique_ptr<DeviceBytes>> allocate(std::shared_ptr<const OpenDelegate> delegate,
                                                       std::size_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* memory() const { return memory_.memory; }
  std::byte* host() const { return static_cast<std::byte*>(memory_.host); }

 private:
  explicit DeviceBytes(std::shared_ptr<const OpenDelegate> delegate)
      : delegate_(std::move(delegate)) {}
  const std::shared_ptr<const OpenDelegate> delegate_;
  px_memory memory_{};
};

/// The device's memory for the inputs and then the outputs of one run.
using DevicePlaces = std::vector<std::unique_ptr<DeviceBytes>>;

class BoundRegion {
 public:
  /// Errors: of the delegate, and as CSizes::make().
  static Result<std::shared_ptr<BoundRegion>> make(RegionStore::Entry entry,
                                                   std::shared_ptr<const CRegion> values,
                                                   const Compiled& compiled);
  ~BoundRegion();
  BoundRegion(const BoundRegion&) = delete;
  BoundRegion& operator=(const BoundRegion&) = delete;

  const OpenDelegate& delegate() const { return *region->delegate; }
  /// Of an earlier run, or new. `bytes`: of each.
  Result<DevicePlaces> take_places(const std::vector<std::size_t>& bytes);
  void give_back(DevicePlaces places);

  const std::shared_ptr<CompiledRegion> region;
  const std::shared_ptr<RegionState> state;
  const std::shared_ptr<const CRegion> values;  ///< in the graph of this binding
  void* handle = nullptr;

 private:
  BoundRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values_in)
      : region(std::move(entry.compiled)),
        state(std::move(entry.state)),
        values(std::move(values_in)) {}

  Mutex mutex_;
  std::vector<DevicePlaces> idle_ PX_GUARDED_BY(mutex_);
};

/// Begins one run of `region` and returns; `done` is called once. `owner` lives until then.
void run_region(std::shared_ptr<BoundRegion> region, RegionRun run, Completion done,
                std::shared_ptr<const void> owner);

}  // namespace parallax
