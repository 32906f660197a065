// Memory of packed weights: blocks are allocated one behind the other, so that small ones share
// large pages. Pages are mapped when they are touched: large ones while the system has them ready,
// small ones afterwards, so that a first run need not wait; later runs convert these to large ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/machine/memory_source.h"
#include "base/mutex.h"
#include "kernels/weights/packed_weights.h"

namespace parallax {

/// Thread-safe. Memory comes in chunks, which grow with the total up to 64 MiB; a larger block gets
/// a chunk of its own. A chunk is freed with its last block, after this object has been destroyed.
class WeightMemory {
 public:
  WeightMemory();
  ~WeightMemory();
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;
  /// Sets the source of the memory. Call it before any other function.
  void use(std::shared_ptr<MemorySource> source) { source_ = std::move(source); }
  MemorySource& source() const { return *source_; }

  /// Touches pages for about `bytes` bytes before they are allocated; returns when it is done, or
  /// earlier if end_prefault() is called. Asks `has_room` every 32 MiB whether memory suffices for
  /// the rest; if not, releases the pages that no block uses and returns.
  void prefault(std::int64_t bytes, const std::function<bool(std::int64_t left)>& has_room);
  /// Stops prefault() and releases touched pages that no block uses. Waits for one page at most.
  void end_prefault();
  /// Allocates `bytes` zeroed bytes, 64-byte aligned; the result may outlive this object. Errors:
  /// kOutOfMemory.
  Result<AlignedBytes> allocate(std::int64_t bytes);
  /// Gets the pages of a block of allocate() that is about to be filled. Call it, if possible,
  /// after the blocks that share its pages have been allocated: only pages that are in use wholly
  /// become large.
  void touch(const AlignedBytes& bytes);
  /// Makes small pages large until there are none left or `limit` has passed; one page at least.
  /// Returns immediately if another thread is doing so.
  void promote(std::chrono::nanoseconds limit);

  /// Counts of touched pages that are wholly in blocks, by size. For tests.
  struct Pages {
    std::int64_t small = 0, large = 0;
  };
  Pages pages() const;
  /// Tells whether the system still has large pages ready.
  LargePageWatch& watch() { return source_->watch(); }

 private:
  struct Chunk;
  /// Returns the chunk that contains `byte`, or null.
  std::shared_ptr<Chunk> chunk_of(const std::byte* byte) const;
  /// Returns chunk `index`, or null behind the last one.
  std::shared_ptr<Chunk> chunk(std::size_t index) const;
  /// Maps a new chunk; null if there is no memory.
  std::shared_ptr<Chunk> add_chunk(std::int64_t bytes) PX_REQUIRES(growing_);
  /// Maps page `page` if no thread has done so; waits if one is doing so. `full`: blocks use all of
  /// it.
  void touch_page(Chunk& chunk, std::size_t page, bool full);
  /// Maps a chunk of twice `bytes`, so that blocks which follow the touched pages fit too.
  std::shared_ptr<Chunk> add_chunk_for_prefault(std::int64_t bytes);

  std::shared_ptr<MemorySource> source_ = std::make_shared<MemorySource>();
  std::atomic<bool> some_small_ = false;  ///< promote() may have small pages to convert
  /// Locked by the thread that promotes pages.
  Mutex promoting_{LockOrder::kPrefaulting};
  std::atomic<bool> prefault_ended_ = false;
  /// Locked during prefault(); guards no data.
  Mutex prefaulting_ PX_ACQUIRED_BEFORE(growing_){LockOrder::kPrefaulting};
  /// Locked by the thread that adds a chunk, which may be slow: mutex_ is free meanwhile.
  Mutex growing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kGrowing};
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> chunks_ PX_GUARDED_BY(mutex_);
  std::int64_t total_ PX_GUARDED_BY(mutex_) = 0;  ///< bytes of all chunks
};

}  // namespace parallax
