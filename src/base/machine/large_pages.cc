#include "base/machine/large_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "base/files/descriptor.h"

namespace parallax {
namespace {

// Values of Linux 5.14 and 6.1: the headers may be older than the system.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

// PAGEMAP_SCAN of Linux 6.7 (Documentation/admin-guide/mm/pagemap.rst), by its layout for the same
// reason.
struct PageRegion {
  std::uint64_t begin, end, categories;
};
struct PageScan {
  std::uint64_t size, flags, begin, end, walk_end, regions, most_regions, most_pages;
  std::uint64_t inverted, all_of, any_of, returned;
};
constexpr std::uint64_t kIsLarge = 64;

bool advise(std::byte* page, int advice) {
  return ::madvise(page, static_cast<std::size_t>(kLargePage), advice) == 0;
}

/// Returns the bytes of `mapped` that are in large pages; nullopt if the system cannot tell.
std::optional<std::int64_t> scan(std::span<const std::byte> mapped) {
  const Descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (pagemap.get() < 0) return std::nullopt;
  std::array<PageRegion, 64> regions = {};
  PageScan scan = {};
  scan.size = sizeof scan;
  scan.begin = reinterpret_cast<std::uintptr_t>(mapped.data());
  scan.end = scan.begin + mapped.size();
  scan.regions = reinterpret_cast<std::uintptr_t>(regions.data());
  scan.most_regions = regions.size();
  scan.all_of = scan.returned = kIsLarge;
  std::uint64_t bytes = 0;
  while (scan.begin < scan.end) {
    const int found = ::ioctl(pagemap.get(), _IOWR('f', 16, PageScan), &scan);
    if (found < 0 || scan.walk_end <= scan.begin) return std::nullopt;
    for (const PageRegion& region : std::span(regions).first(static_cast<std::size_t>(found)))
      bytes += region.end - region.begin;
    scan.begin = scan.walk_end;
  }
  return static_cast<std::int64_t>(bytes);
}

/// Does the same by the system's description of all maps, which needs 0.3 to 0.7 ms instead of
/// 0.05.
std::int64_t look_up(std::span<const std::byte> mapped) {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data());
  // "7f12...-7f34... r--p ..." begins what is said of a map; all else begins with a capital. A
  // process has a hundred maps and each has 25 lines.
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0;
    unsigned long last = 0;
    long kilobytes = 0;
    const bool head = !line.empty() && (line[0] < 'A' || line[0] > 'Z');
    if (head && std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      if (found) return 0;
      found = first <= begin && begin < last;
    } else if (found && std::sscanf(line.c_str(), "FilePmdMapped: %ld", &kilobytes) == 1) {
      return std::int64_t{kilobytes} * 1024;
    }
  }
  return 0;
}

/// Writes a byte back unchanged, so that a page fault provides a large page, if one is wanted:
/// unlike advice, a fault does not prevent the rest of the process from mapping memory meanwhile.
/// To the address sanitizer the byte may not be allocated yet.
[[gnu::no_sanitize_address]] void write_back(std::byte* byte) {
  volatile std::byte* const written = byte;
  *written = *written;
}

}  // namespace

void want_large(std::span<std::byte> bytes) {
  (void)::madvise(bytes.data(), bytes.size(), MADV_HUGEPAGE);
}

void want_small(std::span<std::byte> bytes) {
  (void)::madvise(bytes.data(), bytes.size(), MADV_NOHUGEPAGE);
}

void first_touch(std::byte* page, LargePageWatch* watch) {
  const auto begin = std::chrono::steady_clock::now();
  write_back(page);
  (void)advise(page, kPopulateWrite);
  if (watch != nullptr) watch->record(std::chrono::steady_clock::now() - begin);
}

void promote_page(std::byte* page) {
  (void)advise(page, MADV_HUGEPAGE);
  (void)advise(page, kCollapse);
}

std::int64_t map_in_large_pages(std::span<const std::byte> mapped) {
  if (mapped.size() < static_cast<std::size_t>(kLargePage)) return 0;
  if (::madvise(const_cast<std::byte*>(mapped.data()), mapped.size(), MADV_HUGEPAGE) != 0) return 0;
  for (std::size_t at = 0; at < mapped.size(); at += static_cast<std::size_t>(kLargePage))
    (void)*static_cast<const volatile std::byte*>(mapped.data() + at);
  const auto bytes = scan(mapped);
  return bytes ? *bytes : look_up(mapped);
}

}  // namespace parallax
