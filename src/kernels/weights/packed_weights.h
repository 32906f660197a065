// Weights in the layout a kernel wants, made once and shared by all plans and kernels that ask for
// the same packing of the same constant.
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

/// The packings that one kernel needs and that its maker has put off. Immutable once the kernel is
/// made; its blocks are filled by PackedWeights.
class PackingList {
 public:
  bool empty() const { return blocks_.empty() && unread_.empty(); }
  /// The pages of mapped `bytes` are released when everything is packed: the kernel does not read
  /// them.
  void release_after(std::span<const std::byte> bytes) { unread_.push_back(bytes); }

 private:
  friend class PackedWeights;
  std::vector<std::shared_ptr<PackedBlock>> blocks_;
  std::vector<std::span<const std::byte>> unread_;
};

/// Thread-safe. One per Model. Packings are known by the address of what was packed, which has to
/// stay that constant's: those that end before this does are lent.
class PackedWeights {
 public:
  PackedWeights();
  /// The same blocks, but get() packs nothing: a block has its size and no memory before
  /// allocate(list), no content before fill(list). `list` is used by one thread.
  PackedWeights(const PackedWeights& blocks, PackingList& list);
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;
  ~PackedWeights();
  /// Blocks are looked for in `cache` first, and kept there. Before get().
  void use(std::shared_ptr<WeightCache> cache);
  /// Null without one.
  WeightCache* cache() const;
  /// Sets the source of the blocks' memory. Call it before get().
  void use(std::shared_ptr<MemorySource> source);

  /// The packing `layout` (a text that says everything the bytes depend on) of the constant at
  /// `source`; `fill` writes it where it is missing, now or later: it owns what it reads but the
  /// constant. Where it throws, so does this function, and the next one to ask packs again.
  /// Errors: kOutOfMemory.
  Result<std::shared_ptr<const AlignedBytes>> get(const std::byte* source,
                                                  const std::string& layout, std::int64_t bytes,
                                                  std::function<void(std::byte*)> fill);
  /// `constant` ends before this does. Until then what is packed of it is shared as well, in memory
  /// of its own. As often as it is lent forget() follows, before it ends. Throws std::bad_alloc.
  void lend(std::span<const std::byte> constant);
  /// Another constant may come to lie there. Blocks that kernels have stay theirs.
  void forget(std::span<const std::byte> constant) noexcept;
  /// Whether fill(list) has done what it does.
  bool is_filled(const PackingList& list) const;
  /// Gives memory to the blocks of `list` that have none, in the order of get(). Errors:
  /// kOutOfMemory.
  Status allocate(const PackingList& list);
  /// Fills the blocks of `list` that are not filled, all of which have memory, then releases the
  /// pages that they were made of. Errors: what a `fill` throws, as kOutOfMemory or kInternal; the
  /// next call tries again.
  Status fill(const PackingList& list);
  /// Gets memory for about `bytes` bytes of blocks; stops early where memory is short or packing
  /// ends it. For another thread, while the one that will ask for blocks does not do so yet.
  void prefault(std::int64_t bytes);
  /// Memory that no block took is given back. fill(list) does it, as all blocks have been asked for
  /// then (of a model with bodies, those of its first body).
  void end_prefault();
  /// Goes on, for so long, with giving large pages to blocks that had to be filled before there
  /// were any (WeightMemory).
  void promote_pages(std::chrono::nanoseconds limit);
  /// Bytes of all packings that kernels need, filled or not.
  std::int64_t total_bytes() const;

 private:
  struct Blocks;
  std::shared_ptr<PackedBlock> make_block(const std::byte* source, const std::string& layout,
                                          std::int64_t bytes);
  Status give_memory(PackedBlock& block);
  void fill(const std::shared_ptr<PackedBlock>& block);
  std::shared_ptr<Blocks> blocks_;
  PackingList* list_ = nullptr;
};

}  // namespace parallax
