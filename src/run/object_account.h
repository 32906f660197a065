// What the objects of a run take of its budget. Objects may outlive the run, which then gives back
// what they took: they are the caller's, like the tensors that are outputs.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "kernels/objects/object_kernel.h"
#include "run/run_memory.h"

namespace parallax {

class ObjectAccount final : public ObjectMemory,
                            public std::enable_shared_from_this<ObjectAccount> {
 public:
  explicit ObjectAccount(RunMemory::Lease& lease) : lease_(&lease) {}

  Result<std::shared_ptr<const void>> take(std::int64_t bytes) override;
  /// Ends the account before its lease. REQUIRES: no thread is in take(), nor will be.
  void close();

 private:
  void give_back(std::int64_t bytes);

  Mutex mutex_{LockOrder::kObjects};
  RunMemory::Lease* lease_ PX_GUARDED_BY(mutex_);  // null: closed
  std::int64_t taken_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
