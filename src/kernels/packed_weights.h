// Weights in the layout a kernel wants, made once and shared by all plans and kernels that ask for
// the same packing of the same constant.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "parallax/result.h"

namespace parallax {

struct SharedBytes;
class WeightCache;

/// 64-byte aligned memory of fixed size, owned, or shared and then read only.
class AlignedBytes {
 public:
  /// Errors: kOutOfMemory.
  static Result<AlignedBytes> allocate(std::int64_t bytes);
  static AlignedBytes shared(SharedBytes bytes);
  std::byte* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }

 private:
  struct Free {
    std::shared_ptr<const void> owner;  ///< of shared memory
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

/// Runs body(0) .. body(count - 1), in any order, several at once where it can; returns when all
/// are done. `body` must not throw.
using ParallelFor =
    std::function<void(std::int64_t count, const std::function<void(std::int64_t)>& body)>;
/// One after the other on the calling thread.
void serial_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

/// Packing that is put off until a whole model's worth can be done by all threads at once. Used by
/// one thread, but for what run() starts.
class PackingQueue {
 public:
  /// What is added from here on is done in order, by one thread: the packings of one node, then
  /// giving back what they read.
  void next_group() { groups_.emplace_back(); }
  void add(std::function<void()> task);
  /// Does everything and empties the queue. Errors: the first of a task's exceptions, kOutOfMemory
  /// or kInternal.
  Status run(const ParallelFor& parallel);

 private:
  std::vector<std::vector<std::function<void()>>> groups_;
};

/// Thread-safe. One per Model.
class PackedWeights {
 public:
  PackedWeights();
  /// The same blocks; packing goes to `queue`: blocks hold nothing before it has run.
  PackedWeights(const PackedWeights& blocks, PackingQueue& queue);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;
  ~PackedWeights();
  /// Blocks are looked for in `cache` first, and kept there. Before get().
  void use(std::shared_ptr<WeightCache> cache);
  /// Null without one.
  WeightCache* cache() const;

  /// The packing `layout` (a text that says everything the bytes depend on) of the constant at
  /// `source`; `fill` writes it where it is missing, now or later: it owns what it reads but the
  /// constant. Where it throws, so does this function, and the next one to ask packs again.
  /// Errors: kOutOfMemory.
  Result<std::shared_ptr<const AlignedBytes>> get(const std::byte* source,
                                                  const std::string& layout, std::int64_t bytes,
                                                  std::function<void(std::byte*)> fill);
  /// Does `task` now, or after what was queued before it.
  void after_packing(std::function<void()> task);
  /// Gets memory for about so many bytes of blocks until it has it, memory is short or packing ends
  /// it; for another thread, while the one that is going to ask for blocks does not do so yet.
  void prefault(std::int64_t bytes);
  /// All blocks have been asked for (of a model with bodies, those of its first body): what got
  /// memory in vain gives it back.
  void end_prefault();
  /// Goes on, for so long, with giving large pages to blocks that had to be filled before there
  /// were any (WeightMemory).
  void promote_pages(std::chrono::nanoseconds limit);
  /// Bytes of all packings held.
  std::int64_t total_bytes() const;

 private:
  struct Block;
  struct Blocks;
  Result<std::shared_ptr<Block>> make_block(const std::byte* source, const std::string& layout,
                                            std::int64_t bytes);
  std::shared_ptr<Blocks> blocks_;
  PackingQueue* queue_ = nullptr;
};

}  // namespace parallax
