// Kernels that runs have made for nodes whose shapes only running can tell, kept for later runs.
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

/// A kernel that can run.
struct BoundKernel {
  NodeKernel code;
  /// Per input: its bytes if they are fixed and the kernel reads them; else null.
  std::vector<const std::byte*> fixed;
};

/// By node and concrete dimensions, as many as fit both limits. Forgets the least recently used
/// first, the latest never. Thread-safe.
class RunTimeKernels {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::int64_t kTableBytes = std::int64_t{4} << 20;
  using Key = std::pair<NodeId, std::vector<Dims>>;
  std::shared_ptr<const BoundKernel> find(const Key& key);
  /// Keeps the first kernel if two threads made the same one.
  std::shared_ptr<const BoundKernel> insert(Key key, BoundKernel kernel);
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
