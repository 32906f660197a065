// Size of a kernel's table as Kernel::table_bytes() reports it. Thread-safety: pure function.
// Memory planning adds it to the bytes of a plan.
#pragma once

#include <cstdint>
#include <vector>

namespace parallax {

/// Returns the bytes that the vector has allocated, its unused capacity included; memory that its
/// elements own is not counted. sizeof(T) counts padding; std::vector<bool> has no such size and
/// cannot be passed.
template <class T>
std::int64_t bytes_of_table(const std::vector<T>& table) {
  return static_cast<std::int64_t>(table.capacity() * sizeof(T));
}

}  // namespace parallax
