// Chunks of the columns of a BitsMatrix: a chunk is one vector of words, with the scale and the
// zero point of each word's block. Included once per target (the guard toggles).
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cpu/quantised/bits_inl.h"
#include "kernels/cpu/quantised/bits_matrix.h"

// The loops of MatMulNBits over few rows use it. BitsProduct's sizes are those of the matrix.
#if defined(PX_KERNELS_CPU_QUANTISED_BITS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_QUANTISED_BITS_COLUMNS_INL_H_
#undef PX_KERNELS_CPU_QUANTISED_BITS_COLUMNS_INL_H_
#else
#define PX_KERNELS_CPU_QUANTISED_BITS_COLUMNS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns the elements of a column that a chunk holds.
HWY_INLINE std::int64_t chunk_elements(std::int64_t bits) {
  return static_cast<std::int64_t>(hn::Lanes(FloatTag())) * 32 / bits;
}
/// Returns the chunks of a column, the last one perhaps partial.
HWY_INLINE std::int64_t chunks_of(const BitsProduct& sizes) {
  const std::int64_t chunk = chunk_elements(sizes.bits);
  return (sizes.depth + chunk - 1) / chunk;
}

/// Chunks of the columns of a matrix. kWhole promises that reads of a chunk stay inside the arrays
/// (whole_chunks()), so they are not masked. References the matrix, which must outlive it.
template <int kBits>
class BitColumns {
 public:
  using Lookup = decltype(hn::SetTableIndices(FloatTag(), static_cast<std::int32_t*>(nullptr)));

  /// `blocks` has for each lane the block that it belongs to, counted from the chunk's first one.
  /// REQUIRES: the block is a power of two of elements.
  HWY_INLINE BitColumns(const BitsMatrix& matrix, const std::int32_t* blocks)
      : m_(matrix),
        lookup_(hn::SetTableIndices(FloatTag(), blocks)),
        shifts_(hn::Mul(hn::BitCast(WordTag(), hn::LoadU(hn::RebindToSigned<FloatTag>(), blocks)),
                        hn::Set(WordTag(), kBits))),
        blocks_(matrix.sizes.blocks()),
        column_bytes_(blocks_ * matrix.sizes.block_bytes()),
        log_block_(std::countr_zero(static_cast<std::uint64_t>(matrix.sizes.block))) {}

  /// Loads a chunk, and prefetches that of the column `group` columns further.
  template <bool kWhole>
  HWY_INLINE WordVec words(std::int64_t column, std::int64_t chunk, std::int64_t group) const {
    const std::int64_t at = chunk * kChunkBytes, left = column_bytes_ - at;
    const std::byte* from = m_.weights + column * column_bytes_ + at;
    __builtin_prefetch(from + group * column_bytes_, 0, 3);
    if (kWhole || left >= kChunkBytes) return load_bytes(WordTag(), from);
    return load_first(WordTag(), from, left / 4);
  }
  /// Returns the scale of each lane's block.
  template <bool kWhole>
  HWY_INLINE FloatVec scale(std::int64_t column, std::int64_t chunk) const {
    return of_blocks<kWhole>(m_.scales, column, chunk);
  }
  /// Returns zero points minus the midpoint.
  template <bool kWhole>
  HWY_INLINE FloatVec zero(const BitFields<kBits>& fields, std::int64_t column,
                           std::int64_t chunk) const {
    const FloatTag d;
    const auto midpoint = hn::Set(d, static_cast<float>(kMidpoint<kBits>));
    if (!m_.packed_zeros) return hn::Sub(of_blocks<kWhole>(m_.zeros, column, chunk), midpoint);
    // A chunk has at most 32 bits of zero points.
    const std::int64_t bytes = m_.sizes.zero_bytes(), bit = first_block(chunk) * kBits;
    const std::int64_t at = column * bytes + bit / 8;
    std::uint32_t word = 0;
    if (const std::int64_t left = m_.sizes.columns * bytes - at; left >= 4) {
      std::memcpy(&word, m_.zeros + at, sizeof(word));
    } else {
      std::memcpy(&word, m_.zeros + at, static_cast<std::size_t>(left));
    }
    const WordTag w;
    const auto shifts = hn::Add(shifts_, hn::Set(w, static_cast<std::uint32_t>(bit % 8)));
    auto shifted = hn::Shr(hn::Set(w, word), shifts);
    if constexpr (kFromTable<kBits>) return fields.next(shifted);
    const auto field = hn::And(shifted, hn::Set(w, (1U << kBits) - 1U));
    return hn::Sub(hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<FloatTag>(), field)), midpoint);
  }
  /// Returns how many chunks of columns up to `last` may be read with kWhole: they end inside the
  /// column, and a vector of numbers of blocks from theirs on ends inside the array.
  std::int64_t whole_chunks(std::int64_t last) const {
    const std::int64_t block = (m_.sizes.columns - last) * blocks_ - kLanes;
    if (block < 0) return 0;
    return std::min(column_bytes_, (block + 1) * m_.sizes.block_bytes()) / kChunkBytes;
  }

 private:
  /// Words of a chunk.
  static constexpr std::int64_t kLanes = sizeof(FloatVec) / sizeof(float);
  /// Bytes of a chunk in a column.
  static constexpr std::int64_t kChunkBytes = static_cast<std::int64_t>(sizeof(WordVec));

  /// Returns the index in a column of the block in which a chunk begins.
  HWY_INLINE std::int64_t first_block(std::int64_t chunk) const {
    return chunk * (kChunkBytes * 8 / kBits) >> log_block_;
  }
  /// Loads numbers of the blocks of a chunk, for each lane that of its block.
  template <bool kWhole>
  HWY_INLINE FloatVec of_blocks(const std::byte* numbers, std::int64_t column,
                                std::int64_t chunk) const {
    const FloatTag d;
    const std::int64_t block = first_block(chunk), at = column * blocks_ + block;
    const std::byte* from = numbers + at * 4;
    if (kWhole) return hn::TableLookupLanes(load_bytes(d, from), lookup_);
    // Lanes past the column's end must not be those of the next column, which may be infinite.
    const bool partial = (chunk + 1) * kChunkBytes > column_bytes_;
    const std::int64_t left = partial ? blocks_ - block : m_.sizes.columns * blocks_ - at;
    return hn::TableLookupLanes(left >= kLanes ? load_bytes(d, from) : load_first(d, from, left),
                                lookup_);
  }

  const BitsMatrix& m_;
  Lookup lookup_;   // block of each lane, counted from the chunk's first
  WordVec shifts_;  // bits from the first block's zero point to the lane's
  /// Blocks of a column; bytes of a column, the padding of its last block included.
  std::int64_t blocks_, column_bytes_;
  /// Binary logarithm of the elements of a block.
  int log_block_;
};

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_QUANTISED_BITS_COLUMNS_INL_H_
