// The block of memory of a run: its activations and scratch. Its owner accounts for the bytes.
//
// Thread-safety: a block belongs to one thread at a time. RunMemory allocates blocks, keeps idle
// ones, and passes them from run to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/deadline.h"
#include "base/machine/memory_source.h"
#include "parallax/result.h"

namespace parallax {

struct RunBuffers;

/// A block, which is freed with this. Move-only. Its user-provided memory is freed by the allocator
/// that made it, on the thread that destroys the block.
struct RunBlock {
  struct Free {
    std::shared_ptr<const void> owner;  ///< owner of user-provided memory; null: call std::free()
    void operator()(std::byte* p) const;
  };

  std::unique_ptr<std::byte, Free> memory;
  std::int64_t bytes = 0;  ///< size of `memory`
  /// Buffers that the last run left for the next one; null: none.
  std::shared_ptr<RunBuffers> buffers = nullptr;
  /// Bytes at the front that have large pages. A multiple of kLargePage.
  std::int64_t large = 0;
  std::shared_ptr<MemorySource> source = nullptr;  ///< source of `memory`
};

/// A list, so that a block moves without an allocation.
using RunBlocks = std::list<RunBlock>;

/// Allocates one block of `bytes` from the source, aligned to kAlignment; to kLargePage if it is at
/// least that large and the memory is not user-provided. The result has one element. Errors:
/// kOutOfMemory. `bytes` is rounded up to kAlignment, and 0 to one unit. The contents are
/// unspecified. Call it without locks: it may call the user's allocator. May throw std::bad_alloc
/// for the list.
Result<RunBlocks> allocate_block(std::int64_t bytes, std::shared_ptr<MemorySource> source);

/// Converts a block to large pages while the system provides them quickly. `fresh`: it was just
/// allocated; otherwise only a few more pages are converted, in the time that `deadline` spares. At
/// most 50 ms, and a tenth of the time left, for a block that is not fresh. A fresh block is
/// touched page by page until the system becomes slow; the rest gets small pages. Has no effect on
/// results. REQUIRES: no other thread uses the block.
void touch_block(RunBlock& block, bool fresh, const Deadline& deadline);

/// Returns the error kOutOfMemory for a block of `bytes`. Stage kRun.
Error out_of_memory(std::int64_t bytes);

}  // namespace parallax
