// Weights in the layout that a kernel needs, packed once and shared by all plans and kernels that
// request the same layout of the same constant.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/machine/aligned_bytes.h"
#include "base/parallel_for.h"
#include "parallax/result.h"

namespace parallax {

class MemorySource;
struct PackedBlock;
struct SharedBytes;
class WeightCache;

/// Packings that one kernel needs and whose filling is deferred. Immutable once the kernel is made;
/// its blocks are filled by PackedWeights.
class PackingList {
 public:
  /// Returns whether there is nothing to fill or release.
  bool empty() const { return blocks_.empty() && unread_.empty(); }
  /// Releases the pages of mapped `bytes` once everything is packed. REQUIRES: the kernel does not
  /// read them while running.
  void release_after(std::span<const std::byte> bytes) { unread_.push_back(bytes); }
  /// Returns whether no `fill` of these blocks reads the constant at `source`: it was given to
  /// get() together with bytes to read instead.
  bool replaces(const std::byte* source) const;

 private:
  friend class PackedWeights;
  std::vector<std::shared_ptr<PackedBlock>> blocks_;  ///< in the order of get()
  std::vector<std::span<const std::byte>> unread_;    ///< bytes of release_after()
  std::vector<const std::byte*> replaced_;            ///< constants for which others are read
};

/// Thread-safe. One per Model. A packing is identified by the address of its constant and its
/// layout, so constants must outlive this object, or be announced by lend() and removed by
/// forget().
class PackedWeights {
 public:
  PackedWeights();
  /// Shares the blocks of another object, but get() defers packing: a block has its size and no
  /// memory before allocate(list), no content before fill(list). `list` is used by one thread.
  PackedWeights(const PackedWeights& blocks, PackingList& list);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;
  ~PackedWeights();
  /// Sets the cache in which blocks are looked up first, and stored. Call it before get().
  void use(std::shared_ptr<WeightCache> cache);
  /// Returns null if there is no cache.
  WeightCache* cache() const;
  /// Sets the source of the blocks' memory. Call it before get().
  void use(std::shared_ptr<MemorySource> source);

  /// Returns the packing `layout` (a text that states everything the bytes depend on) of the
  /// constant at `source`, `bytes` bytes long. If it is missing, `fill` writes it, now or later,
  /// into zeroed memory; it must own everything it reads except the constant. If it throws, so does
  /// this function, and the next call packs again. `instead`: what `fill` reads and owns, rather
  /// than the constant; its pages are released like those of release_after(). REQUIRES: a kernel
  /// that gives it reads the constant for no other packing. Errors: kOutOfMemory.
  Result<std::shared_ptr<const AlignedBytes>> get(const std::byte* source,
                                                  const std::string& layout, std::int64_t bytes,
                                                  std::function<void(std::byte*)> fill,
                                                  std::span<const std::byte> instead = {});
  /// Announces a constant that may end before this object. Its packings are shared too, but each
  /// gets memory of its own. Each call needs a matching forget() before the constant ends. Throws
  /// std::bad_alloc.
  void lend(std::span<const std::byte> constant);
  /// Removes the packings of a constant, as its address may belong to another one from now on.
  /// Blocks that kernels hold stay valid.
  void forget(std::span<const std::byte> constant) noexcept;
  /// Returns whether all blocks of `list` are filled.
  bool is_filled(const PackingList& list) const;
  /// Allocates the blocks of `list` that have no memory, in the order of get(). Errors:
  /// kOutOfMemory.
  Status allocate(const PackingList& list);
  /// Fills the blocks of `list` that are not filled, then releases the pages of release_after().
  /// Waits for blocks that other threads are filling. REQUIRES: allocate(list) succeeded. Errors:
  /// exceptions of a `fill`, as kOutOfMemory or kInternal; the next call tries again.
  Status fill(const PackingList& list);
  /// Touches pages for about `bytes` bytes of blocks; stops early if memory is short or
  /// end_prefault() is called. Meant for a helper thread, before blocks are requested.
  void prefault(std::int64_t bytes);
  /// Releases prefaulted memory that no block uses. fill(list) calls it, since all blocks have been
  /// requested by then (for a model with bodies, those of its first body).
  void end_prefault();
  /// Spends at most about `limit` on moving blocks that were filled in small pages to large ones
  /// (WeightMemory::promote()).
  void promote_pages(std::chrono::nanoseconds limit);
  /// Returns the bytes of all packings that have been requested, filled or not.
  std::int64_t total_bytes() const;

 private:
  /// State that copies made for a PackingList share.
  struct Blocks;
  /// Makes a block from the cache if it has one that can be used in place, else an empty one.
  std::shared_ptr<PackedBlock> make_block(const std::byte* source, const std::string& layout,
                                          std::int64_t bytes);
  /// Allocates the memory of a block that has none. Errors: kOutOfMemory.
  Status give_memory(PackedBlock& block);
  /// Fills a block once; concurrent callers wait. Throws what the block's `fill` throws.
  void fill(const std::shared_ptr<PackedBlock>& block);
  std::shared_ptr<Blocks> blocks_;
  PackingList* list_ = nullptr;  ///< collects the blocks of get(); null: get() packs immediately
};

}  // namespace parallax
