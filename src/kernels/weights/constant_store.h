// Constants at addresses that kernels can read. In a mapped file they may lie at any address. The
// few that a kernel reads through typed pointers are copied once for all plans of a model; large
// copies go into the cache for the next process.
// Thread-safe. One per model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "ir/graph.h"
#include "kernels/weights/packed_weights.h"

namespace parallax {

class ConstantStore {
 public:
  /// Copies of at least this many bytes go into the cache. Copying Whisper's positions, 2.3 MB,
  /// took half the time of a second process's first plan.
  static constexpr std::int64_t kKept = std::int64_t{64} << 10;

  /// Call it before any other function.
  void use(std::shared_ptr<WeightCache> cache) { cache_ = std::move(cache); }
  /// The bytes of `constant`, aligned to its element size: in their place, or a copy that lives as
  /// long as the store. Errors: kOutOfMemory.
  Result<const std::byte*> aligned(const Constant& constant);
  /// Deletes the copy of `constant`, if any: its address may belong to another constant from now
  /// on. REQUIRES: no kernel reads the copy any more.
  void forget(const Constant& constant) noexcept;
  /// Whether `constant` needs no copy.
  static bool is_aligned(const Constant& constant);

 private:
  Result<std::shared_ptr<const AlignedBytes>> copy_of(const Constant& constant) const;

  std::shared_ptr<WeightCache> cache_;
  mutable Mutex mutex_{LockOrder::kWeights};
  // Keys are source address and length: two constants may begin at the same byte of the file.
  std::map<std::pair<const std::byte*, std::size_t>, std::shared_ptr<const AlignedBytes>> copies_
      PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
