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

/// Asks for large pages for `mapped`, the whole map of a file, reads it in and returns how many of
/// its bytes lie in such pages. If the page cache holds the file in large pages (ext4 from Linux
/// 6.16 on, xfs from 5.18 on), that takes 0.2 ms for 170 MB; otherwise it returns 0.
std::int64_t map_in_large_pages(std::span<const std::byte> mapped);

/// Whether large pages come quickly: true until one is slow. A virtual machine may have given its
/// free memory back to the host. Each large page then waits for the host to find one, while small
/// pages come from what is left of blocks in use.
class LargePageWatch {
 public:
  /// A large page takes 0.12 ms if the memory is there and 4.7 ms if the host has to find it (a
  /// small Firecracker machine, two cores of Zen 4). 2 MiB of small pages take 0.8 ms either way.
  static constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(2);

  bool quick() const { return quick_.load(std::memory_order_relaxed); }
  void record(std::chrono::nanoseconds took) {
    if (took > kSlow) quick_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> quick_ = true;
};

/// Makes `bytes`, which are untouched, take large (or small) pages when they are first written.
/// Call it for as many bytes as possible at once: all page faults of the process wait for it. If
/// the system refuses, only speed is lost.
void want_large(std::span<std::byte> bytes);
void want_small(std::span<std::byte> bytes);

/// Makes the system provide memory for the kLargePage untouched bytes at `page`, a multiple of
/// kLargePage in an anonymous map. Records the time in `watch`; null where small pages are wanted.
void first_touch(std::byte* page, LargePageWatch* watch);

/// Turns the small pages at `page`, as above, into a large one; other threads may read and write
/// them meanwhile. Linux before 6.1 cannot do it at once: it does so later.
void promote_page(std::byte* page);

}  // namespace parallax
