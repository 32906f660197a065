// What a table of a kernel counts for Kernel::table_bytes(). Thread-safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace parallax {

template <class T>
std::int64_t bytes_of_table(const std::vector<T>& table) {
  return static_cast<std::int64_t>(table.capacity() * sizeof(T));
}

}  // namespace parallax
