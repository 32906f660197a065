// Constants as kernels can read them. Those in a mapped file may lie at any address; the few that a
// kernel reads through typed pointers are copied once, for all plans of a model.
// Thread-safe. One per model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "ir/graph.h"
#include "kernels/packed_weights.h"

namespace parallax {

class ConstantStore {
 public:
  /// The bytes of `constant`, aligned to its element size: where they are, or a copy that lives as
  /// long as the store. Errors: kOutOfMemory.
  Result<const std::byte*> aligned(const Constant& constant);
  /// Bytes of all copies.
  std::int64_t copied_bytes() const;

 private:
  mutable std::mutex mutex_;
  // By source address and length: two constants may begin at one byte of the file.
  std::map<std::pair<const std::byte*, std::size_t>, AlignedBytes> copies_;  // guarded by mutex_
};

}  // namespace parallax
