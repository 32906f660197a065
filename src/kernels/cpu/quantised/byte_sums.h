// Sums of unsigned bytes, for the zero points of quantised products. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Writes the sum of the first `n` bytes of row r to to[r], for `rows` rows that begin `stride`
/// bytes apart. Sums are exact for n up to 2^23. Bytes past the n-th of a row are not read.
void sum_byte_rows(const std::uint8_t* from, std::size_t stride, std::size_t n, std::size_t rows,
                   std::int32_t* to);

}  // namespace parallax
