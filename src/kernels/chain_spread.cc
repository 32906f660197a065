#include "kernels/chain_spread.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace parallax {
namespace {

std::size_t chain_bytes(std::int64_t elements, std::int64_t size) {
  return static_cast<std::size_t>(elements * size);
}

/// Repeats a row: copies it once, then doubles the filled part until `whole` bytes are filled.
void repeat_row(const std::byte* from, std::size_t row, std::size_t whole, std::byte* to) {
  std::memcpy(to, from, row);
  for (std::size_t done = row; done < whole; done *= 2)
    std::memcpy(to + done, to, std::min(done, whole - done));
}

template <class T>
void fill_rows(const std::byte* from, std::int64_t stride, const ChainBlock& block, std::byte* to) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  for (std::int64_t r = 0; r < block.rows; ++r, y += block.columns)
    std::fill_n(y, block.columns, x[r * stride]);
}

void fill_rows_of(std::int64_t size, const std::byte* from, std::int64_t stride,
                  const ChainBlock& block, std::byte* to) {
  switch (size) {
    case 1:
      return fill_rows<std::uint8_t>(from, stride, block, to);
    case 2:
      return fill_rows<std::uint16_t>(from, stride, block, to);
    case 4:
      return fill_rows<std::uint32_t>(from, stride, block, to);
    default:
      return fill_rows<std::uint64_t>(from, stride, block, to);
  }
}

}  // namespace

void spread(BlockInput kind, const std::byte* from, std::int64_t row_stride, std::int64_t size,
            const ChainBlock& block, std::byte* to) {
  const std::size_t row = chain_bytes(block.columns, size);
  if (kind == BlockInput::kRow)
    return repeat_row(from, row, chain_bytes(block.elements(), size), to);
  if (kind == BlockInput::kColumn) return fill_rows_of(size, from, row_stride, block, to);
  for (std::int64_t r = 0; r < block.rows; ++r)
    std::memcpy(to + static_cast<std::size_t>(r) * row, from + r * row_stride * size, row);
}

}  // namespace parallax
