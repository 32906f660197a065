// Constants at addresses that are aligned to their element size. In a mapped file they may start at
// any address. The few that a kernel reads through typed pointers (InputUse::kAligned) are copied
// once for all plans of a model; large copies go into the weight cache for the next process.
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

/// Owner of the copies.
class ConstantStore {
 public:
  /// Bytes from which on a copy goes into the cache. Copying Whisper's positions, 2.3 MB, took half
  /// the time of a second process's first plan.
  static constexpr std::int64_t kKept = std::int64_t{64} << 10;

  /// Sets the cache, which may be null. Not thread-safe: call it before any other function.
  void use(std::shared_ptr<WeightCache> cache) { cache_ = std::move(cache); }
  /// Returns the bytes of `constant`, aligned to its element size: the original if it is aligned,
  /// else a copy that lives until forget() or the end of the store. Errors: kOutOfMemory.
  Result<const std::byte*> aligned(const Constant& constant);
  /// Deletes the copy of `constant`, if any: its address may belong to another constant from now
  /// on. REQUIRES: no kernel reads the copy any more.
  void forget(const Constant& constant) noexcept;
  /// Returns whether `constant` needs no copy; true for empty ones.
  static bool is_aligned(const Constant& constant);

 private:
  /// Finds the copy in the cache or makes it. Errors: kOutOfMemory.
  Result<std::shared_ptr<const AlignedBytes>> copy_of(const Constant& constant) const;

  std::shared_ptr<WeightCache> cache_;
  mutable Mutex mutex_{LockOrder::kWeights};
  // Keys are source address and length: two constants may begin at the same byte of the file.
  std::map<std::pair<const std::byte*, std::size_t>, std::shared_ptr<const AlignedBytes>> copies_
      PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
