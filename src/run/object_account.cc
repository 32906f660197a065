#include "run/object_account.h"

#include <utility>

#include "base/status.h"

namespace parallax {

Result<std::shared_ptr<const void>> ObjectAccount::take(std::int64_t bytes) {
  struct Charge {
    Charge(std::shared_ptr<ObjectAccount> account_in, std::int64_t bytes_in)
        : account(std::move(account_in)), bytes(bytes_in) {}
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge() { account->give_back(bytes); }

    const std::shared_ptr<ObjectAccount> account;
    std::int64_t bytes;
  };
  auto charge = std::make_shared<Charge>(shared_from_this(), 0);
  RunMemory::Lease* lease = nullptr;
  {
    const MutexLock lock(mutex_);
    lease = lease_;
  }
  if (lease == nullptr) return charge;
  // Without the mutex: reserve() may free memory through the user's allocator.
  PX_RETURN_IF_ERROR(lease->reserve(bytes));
  const MutexLock lock(mutex_);
  taken_ += bytes;
  charge->bytes = bytes;
  return charge;
}

void ObjectAccount::give_back(std::int64_t bytes) {
  const MutexLock lock(mutex_);
  if (lease_ == nullptr || bytes == 0) return;
  taken_ -= bytes;
  lease_->release(bytes);
}

void ObjectAccount::close() {
  const MutexLock lock(mutex_);
  RunMemory::Lease* const lease = std::exchange(lease_, nullptr);
  if (lease != nullptr) lease->release(std::exchange(taken_, 0));
}

}  // namespace parallax
