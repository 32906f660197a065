// The block of a run's memory: its activations and scratch, of an owner who accounts for its bytes.
//
// Thread-safety: a block belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/machine/memory_source.h"
#include "parallax/result.h"

namespace parallax {

struct RunBuffers;

struct RunBlock {
  struct Free {
    std::shared_ptr<const void> owner;  ///< of the user's memory; null: free() takes it
    void operator()(std::byte* p) const;
  };

  std::unique_ptr<std::byte, Free> memory;
  std::int64_t bytes = 0;
  /// What the last run left for the next one; null: nothing.
  std::shared_ptr<RunBuffers> buffers = nullptr;
  std::int64_t large = 0;  ///< bytes at the front that have large pages
  std::shared_ptr<MemorySource> source = nullptr;
};

/// A list, so that a block moves without an allocation.
using RunBlocks = std::list<RunBlock>;

/// One block of `bytes` of the source, aligned to kAlignment, and to kLargePage from that size on
/// where the memory is not the user's. Errors: kOutOfMemory.
Result<RunBlocks> allocate_block(std::int64_t bytes, std::shared_ptr<MemorySource> source);

/// Gives a block large pages as far as they come quickly. `fresh`: it was just allocated; otherwise
/// a few pages more.
void touch_block(RunBlock& block, bool fresh);

/// kOutOfMemory: a block of `bytes`.
Error out_of_memory(std::int64_t bytes);

}  // namespace parallax
