#include "run/run_block.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/checked.h"
#include "base/machine/large_pages.h"

namespace parallax {
namespace {

/// Time that a run may spend on converting its block to large pages that the first run with it did
/// not wait for.
constexpr std::chrono::milliseconds kPromotion{50};

/// Returns the bytes of a block that large pages can hold: these save page faults in the first run,
/// and misses of the page table in all runs.
std::int64_t whole_pages(std::int64_t bytes) { return bytes / kLargePage * kLargePage; }

}  // namespace

Error out_of_memory(std::int64_t bytes) {
  return {Stage::kRun,
          ErrorCode::kOutOfMemory,
          {},
          fmt::format("cannot allocate {} bytes for activations", bytes)};
}

void RunBlock::Free::operator()(std::byte* p) const {
  if (owner == nullptr) std::free(p);
}

Result<RunBlocks> allocate_block(std::int64_t bytes, std::shared_ptr<MemorySource> source) {
  RunBlocks blocks(1);  // first, because it may throw and the memory would leak
  const std::int64_t alignment = bytes >= kLargePage ? kLargePage : kAlignment;
  const auto rounded = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  // Not aligned_alloc: it requires a multiple of the alignment.
  void* memory = nullptr;
  std::shared_ptr<std::byte> owner;
  if (rounded && source->is_users()) {
    owner = source->allocate(*rounded, kAlignment);
    memory = owner.get();
  } else if (!rounded || posix_memalign(&memory, static_cast<std::size_t>(alignment),
                                        static_cast<std::size_t>(*rounded)) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr) return tl::unexpected(out_of_memory(bytes));
  RunBlock& block = blocks.front();
  block.memory = {static_cast<std::byte*>(memory), RunBlock::Free{std::move(owner)}};
  block.bytes = bytes;
  block.source = std::move(source);
  return blocks;
}

void touch_block(RunBlock& block, bool fresh, const Deadline& deadline) {
  const std::int64_t whole = whole_pages(block.bytes);
  if (!block.source->large()) {
    if (fresh) block.source->want_small({block.memory.get(), static_cast<std::size_t>(whole)});
    return;
  }
  LargePageWatch& watch = block.source->watch();
  const auto end = std::chrono::steady_clock::now() + spare_time(deadline, kPromotion);
  if (fresh && whole > 0) want_large({block.memory.get(), static_cast<std::size_t>(whole)});
  while (block.large < whole && (fresh || std::chrono::steady_clock::now() < end)) {
    std::byte* const page = block.memory.get() + block.large;
    if (!fresh) {
      promote_page(page);
    } else if (!watch.quick()) {
      return want_small({page, static_cast<std::size_t>(whole - block.large)});
    } else {
      first_touch(page, &watch);
    }
    block.large += kLargePage;
  }
}

}  // namespace parallax
