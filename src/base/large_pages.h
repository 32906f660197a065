// Large pages of the system: one entry of the page table for 2 MiB instead of 4 KiB.
// Thread-safety: all of this may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

inline constexpr std::int64_t kLargePage = std::int64_t{2} << 20;

/// Asks for large pages for `mapped`, the whole map of a file, reads it in and says how many bytes
/// of it lie in such pages. Where the file lies so in the page cache (Linux 6.16 and ext4, xfs from
/// 5.18 on), that takes 0.2 ms for 170 MB; elsewhere the answer is 0.
std::int64_t map_in_large_pages(std::span<const std::byte> mapped);

/// Whether the system has large pages at hand: it does until one took long to come. A virtual
/// machine may have given its free memory back to the host; then each large page waits for the host
/// to find one, while small ones come from what is left of blocks in use.
class LargePageWatch {
 public:
  /// One comes in 0.12 ms where the memory is there and in 4.7 where the host has to find it (a
  /// small machine of Firecracker, two cores of Zen 4); 2 MiB of small pages take 0.8 in both
  /// cases.
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(2);

  bool quick() const { return quick_.load(std::memory_order_relaxed); }
  void record(std::chrono::nanoseconds took) {
    if (took > kSlow) quick_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> quick_ = true;
};

/// Has all of `bytes`, which nobody has touched, take large pages when they are first written, or
/// small ones. For as much as possible at once: all faults of the process wait for it. A refusal of
/// the system costs speed only.
void want_large(std::span<std::byte> bytes);
void want_small(std::span<std::byte> bytes);

/// Gets memory for the kLargePage bytes at `page`, a multiple of kLargePage in an anonymous map
/// that nobody has touched there. Says in `watch` how long it took, where large pages are wanted.
void first_touch(std::byte* page, LargePageWatch* watch);

/// Makes a large page of the small ones at `page`, as above; others may read and write them
/// meanwhile. Where the system cannot (before Linux 6.1), it is asked to do so when it likes.
void promote_page(std::byte* page);

}  // namespace parallax
