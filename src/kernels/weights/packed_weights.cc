#include "kernels/weights/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/caught.h"
#include "base/checked.h"
#include "base/files/mapped_file.h"
#include "base/machine/large_pages.h"
#include "base/machine/memory_probe.h"
#include "base/machine/memory_source.h"
#include "base/mutex.h"
#include "base/status.h"
#include "cache/weight_cache.h"
#include "kernels/weights/weight_memory.h"

namespace parallax {

/// One packing. Its size and `layout` are fixed; memory and content may be provided later.
struct PackedBlock {
  PackedBlock(AlignedBytes memory, bool is_filled, SharedBytes content = {})
      : size(memory.size()),
        bytes(std::move(memory)),
        copy_of(std::move(content)),
        filled(is_filled) {}

  const std::int64_t size;
  AlignedBytes bytes;  ///< changes under `filling`; read by kernels after it was filled
  // A mutex rather than std::once_flag, which TSan leaves locked if `make` throws.
  Mutex filling{LockOrder::kFilling};
  const std::byte* source = nullptr;
  std::string layout;
  bool lent = false;                           ///< set once: it goes with what it was packed of
  SharedBytes copy_of PX_GUARDED_BY(filling);  ///< cached content to fill it with, if not empty
  std::function<void(std::byte*)> make PX_GUARDED_BY(filling);
  bool replaces PX_GUARDED_BY(filling) = false;  ///< `make` does not read `source`
  bool filled PX_GUARDED_BY(filling);
};

struct PackedWeights::Blocks {
  /// Returns whether the constant at `source` was announced by lend().
  bool is_lent(const std::byte* source) const PX_REQUIRES(mutex) {
    const auto after = lent.upper_bound(source);
    return after != lent.begin() && std::less<>{}(source, std::prev(after)->second);
  }

  std::shared_ptr<WeightCache> cache;
  WeightMemory memory;
  Mutex mutex{LockOrder::kWeights};
  std::map<std::pair<const std::byte*, std::string>, std::shared_ptr<PackedBlock>> by_key
      PX_GUARDED_BY(mutex);
  /// Begin and end of constants, each as often as it was lent.
  std::multimap<const std::byte*, const std::byte*> lent PX_GUARDED_BY(mutex);
};

bool PackingList::replaces(const std::byte* source) const {
  return std::ranges::find(replaced_, source) != replaced_.end();
}

PackedWeights::PackedWeights() : blocks_(std::make_shared<Blocks>()) {}
PackedWeights::PackedWeights(const PackedWeights& blocks, PackingList& list)
    : blocks_(blocks.blocks_), list_(&list) {}
PackedWeights::~PackedWeights() = default;

void PackedWeights::use(std::shared_ptr<WeightCache> cache) { blocks_->cache = std::move(cache); }
WeightCache* PackedWeights::cache() const { return blocks_->cache.get(); }
void PackedWeights::use(std::shared_ptr<MemorySource> source) {
  blocks_->memory.use(std::move(source));
}

std::shared_ptr<PackedBlock> PackedWeights::make_block(const std::byte* source,
                                                       const std::string& layout,
                                                       std::int64_t bytes) {
  auto cached = cache() == nullptr ? std::nullopt : cache()->find(source, layout, bytes);
  if (cached && (bytes < kLargePage || cache()->in_large_pages()))
    return std::make_shared<PackedBlock>(AlignedBytes::shared(*std::move(cached)), true);
  auto block = std::make_shared<PackedBlock>(AlignedBytes::sized(bytes), false,
                                             std::move(cached).value_or(SharedBytes{}));
  block->source = source;
  block->layout = layout;
  return block;
}

Result<std::shared_ptr<const AlignedBytes>> PackedWeights::get(const std::byte* source,
                                                               const std::string& layout,
                                                               std::int64_t bytes,
                                                               std::function<void(std::byte*)> fill,
                                                               std::span<const std::byte> instead) {
  std::shared_ptr<PackedBlock> block;
  {
    const MutexLock lock(blocks_->mutex);
    auto& found = blocks_->by_key[{source, layout}];
    if (found == nullptr) {
      found = make_block(source, layout, bytes);
      found->lent = blocks_->is_lent(source);
    }
    block = found;
  }
  {
    const MutexLock lock(block->filling);
    // Whoever fills the block, the constant may be computed for none of its kernels.
    if (!block->filled && (!block->replaces || !instead.empty())) {
      block->make = std::move(fill);
      block->replaces = !instead.empty();
    }
  }
  if (list_ != nullptr) {
    list_->blocks_.push_back(block);
    if (!instead.empty()) {
      list_->replaced_.push_back(source);
      list_->release_after(instead);
    }
  } else {
    PX_RETURN_IF_ERROR(give_memory(*block));
    this->fill(block);
  }
  return std::shared_ptr<const AlignedBytes>(block, &block->bytes);
}

Status PackedWeights::give_memory(PackedBlock& block) {
  const MutexLock lock(block.filling);
  if (block.bytes.data() != nullptr) return {};
  if (!block.lent) {
    PX_ASSIGN(block.bytes, blocks_->memory.allocate(block.size));
    return {};
  }
  PX_ASSIGN(block.bytes, AlignedBytes::allocate(block.size, &blocks_->memory.source()));
  if (block.size > 0) std::memset(block.bytes.data(), 0, static_cast<std::size_t>(block.size));
  return {};
}

void PackedWeights::lend(std::span<const std::byte> constant) {
  if (constant.empty()) return;
  const MutexLock lock(blocks_->mutex);
  blocks_->lent.emplace(constant.data(), constant.data() + constant.size());
}

void PackedWeights::forget(std::span<const std::byte> constant) noexcept {
  if (constant.empty()) return;
  const std::byte* const end = constant.data() + constant.size();
  decltype(blocks_->by_key) gone;  // freed without the mutex, perhaps by the user's allocator
  const MutexLock lock(blocks_->mutex);
  const auto [first, last] = blocks_->lent.equal_range(constant.data());
  const auto same = std::find_if(first, last, [end](const auto& one) { return one.second == end; });
  if (same != last) blocks_->lent.erase(same);
  auto& blocks = blocks_->by_key;
  const auto behind = blocks.lower_bound({end, std::string()});
  for (auto it = blocks.lower_bound({constant.data(), std::string()}); it != behind;)
    gone.insert(gone.end(), blocks.extract(it++));
}

/// Returns when the block is filled: by this thread, or after a wait for the thread that is filling
/// it.
void PackedWeights::fill(const std::shared_ptr<PackedBlock>& block) {
  const MutexLock lock(block->filling);
  if (block->filled) return;
  blocks_->memory.touch(block->bytes);
  const auto cached = std::exchange(block->copy_of, {});
  if (cached.bytes.empty()) {
    block->make(block->bytes.data());
    const auto size = static_cast<std::size_t>(block->size);
    if (cache() != nullptr)
      cache()->keep(block->source, block->layout, {{block->bytes.data(), size}, block});
  } else {
    std::memcpy(block->bytes.data(), cached.bytes.data(), cached.bytes.size());
    release_pages(cached.bytes);
  }
  block->make = nullptr;
  block->filled = true;
}

bool PackedWeights::is_filled(const PackingList& list) const {
  return std::ranges::all_of(list.blocks_, [](const std::shared_ptr<PackedBlock>& block) {
    const MutexLock lock(block->filling);
    return block->filled;
  });
}

Status PackedWeights::allocate(const PackingList& list) {
  for (const auto& block : list.blocks_) PX_RETURN_IF_ERROR(give_memory(*block));
  return {};
}

Status PackedWeights::fill(const PackingList& list) {
  end_prefault();
  try {
    for (const auto& block : list.blocks_) fill(block);
    for (const auto& bytes : list.unread_) release_pages(bytes);
  } catch (...) {
    return tl::unexpected(caught(Stage::kCompile));
  }
  return {};
}

void PackedWeights::prefault(std::int64_t bytes) {
  // Stops if it would need more than half of the free memory: loading runs concurrently, and
  // packing releases the file's pages only as it proceeds.
  MemoryProbe probe;
  blocks_->memory.prefault(bytes, [&probe](std::int64_t left) {
    const auto free = probe.read().free;
    return !free || left <= *free / 2;
  });
}
void PackedWeights::end_prefault() { blocks_->memory.end_prefault(); }

void PackedWeights::promote_pages(std::chrono::nanoseconds limit) {
  blocks_->memory.promote(limit);
}

std::int64_t PackedWeights::total_bytes() const {
  const MutexLock lock(blocks_->mutex);
  std::int64_t total = 0;
  for (const auto& [key, block] : blocks_->by_key) total += block->size;
  return total;
}

}  // namespace parallax
