// Large pages of the system: one entry of the page table for 2 MiB instead of 4 KiB. Thread-safety:
// all functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

/// Bytes of a large page.
inline constexpr std::int64_t kLargePage = std::int64_t{2} << 20;

/// Requests large pages for `mapped`, the whole map of a file, reads it in and returns how many of
/// its bytes are in such pages. If the page cache holds the file in large pages (ext4 from Linux
/// 6.16 on, xfs from 5.18 on), this needs 0.2 ms for 170 MB; otherwise the result is 0. Bytes; 0
/// also for maps below kLargePage and if the system cannot tell. Every page is read in once, so the
/// call waits for the disk. Counts by PAGEMAP_SCAN from Linux 6.7 on, else by /proc/self/smaps.
std::int64_t map_in_large_pages(std::span<const std::byte> mapped);

/// Records whether large pages come quickly: true until one was slow. A virtual machine may have
/// returned its free memory to the host. Each large page then waits for the host to find one, while
/// small pages come from the remains of blocks in use. Thread-safe.
class LargePageWatch {
 public:
  /// Faults above this time count as slow. A large page needs 0.12 ms if the memory is there and
  /// 4.7 ms if the host has to find it (a small Firecracker machine, two cores of Zen 4). 2 MiB of
  /// small pages need 0.8 ms either way.
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(2);

  /// Returns whether no large page has been slow so far.
  bool quick() const { return quick_.load(std::memory_order_relaxed); }
  /// Records the time of one fault. The state never returns to quick.
  void record(std::chrono::nanoseconds took) {
    if (took > kSlow) quick_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> quick_ = true;  ///< relaxed atomic: a stale value only affects speed
};

/// Makes the system use large (or small) pages for `bytes`, which are untouched, when they are
/// first written. Use few calls with many bytes each: all page faults of the process wait during a
/// call. If the system refuses, only speed is lost. `bytes` should begin at a page; errors are
/// ignored.
void want_large(std::span<std::byte> bytes);
void want_small(std::span<std::byte> bytes);

/// Makes the system provide memory for the kLargePage untouched bytes at `page`, a multiple of
/// kLargePage in an anonymous map. Records the time in `watch`; pass null if small pages are
/// wanted. The content is kept: a byte is written back unchanged, then the rest is populated.
void first_touch(std::byte* page, LargePageWatch* watch);

/// Turns the small pages at `page`, a multiple of kLargePage, into one large page; other threads
/// may read and write them meanwhile. Linux before 6.1 does it later, in the background. The page
/// is asked to become large from now on, too. REQUIRES: it lies in an anonymous map.
void promote_page(std::byte* page);

}  // namespace parallax
