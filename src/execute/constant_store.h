// Constants as kernels can read them. Those in a mapped file may lie at any address; the few that a
// kernel reads through typed pointers are copied once, for all plans of a model, large ones for the
// next process too.
// Thread-safe. One per model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "ir/graph.h"
#include "kernels/packed_weights.h"

namespace parallax {

class ConstantStore {
 public:
  /// Copies of at least this many bytes are kept in a cache: Whisper's positions take 2.3 MB, half
  /// of what the second process takes for its first plan.
  static constexpr std::int64_t kKept = std::int64_t{64} << 10;

  /// Before any other call.
  void use(std::shared_ptr<WeightCache> cache) { cache_ = std::move(cache); }
  /// The bytes of `constant`, aligned to its element size: where they are, or a copy that lives as
  /// long as the store. Errors: kOutOfMemory.
  Result<const std::byte*> aligned(const Constant& constant);
  /// Bytes of all copies.
  std::int64_t copied_bytes() const;

 private:
  Result<std::shared_ptr<const AlignedBytes>> copy_of(const Constant& constant) const;

  std::shared_ptr<WeightCache> cache_;
  mutable Mutex mutex_;
  // By source address and length: two constants may begin at one byte of the file.
  std::map<std::pair<const std::byte*, std::size_t>, std::shared_ptr<const AlignedBytes>> copies_
      PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
