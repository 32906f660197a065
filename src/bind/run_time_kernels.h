// A cache of the kernels that runs have made for nodes whose shapes only a run determines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/recently_used.h"
#include "compile/compiled.h"

namespace parallax {

/// A kernel that is ready to run: its weights are packed.
struct BoundKernel {
  NodeKernel code;
  /// The bytes of each input that is fixed and that the kernel reads; null for all others.
  std::vector<const std::byte*> fixed;
};

/// Kernels by node and concrete dimensions. Evicts the least recently used, never the latest, to
/// keep both limits. Thread-safe.
class RunTimeKernels {
 public:
  static constexpr std::size_t kCapacity = 256;                       ///< limit on kernels
  static constexpr std::int64_t kTableBytes = std::int64_t{4} << 20;  ///< limit on their tables
  /// A node, and the dims of its inputs, then those of its outputs; empty for those that are left
  /// out or that the kernel sizes itself.
  using Key = std::pair<NodeId, std::vector<Dims>>;
  /// Returns the kernel; null if it is not cached. The result stays valid after it was evicted.
  std::shared_ptr<const BoundKernel> find(const Key& key);
  /// Inserts a kernel and returns it; if another thread has inserted one, returns that instead.
  std::shared_ptr<const BoundKernel> insert(Key key, BoundKernel kernel);
  /// Number of kernels in the cache.
  std::size_t size() const;
  /// Bytes of the tables of all kernels.
  std::int64_t table_bytes() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  using Kernels = RecentlyUsed<Key, std::shared_ptr<const BoundKernel>, KeyHash>;
  mutable Mutex mutex_;
  Kernels kernels_ PX_GUARDED_BY(mutex_);
  std::int64_t table_bytes_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
