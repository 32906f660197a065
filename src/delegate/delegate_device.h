// Runs the regions of one binding on an open delegate: what run/device.h wants, over the table of
// delegate.h. Regions are compiled and bound by prepare(), on the caller's thread; a run only
// begins them.
//
// Where the device has memory of its own, a region's run is a chain: its inputs are copied there,
// it runs, its outputs are copied back. Each link begins where the one before was answered, on the
// thread that answers. No thread waits for a device.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "delegate/region_store.h"
#include "run/device.h"

namespace parallax {

class BoundRegion;

class DelegateDevice final : public Device, public std::enable_shared_from_this<DelegateDevice> {
 public:
  DelegateDevice(std::shared_ptr<const OpenDelegate> delegate, std::shared_ptr<RegionStore> store,
                 std::shared_ptr<const Compiled> compiled);
  ~DelegateDevice() override;

  /// Compiles and binds what was not, which may take long: failures are noted in the store, and
  /// told to `log`. Does nothing the second time, until the store forgets failures.
  void prepare(const Logger& log);

  std::optional<Error> problem(RegionId region) const override;
  void late(RegionId region, const Error& error) noexcept override;
  void start(RegionRun run, Completion done) override;

 private:
  std::shared_ptr<BoundRegion> bind(RegionId region, std::shared_ptr<RegionState>& state);

  const std::shared_ptr<const OpenDelegate> delegate_;
  const std::shared_ptr<RegionStore> store_;
  const std::shared_ptr<const Compiled> compiled_;
  std::atomic<int> prepared_{-1};  // the generation of the store
  mutable Mutex mutex_;
  IdVector<RegionId, std::shared_ptr<RegionState>> states_ PX_GUARDED_BY(mutex_);
  IdVector<RegionId, std::shared_ptr<BoundRegion>> bound_ PX_GUARDED_BY(mutex_);
  Mutex preparing_;
};

}  // namespace parallax
