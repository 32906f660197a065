#include "base/large_pages.h"

#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace parallax {
namespace {

// Of Linux 5.14 and 6.1, by number: the headers may be older than the system.
constexpr int kPopulateWrite = 23;
constexpr int kCollapse = 25;

bool advise(std::byte* page, int advice) {
  return ::madvise(page, static_cast<std::size_t>(kLargePage), advice) == 0;
}

}  // namespace

bool first_touch(std::byte* page, LargePageWatch& watch) {
  const bool large = watch.quick();
  (void)advise(page, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const auto begin = std::chrono::steady_clock::now();
  (void)advise(page, kPopulateWrite);
  if (large) watch.record(std::chrono::steady_clock::now() - begin);
  return large;
}

void keep_small(std::span<std::byte> bytes) {
  (void)::madvise(bytes.data(), bytes.size(), MADV_NOHUGEPAGE);
}

void promote_page(std::byte* page) {
  (void)advise(page, MADV_HUGEPAGE);
  (void)advise(page, kCollapse);
}

std::int64_t map_in_large_pages(std::span<const std::byte> mapped) {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped.data());
  if (mapped.size() < static_cast<std::size_t>(kLargePage)) return 0;
  if (::madvise(const_cast<std::byte*>(mapped.data()), mapped.size(), MADV_HUGEPAGE) != 0) return 0;
  for (std::size_t at = 0; at < mapped.size(); at += static_cast<std::size_t>(kLargePage))
    (void)*static_cast<const volatile std::byte*>(mapped.data() + at);
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

}  // namespace parallax
