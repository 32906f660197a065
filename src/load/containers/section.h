// A part of a container file, as the readers of all container formats find it. The file is an
// attacker's. Thread-safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "parallax/model.h"

namespace parallax {

/// A section and the bytes that it has in the file. Built by read_zip() and read_litertlm(). Copies
/// share `bytes`, which the owner of the file keeps alive.
struct Section {
  FileSection shown;                 ///< `bytes` is the size of the span below
  std::span<const std::byte> bytes;  ///< points into the file
  bool compressed = false;           ///< an entry of an archive that is not stored as it is
};

/// A place in a file, in bytes from its beginning: the first byte and the one behind the last. Both
/// are >= 0, and the first is not above the second.
using ByteRange = std::pair<std::int64_t, std::int64_t>;

/// Whether two of the ranges have a byte in common; empty ones have none. Ranges that only touch
/// have no byte in common. O(n log n).
bool overlap(std::vector<ByteRange> ranges);

/// Whether a range of `size` bytes that begins at `offset` is inside the first `end` bytes; false
/// also for negative numbers and sums that overflow. `end` is in bytes from the beginning, as
/// `offset`; a range of size 0 may begin at `end`.
bool is_within(std::int64_t offset, std::int64_t size, std::int64_t end);

/// Returns an unsigned number of up to eight bytes, lowest first; -1 if it exceeds 63 bits.
/// REQUIRES: size <= 8, offset + size <= bytes.size().
std::int64_t number_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t size);

}  // namespace parallax
