// Memory for tensors whose sizes only running can tell: the paper's bump pointer with a free list,
// one arena per branch. Chunks come from the system, are counted against the budget of the run and
// live until the run ends.
//
// Thread-safety: thread-safe (a tensor may be freed by its last reader in another branch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "execute/run_memory.h"
#include "kernels/packed_weights.h"

namespace parallax {

class DynamicArena {
 public:
  /// `poison`: freed bytes are overwritten, so that reading them shows.
  DynamicArena(RunMemory::Lease& lease, bool poison) : lease_(lease), poison_(poison) {}
  ~DynamicArena();
  DynamicArena(const DynamicArena&) = delete;
  DynamicArena& operator=(const DynamicArena&) = delete;

  /// Bytes aligned to kAlignment, never null. Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(std::int64_t bytes);
  /// Gives back what allocate() returned; null is allowed.
  void free(std::byte* bytes);

 private:
  struct Chunk {
    AlignedBytes memory;
    std::int64_t used = 0;  // the bump pointer
  };

  Result<std::byte*> bump(std::int64_t bytes);
  Status add_chunk(std::int64_t bytes);

  RunMemory::Lease& lease_;
  const bool poison_;
  std::mutex mutex_;
  // All guarded by mutex_:
  std::vector<Chunk> chunks_;
  std::map<std::byte*, std::int64_t> taken_;
  std::multimap<std::int64_t, std::byte*> free_list_;  // by size
  std::int64_t reserved_ = 0;
};

}  // namespace parallax
