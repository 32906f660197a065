// The memory of packed weights: one block behind the other, so that small ones share large pages.
// Pages come when they are first written: large ones while the system has them at hand, small ones
// after, so that a first run need not wait; later runs make those large.
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

/// Thread-safe.
class WeightMemory {
 public:
  WeightMemory();
  ~WeightMemory();
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;
  /// Sets the source of the memory. Call it before any other function.
  void use(std::shared_ptr<MemorySource> source) { source_ = std::move(source); }
  MemorySource& source() const { return *source_; }

  /// Gets pages ahead for about `bytes` bytes that will be allocated; returns when they are there,
  /// or earlier where end_prefault() has been called. Asks every now and then whether there is room
  /// for what is left; gives back what it has where there is none.
  void prefault(std::int64_t bytes, const std::function<bool(std::int64_t left)>& has_room);
  /// All has been allocated: pages that no block took go back. Waits for one page at most.
  void end_prefault();
  /// Zeros; may outlive this. Errors: kOutOfMemory.
  Result<AlignedBytes> allocate(std::int64_t bytes);
  /// Gets the pages of a block of allocate() that is about to be filled. Call it, if possible,
  /// after the blocks that share its pages have been allocated: only pages that are in use wholly
  /// become large.
  void touch(const AlignedBytes& bytes);
  /// Makes small pages large until there are none or so much time has passed, one page at least.
  /// Does nothing where another thread is at it.
  void promote(std::chrono::nanoseconds limit);

  /// For tests: pages that lie wholly in blocks, and have been touched.
  struct Pages {
    std::int64_t small = 0, large = 0;
  };
  Pages pages() const;
  LargePageWatch& watch() { return source_->watch(); }

 private:
  struct Chunk;
  std::shared_ptr<Chunk> chunk_of(const std::byte* byte) const;
  std::shared_ptr<Chunk> chunk(std::size_t index) const;
  std::shared_ptr<Chunk> add_chunk(std::int64_t bytes) PX_REQUIRES(growing_);
  void touch_page(Chunk& chunk, std::size_t page, bool full);
  std::shared_ptr<Chunk> add_chunk_for_prefault(std::int64_t bytes);

  std::shared_ptr<MemorySource> source_ = std::make_shared<MemorySource>();
  std::atomic<bool> some_small_ = false;  ///< promote() may find something
  Mutex promoting_{LockOrder::kPrefaulting};
  std::atomic<bool> prefault_ended_ = false;
  Mutex prefaulting_ PX_ACQUIRED_BEFORE(growing_){LockOrder::kPrefaulting};
  Mutex growing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kGrowing};
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> chunks_ PX_GUARDED_BY(mutex_);
  std::int64_t total_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
