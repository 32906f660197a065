// Products of few rows: dot products along columns, whose weights are widened in registers and
// shared by the rows. A chunk is one vector of words. The sums of a chunk are scaled by vectors,
// since a chunk has several blocks if they are short.
#include <algorithm>

#include "kernels/cpu/quantised/bits_matrix.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/bits_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/quantised/bits_columns_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr bool kManyRegisters = true;
#else
constexpr bool kManyRegisters = false;
#endif
/// Columns that R rows are multiplied with together.
template <std::size_t R>
constexpr std::size_t kColumns = R == 1                     ? 4
                                 : kManyRegisters || R == 2 ? 2
                                                            : 1;

/// Adds the products of a chunk, at `x` in R rows that lie `stride` apart, with C columns.
template <int kBits, bool kWhole, bool kZeros, std::size_t R, std::size_t C>
HWY_INLINE void add_chunk(const BitColumns<kBits>& columns, const BitFields<kBits>& fields,
                          std::int64_t column, std::int64_t chunk, const float* HWY_RESTRICT x,
                          std::size_t stride, FloatVec (&total)[R][C]) {
  const FloatTag d;
  constexpr std::size_t kEach = kPerWord<kBits>;
  const std::size_t lanes = hn::Lanes(d);
  WordVec words[C];
  FloatVec sum[R][C];
  PX_UNROLL for (std::size_t j = 0; j < C; ++j) {
    const std::int64_t at = column + static_cast<std::int64_t>(j);
    words[j] = fields.begin(columns.template words<kWhole>(at, chunk, C));
    PX_UNROLL for (std::size_t r = 0; r < R; ++r) sum[r][j] = hn::Zero(d);
  }
#pragma GCC unroll 4  // fewer registers wait; 16 would be much code
  for (std::size_t i = 0; i < kEach; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < C; ++j) {
      const auto weights = fields.next(words[j]);
      PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
        sum[r][j] = hn::MulAdd(hn::LoadU(d, x + r * stride + i * lanes), weights, sum[r][j]);
      }
    }
  }
  PX_UNROLL for (std::size_t j = 0; j < C; ++j) {
    const std::int64_t at = column + static_cast<std::int64_t>(j);
    if constexpr (kZeros) {
      const auto zero = columns.template zero<kWhole>(fields, at, chunk);
      PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
        sum[r][j] = hn::NegMulAdd(zero, hn::LoadU(d, x + r * stride + kEach * lanes), sum[r][j]);
      }
    }
    const auto scale = columns.template scale<kWhole>(at, chunk);
    PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
      total[r][j] = hn::MulAdd(sum[r][j], scale, total[r][j]);
    }
  }
}

struct ChunkRange {
  std::int64_t begin, end;
};

/// Adds to `total`, a vector, the products of a row and a column in chunks that may be cut, or lie
/// at the end of an array.
template <int kBits, bool kZeros>
HWY_NOINLINE void add_last_chunks(const BitColumns<kBits>& columns, std::int64_t column,
                                  ChunkRange chunks, const float* HWY_RESTRICT x, float* total) {
  const FloatTag d;
  const BitFields<kBits> fields;
  const std::size_t step = (kPerWord<kBits> + 1) * hn::Lanes(d);
  FloatVec sum[1][1] = {{hn::LoadU(d, total)}};
  for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk, x += step)
    add_chunk<kBits, false, kZeros>(columns, fields, column, chunk, x, 0, sum);
  hn::StoreU(sum[0][0], d, total);
}

/// Multiplies R arranged rows from `row` on with C columns.
template <int kBits, bool kZeros, std::size_t R, std::size_t C>
HWY_INLINE void multiply_group(const BitColumns<kBits>& columns, const BitsMatrix& matrix,
                               const BitsRows& product, std::int64_t row, std::int64_t column) {
  const FloatTag d;
  const BitFields<kBits> fields;
  const std::size_t step = (kPerWord<kBits> + 1) * hn::Lanes(d);
  const std::int64_t chunks = chunks_of(matrix.sizes);
  const std::int64_t whole =
      std::min(chunks, columns.whole_chunks(column + static_cast<std::int64_t>(C) - 1));
  const std::size_t stride = static_cast<std::size_t>(chunks) * step;
  const float* HWY_RESTRICT x = product.rows + static_cast<std::size_t>(row) * stride;
  FloatVec total[R][C];
  PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
    PX_UNROLL for (std::size_t j = 0; j < C; ++j) total[r][j] = hn::Zero(d);
  }
  std::int64_t chunk = 0;
  for (; chunk < whole; ++chunk, x += step)
    add_chunk<kBits, true, kZeros>(columns, fields, column, chunk, x, stride, total);
  if (chunk < chunks) {
    HWY_ALIGN float sums[R * C * hn::MaxLanes(FloatTag())];
    PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
      PX_UNROLL for (std::size_t j = 0; j < C; ++j)
          hn::Store(total[r][j], d, sums + (r * C + j) * hn::Lanes(d));
    }
    for (std::size_t i = 0; i < R * C; ++i)
      add_last_chunks<kBits, kZeros>(columns, column + static_cast<std::int64_t>(i % C),
                                     {chunk, chunks}, x + i / C * stride, sums + i * hn::Lanes(d));
    PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
      PX_UNROLL for (std::size_t j = 0; j < C; ++j) total[r][j] =
          hn::Load(d, sums + (r * C + j) * hn::Lanes(d));
    }
  }
  PX_UNROLL for (std::size_t j = 0; j < C; ++j) {
    const std::int64_t at = column + static_cast<std::int64_t>(j);
    float bias = 0;
    if (product.bias != nullptr) std::memcpy(&bias, product.bias + at * 4, sizeof(bias));
    PX_UNROLL for (std::size_t r = 0; r < R; ++r) {
      const float all = hn::GetLane(hn::SumOfLanes(d, total[r][j]));
      product.to[(row + static_cast<std::int64_t>(r)) * matrix.sizes.columns + at] =
          product.bias == nullptr ? all : all + bias;
    }
  }
}

template <int kBits, bool kZeros, std::size_t R>
HWY_NOINLINE void multiply_rows(const BitsMatrix& matrix, const BitsRows& product,
                                std::int64_t row) {
  constexpr std::size_t kGroup = kColumns<R>;
  HWY_ALIGN std::int32_t blocks[hn::MaxLanes(FloatTag())];
  for (std::size_t i = 0; i < hn::Lanes(FloatTag()); ++i)
    blocks[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i * kPerWord<kBits>) /
                                          matrix.sizes.block);
  const BitColumns<kBits> columns(matrix, blocks);
  std::int64_t column = product.begin;
  for (; column + static_cast<std::int64_t>(kGroup) <= product.end; column += kGroup)
    multiply_group<kBits, kZeros, R, kGroup>(columns, matrix, product, row, column);
  for (; column < product.end; ++column)
    multiply_group<kBits, kZeros, R, 1>(columns, matrix, product, row, column);
}

template <int kBits, bool kZeros>
void multiply_rows_of(const BitsMatrix& matrix, const BitsRows& product) {
  std::int64_t row = 0;
  for (; row + 4 <= product.count; row += 4) multiply_rows<kBits, kZeros, 4>(matrix, product, row);
  for (; row + 2 <= product.count; row += 2) multiply_rows<kBits, kZeros, 2>(matrix, product, row);
  if (row < product.count) multiply_rows<kBits, kZeros, 1>(matrix, product, row);
}

template <int kBits>
void multiply_rows_of(const BitsMatrix& matrix, const BitsRows& product) {
  if (matrix.zeros != nullptr) return multiply_rows_of<kBits, true>(matrix, product);
  multiply_rows_of<kBits, false>(matrix, product);
}

template <int kBits>
void arrange_row(const BitsProduct& sizes, const float* row, float* to) {
  constexpr std::size_t kEach = kPerWord<kBits>;
  const std::size_t lanes = hn::Lanes(FloatTag()), depth = static_cast<std::size_t>(sizes.depth);
  for (std::size_t begin = 0; begin < depth; begin += lanes * kEach, to += lanes * (kEach + 1)) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t k = begin + lane * kEach;
      float sum = 0;
      for (std::size_t i = 0; i < kEach; ++i) {
        const std::size_t at = k + BitFields<kBits>::position(i);
        const float x = at < depth ? row[at] : 0.0F;
        to[i * lanes + lane] = x;
        sum += x;
      }
      to[kEach * lanes + lane] = sum;
    }
  }
}

}  // namespace

std::int64_t floats_of_row(const BitsProduct& sizes) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FloatTag()));
  return chunks_of(sizes) * (32 / sizes.bits + 1) * lanes;
}

void arrange_one_row(const BitsProduct& sizes, const float* row, float* to) {
  if (sizes.bits == 2) return arrange_row<2>(sizes, row, to);
  if (sizes.bits == 4) return arrange_row<4>(sizes, row, to);
  arrange_row<8>(sizes, row, to);
}

void multiply_few_rows(const BitsMatrix& matrix, const BitsRows& product) {
  if (matrix.sizes.bits == 2) return multiply_rows_of<2>(matrix, product);
  if (matrix.sizes.bits == 4) return multiply_rows_of<4>(matrix, product);
  multiply_rows_of<8>(matrix, product);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(floats_of_row);
HWY_EXPORT(arrange_one_row);
HWY_EXPORT(multiply_few_rows);

std::int64_t bits_row_floats(const BitsProduct& sizes) {
  return HWY_DYNAMIC_DISPATCH(floats_of_row)(sizes);
}
void arrange_bits_row(const BitsProduct& sizes, const float* row, float* to) {
  HWY_DYNAMIC_DISPATCH(arrange_one_row)(sizes, row, to);
}
void multiply_bits(const BitsMatrix& matrix, const BitsRows& product) {
  HWY_DYNAMIC_DISPATCH(multiply_few_rows)(matrix, product);
}

}  // namespace parallax
#endif  // HWY_ONCE
