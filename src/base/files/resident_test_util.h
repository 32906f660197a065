// For tests of mapped files: the memory that a map takes.
#pragma once

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>

namespace parallax {

/// Returns the KiB of the map that begins at `begin` that this process holds; -1 if there is no
/// such map. (mincore would tell of the page cache.)
inline long resident_kib(const std::byte* begin) {
  std::ifstream smaps("/proc/self/smaps");
  char start[32];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(begin));
  bool found = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < 17 && line.rfind(start, 0) == 0) found = true;
    if (found && line.rfind("Rss:", 0) == 0) return std::stol(line.substr(4));
  }
  return -1;
}

}  // namespace parallax
