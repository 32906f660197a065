// The memory of packed weights: one block behind the other, so that small ones share large pages.
// Pages come when they are first written: large ones while the system has them at hand, small ones
// after, so that a first run need not wait; later runs make those large.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/large_pages.h"
#include "kernels/packed_weights.h"

namespace parallax {

/// Thread-safe.
class WeightMemory {
 public:
  WeightMemory();
  ~WeightMemory();
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;

  /// Zeros; may outlive this. Errors: kOutOfMemory.
  Result<AlignedBytes> allocate(std::int64_t bytes);
  /// What allocate() gave is about to be filled: gets its pages. Once what shares a page with it
  /// has been allocated, where that is known before filling.
  void touch(const AlignedBytes& bytes);
  /// Makes small pages large until there are none or so much time has passed, one page at least.
  /// Does nothing where another thread is at it.
  void promote(std::chrono::nanoseconds limit);

  /// For tests: pages that lie wholly in blocks, and have been touched.
  struct Pages {
    std::int64_t small = 0, large = 0;
  };
  Pages pages() const;
  LargePageWatch& watch() { return watch_; }

 private:
  struct Chunk;
  std::shared_ptr<Chunk> chunk_of(const std::byte* byte) const;
  std::shared_ptr<Chunk> chunk(std::size_t index) const;

  LargePageWatch watch_;
  std::atomic<bool> some_small_ = false;  ///< promote() may find something
  std::mutex promoting_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::int64_t total_ = 0;
};

}  // namespace parallax
