// The bytes of objects in the budget of a run. Objects may outlive the run, which then releases
// their bytes: they belong to the caller, like output tensors.
//
// Thread-safe.
//
// Only runs with nodes compiled during the run have one; bodies share that of the outermost run.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "kernels/objects/object_kernel.h"
#include "run/run_memory.h"

namespace parallax {

/// Accounts for the objects of one run.
class ObjectAccount final : public ObjectMemory,
                            public std::enable_shared_from_this<ObjectAccount> {
 public:
  /// Reserves from `lease`, which must live until close(). Make it with std::make_shared: charges
  /// keep it alive.
  explicit ObjectAccount(RunMemory::Lease& lease) : lease_(&lease) {}

  /// Reserves bytes until the result is destroyed, or until close(); after that it reserves
  /// nothing. Errors: kBudgetExceeded. Does not wait. The mutex is not held while memory is
  /// reserved, because that may call the user's allocator. The result may be destroyed by any
  /// thread, also after the lease.
  Result<std::shared_ptr<const void>> take(std::int64_t bytes) override;
  /// Releases all bytes and detaches from the lease. REQUIRES: no thread is in take(), nor will be.
  /// The destructor of the outermost run calls it.
  void close();

 private:
  void give_back(std::int64_t bytes);

  Mutex mutex_{LockOrder::kObjects};
  RunMemory::Lease* lease_ PX_GUARDED_BY(mutex_);  // null: closed
  std::int64_t taken_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
