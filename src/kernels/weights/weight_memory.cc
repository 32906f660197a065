#include "kernels/weights/weight_memory.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "cache/weight_cache.h"

namespace parallax {
namespace {

/// Larger blocks get a chunk of their own.
constexpr std::int64_t kMaxChunk = std::int64_t{64} << 20;
/// Pages that prefault() touches between two calls of has_room: 32 MiB need 2 ms or more, a call
/// 0.1 ms.
constexpr std::int64_t kPagesBetween = 16;

/// Maps `bytes`, a multiple of kLargePage, at a multiple of kLargePage; null if there is no memory.
std::shared_ptr<std::byte> map_aligned(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  constexpr auto kPage = static_cast<std::size_t>(kLargePage);
  void* const memory =
      ::mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + size, kPage - before);
  return {begin + before, [size](std::byte* mapped) { ::munmap(mapped, size); }};
}

/// Tells the address sanitizer, if there is one, whether these bytes may be accessed.
void set_usable([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::int64_t bytes,
                [[maybe_unused]] bool usable) {
#ifdef __SANITIZE_ADDRESS__
  const auto size = static_cast<std::size_t>(bytes);
  if (usable) {
    ASAN_UNPOISON_MEMORY_REGION(begin, size);
  } else {
    ASAN_POISON_MEMORY_REGION(begin, size);
  }
#endif
}

Error no_memory_for_weights(std::int64_t bytes) {
  return {Stage::kCompile,
          ErrorCode::kOutOfMemory,
          {},
          "cannot allocate " + std::to_string(bytes) + " bytes for packed weights"};
}

}  // namespace

struct WeightMemory::Chunk {
  enum class State : std::uint8_t { kUntouched, kTouching, kSmall, kLarge };

  /// `large`: advises the system to use large pages.
  Chunk(std::shared_ptr<std::byte> memory, std::int64_t size, bool large)
      : owner(std::move(memory)),
        begin(owner.get()),
        bytes(size),
        advised(large),
        pages(static_cast<std::size_t>(size / kLargePage)) {
    if (advised) want_large({begin, static_cast<std::size_t>(bytes)});
    set_usable(begin, bytes, false);
  }
  ~Chunk() { set_usable(begin, bytes, true); }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  std::byte* at(std::size_t page) const {
    return begin + static_cast<std::int64_t>(page) * kLargePage;
  }
  /// Makes pages of this chunk that are touched from now on small ones.
  void keep_small() {
    if (!small.exchange(true)) want_small({begin, static_cast<std::size_t>(bytes)});
  }
  /// Returns touched pages that no block reaches to the system.
  void give_back_rest() {
    const auto first = static_cast<std::size_t>((used + kLargePage - 1) / kLargePage);
    for (std::size_t page = first; page < pages.size(); ++page) {
      if (pages[page].exchange(State::kUntouched) == State::kUntouched) continue;
      (void)::madvise(at(page), static_cast<std::size_t>(kLargePage), MADV_DONTNEED);
    }
  }
  /// Number of pages that are wholly in blocks.
  std::size_t full_pages() const { return static_cast<std::size_t>(used.load() / kLargePage); }

  const std::shared_ptr<std::byte> owner;
  std::byte* const begin;
  const std::int64_t bytes;
  const bool advised;
  std::atomic<std::int64_t> used = 0;
  std::atomic<bool> small = false;
  std::vector<std::atomic<State>> pages;
};

WeightMemory::WeightMemory() = default;
WeightMemory::~WeightMemory() = default;

/// Returns null if there is no memory.
std::shared_ptr<WeightMemory::Chunk> WeightMemory::add_chunk(std::int64_t bytes) {
  std::shared_ptr<std::byte> memory =
      source_->is_users() ? source_->allocate(bytes, kLargePage) : map_aligned(bytes);
  if (memory == nullptr) return nullptr;
  if (!source_->large()) source_->want_small({memory.get(), static_cast<std::size_t>(bytes)});
  auto chunk = std::make_shared<Chunk>(std::move(memory), bytes, source_->large());
  const MutexLock lock(mutex_);
  chunks_.push_back(chunk);
  total_ += bytes;
  return chunk;
}

std::shared_ptr<WeightMemory::Chunk> WeightMemory::add_chunk_for_prefault(std::int64_t bytes) {
  const MutexLock turn(growing_);
  // As below: half of the addresses are used.
  const auto size = checked_add(bytes, bytes);
  return size ? add_chunk(*size) : nullptr;
}

void WeightMemory::prefault(std::int64_t bytes,
                            const std::function<bool(std::int64_t left)>& has_room) {
  const MutexLock lock(prefaulting_);
  const std::int64_t count = bytes / kLargePage;
  if (count <= 0 || prefault_ended_ || !has_room(bytes)) return;
  const auto chunk = add_chunk_for_prefault(count * kLargePage);
  if (chunk == nullptr) return;
  for (std::int64_t page = 0; page < count && !prefault_ended_; ++page) {
    if (page > 0 && page % kPagesBetween == 0 && !has_room((count - page) * kLargePage)) {
      const MutexLock none_allocates(mutex_);
      return chunk->give_back_rest();
    }
    touch_page(*chunk, static_cast<std::size_t>(page), true);
  }
}

void WeightMemory::end_prefault() {
  if (prefault_ended_.exchange(true)) return;
  const MutexLock none_prefaults(prefaulting_);
  const MutexLock none_allocates(mutex_);
  for (const auto& chunk : chunks_) chunk->give_back_rest();
}

Result<AlignedBytes> WeightMemory::allocate(std::int64_t bytes) {
  // A byte more: no two blocks touch, so that the address sanitizer sees the end of each.
  const auto more = bytes < 0 ? std::nullopt : checked_add(bytes, 1);
  const auto taken = more ? checked_align(*more, kAlignment) : std::nullopt;
  const auto own = taken ? checked_align(*taken, kLargePage) : std::nullopt;
  if (!own || !checked_add(*own, kLargePage)) return tl::unexpected(no_memory_for_weights(bytes));
  const MutexLock turn(growing_);
  std::shared_ptr<Chunk> chunk;
  std::int64_t size = 0;
  {
    const MutexLock lock(mutex_);
    if (!chunks_.empty()) chunk = chunks_.back();
    // Doubles the total, so that at least half of the addresses are used and small models need few.
    size = std::max(*own, std::min(*checked_align(total_, kLargePage), kMaxChunk));
  }
  if (chunk == nullptr || *taken > chunk->bytes - chunk->used) {
    chunk = add_chunk(size);
    if (chunk == nullptr && size > *own) chunk = add_chunk(*own);
    if (chunk == nullptr) return tl::unexpected(no_memory_for_weights(bytes));
  }
  const MutexLock lock(mutex_);  // end_prefault() gives back unused pages
  std::byte* const begin = chunk->begin + chunk->used.fetch_add(*taken);
  set_usable(begin, bytes, true);
  if (source_->is_users()) std::memset(begin, 0, static_cast<std::size_t>(bytes));
  return AlignedBytes::shared({{begin, static_cast<std::size_t>(bytes)}, chunk});
}

/// Looks up one chunk rather than copying the list, as runs must not allocate.
std::shared_ptr<WeightMemory::Chunk> WeightMemory::chunk(std::size_t index) const {
  const MutexLock lock(mutex_);
  return index < chunks_.size() ? chunks_[index] : nullptr;
}

std::shared_ptr<WeightMemory::Chunk> WeightMemory::chunk_of(const std::byte* byte) const {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(chunks_.begin(), chunks_.end(), [byte](const auto& chunk) {
    return std::less_equal<>{}(chunk->begin, byte) &&
           std::less<>{}(byte, chunk->begin + chunk->bytes);
  });
  return found == chunks_.end() ? nullptr : *found;
}

/// Returns when the page is mapped, by this thread or another.
void WeightMemory::touch_page(Chunk& chunk, std::size_t page, bool full) {
  using State = Chunk::State;
  std::atomic<State>& state = chunk.pages[page];
  if (auto untouched = State::kUntouched;
      !state.compare_exchange_strong(untouched, State::kTouching)) {
    state.wait(State::kTouching);
  } else {
    if (chunk.advised && !source_->watch().quick()) chunk.keep_small();
    const bool large = full && chunk.advised && !chunk.small;
    if (full) {
      if (!source_->is_users()) first_touch(chunk.at(page), large ? &source_->watch() : nullptr);
    } else if (
        chunk.advised) {  // its rest may never be used: small pages take no more than is needed
      want_small({chunk.at(page), static_cast<std::size_t>(kLargePage)});
    }
    state = large ? State::kLarge : State::kSmall;
    state.notify_all();
  }
  if (state == State::kSmall && chunk.advised) some_small_ = true;
}

void WeightMemory::touch(const AlignedBytes& bytes) {
  const auto chunk = chunk_of(bytes.data());
  if (chunk == nullptr || bytes.size() == 0) return;
  const std::int64_t offset = bytes.data() - chunk->begin;
  const auto end = static_cast<std::size_t>((offset + bytes.size() - 1) / kLargePage) + 1;
  for (auto page = static_cast<std::size_t>(offset / kLargePage); page < end; ++page)
    touch_page(*chunk, page, page < chunk->full_pages());
}

void WeightMemory::promote(std::chrono::nanoseconds limit) {
  if (!some_small_.load(std::memory_order_relaxed)) return;
  if (!promoting_.try_lock()) return;
  const MutexLock lock(promoting_, std::adopt_lock);
  const auto end = std::chrono::steady_clock::now() + limit;
  some_small_ = false;
  for (std::size_t i = 0; const auto chunk = this->chunk(i); ++i) {
    for (std::size_t page = 0; page < chunk->full_pages(); ++page) {
      if (chunk->pages[page] != Chunk::State::kSmall) continue;
      promote_page(chunk->at(page));
      chunk->pages[page] = Chunk::State::kLarge;
      if (std::chrono::steady_clock::now() < end) continue;
      some_small_ = true;
      return;
    }
  }
}

WeightMemory::Pages WeightMemory::pages() const {
  Pages pages;
  for (std::size_t i = 0; const auto chunk = this->chunk(i); ++i) {
    for (std::size_t page = 0; page < chunk->full_pages(); ++page) {
      pages.small += chunk->pages[page] == Chunk::State::kSmall ? 1 : 0;
      pages.large += chunk->pages[page] == Chunk::State::kLarge ? 1 : 0;
    }
  }
  return pages;
}

}  // namespace parallax
