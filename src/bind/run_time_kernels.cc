#include "bind/run_time_kernels.h"

#include <utility>

namespace parallax {

std::size_t RunTimeKernels::KeyHash::operator()(const Key& key) const {
  auto hash = static_cast<std::size_t>(key.first.value);
  for (const Dims& dims : key.second) {
    hash = mixed_hash(hash, dims.rank());
    for (const std::int64_t dim : dims) hash = mixed_hash(hash, dim);
  }
  return hash;
}

std::shared_ptr<const BoundKernel> RunTimeKernels::find(const Key& key) {
  const MutexLock lock(mutex_);
  const auto* const found = kernels_.find(key);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<const BoundKernel> RunTimeKernels::insert(Key key, BoundKernel kernel) {
  auto shared = std::make_shared<const BoundKernel>(std::move(kernel));
  Kernels::Forgotten forgotten;  // destroyed without the mutex
  const MutexLock lock(mutex_);
  if (const auto* const present = kernels_.find(key)) return *present;
  kernels_.insert(std::move(key), shared);
  table_bytes_ += shared->code.kernel->table_bytes();
  while (kernels_.size() > kCapacity || (kernels_.size() > 1 && table_bytes_ > kTableBytes)) {
    table_bytes_ -= kernels_.oldest()->code.kernel->table_bytes();
    kernels_.forget_oldest(forgotten);
  }
  return shared;
}

std::size_t RunTimeKernels::size() const {
  const MutexLock lock(mutex_);
  return kernels_.size();
}

std::int64_t RunTimeKernels::table_bytes() const {
  const MutexLock lock(mutex_);
  return table_bytes_;
}

}  // namespace parallax
