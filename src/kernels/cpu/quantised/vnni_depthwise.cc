#include "kernels/cpu/quantised/vnni_depthwise.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/unroll.h"

namespace parallax {

std::size_t depthwise_weight_index(const DepthwiseRows& of, std::size_t channel, std::ptrdiff_t row,
                                   std::ptrdiff_t column) {
  const auto groups = static_cast<std::size_t>(of.groups());
  const auto width = static_cast<std::size_t>(of.kernel[1]);
  const auto tap = static_cast<std::size_t>(row);
  const std::size_t block = channel / kDepthwiseChannels, in_block = channel % kDepthwiseChannels;
  // Bytes are interleaved within 16 channels: a quarter of them in each of four vectors.
  const std::size_t lane = in_block / 16, quarter = in_block % 16 / 4;
  return ((block * groups + tap / 4) * width + static_cast<std::size_t>(column)) *
             kDepthwiseColumnBytes +
         quarter * 64 + (lane * 4 + in_block % 4) * 4 + tap % 4;
}

}  // namespace parallax

#if defined(__x86_64__)
// GCC's header initialises vectors with themselves on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#define PX_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define PX_VNNI_INLINE PX_VNNI inline __attribute__((always_inline))

namespace parallax {
namespace {

constexpr auto kColumn = static_cast<std::ptrdiff_t>(kDepthwiseColumnBytes);

/// The channels of a block, and what their sums begin with and become.
struct ChannelBlock {
  std::size_t first = 0;
  __mmask64 mask = 0;  ///< the channels that exist
  const std::uint8_t* weights = nullptr;
  std::int16_t low = 0;  ///< least whole number, before the zero point is added
  alignas(64) std::int32_t start[64];
  alignas(64) float scale[64], offset[64];
};

/// Puts elements where the sums of their channels are.
template <class T>
void arrange(const T* from, T* to) {
  for (std::size_t quarter = 0; quarter < 4; ++quarter)
    for (std::size_t lane = 0; lane < 4; ++lane)
      std::copy_n(from + lane * 16 + quarter * 4, 4, to + quarter * 16 + lane * 4);
}

void begin_block(const DepthwiseRows& rows, std::size_t first, ChannelBlock& block) {
  block.first = first;
  const std::size_t count = std::min(kDepthwiseChannels, rows.channels - first);
  block.mask = ~__mmask64{0} >> (kDepthwiseChannels - count);
  block.weights = rows.weights + depthwise_weight_index(rows, first, 0, 0);
  block.low = static_cast<std::int16_t>(std::lrint(rows.requantise.low));
  arrange(rows.start + first, block.start);
  arrange(rows.requantise.scale + first, block.scale);
  arrange(rows.requantise.offset + first, block.offset);
}

/// Rows of the image that a group of four rows of the filter reads, from the block's first channel
/// on; null outside of the image.
struct ImageRows {
  const std::uint8_t* at[4] = {};
  ImageRows(const DepthwiseRows& rows, const ChannelBlock& block, std::ptrdiff_t y,
            std::ptrdiff_t group) {
    const std::ptrdiff_t pitch = rows.in[1] * static_cast<std::ptrdiff_t>(rows.channels);
    for (std::ptrdiff_t i = 0; i < 4 && group * 4 + i < rows.kernel[0]; ++i) {
      const std::ptrdiff_t row = y + (group * 4 + i) * rows.dilation[0];
      if (row >= 0 && row < rows.in[0])
        at[i] = rows.x + row * pitch + static_cast<std::ptrdiff_t>(block.first);
    }
  }
};

/// Reads a column of four rows: for each channel their four bytes.
PX_VNNI_INLINE void read_column(const DepthwiseRows& rows, const ChannelBlock& block,
                                const ImageRows& image, std::ptrdiff_t column, __m512i (&to)[4]) {
  const bool inside = column >= 0 && column < rows.in[1];
  const std::ptrdiff_t offset = column * static_cast<std::ptrdiff_t>(rows.channels);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(rows.flip));
  __m512i bytes[4];
  PX_UNROLL for (std::size_t i = 0; i < 4; ++i) {
    bytes[i] = _mm512_set1_epi8(static_cast<char>(rows.zero));
    if (inside && image.at[i] != nullptr)
      bytes[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(block.mask, image.at[i] + offset), flip);
  }
  const __m512i first_low = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
  const __m512i first_high = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
  const __m512i last_low = _mm512_unpacklo_epi8(bytes[2], bytes[3]);
  const __m512i last_high = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
  to[0] = _mm512_unpacklo_epi16(first_low, last_low);
  to[1] = _mm512_unpackhi_epi16(first_low, last_low);
  to[2] = _mm512_unpacklo_epi16(first_high, last_high);
  to[3] = _mm512_unpackhi_epi16(first_high, last_high);
}

/// Returns 16 sums as whole numbers of at most `high`, before the zero point is added. NaN becomes
/// the least.
PX_VNNI_INLINE __m512i rounded(const ChannelBlock& block, std::size_t at, __m512i sum,
                               __m512 high) {
  const __m512 real = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(block.scale + at),
                                      _mm512_load_ps(block.offset + at));
  return _mm512_cvtps_epi32(_mm512_min_ps(high, real));
}

/// Converts the sums of a block's channels to bytes in the order of the channels, and stores them.
/// The lower bound is applied after rounding, which is the same, to half as many vectors.
PX_VNNI_INLINE void write_output(const DepthwiseRows& rows, const ChannelBlock& block,
                                 const __m512i (&sum)[4], std::uint8_t* to) {
  const __m512 high = _mm512_set1_ps(rows.requantise.high);
  const __m512i low = _mm512_set1_epi16(block.low);
  const __m512i zero = _mm512_set1_epi16(static_cast<std::int16_t>(rows.requantise.zero));
  const __m512i byte = _mm512_set1_epi16(0xff);
  __m512i whole[4];
  PX_UNROLL for (std::size_t i = 0; i < 4; ++i) whole[i] = rounded(block, i * 16, sum[i], high);
  const __m512i first = _mm512_max_epi16(_mm512_packs_epi32(whole[0], whole[1]), low);
  const __m512i last = _mm512_max_epi16(_mm512_packs_epi32(whole[2], whole[3]), low);
  const __m512i bytes = _mm512_packus_epi16(_mm512_and_si512(_mm512_add_epi16(first, zero), byte),
                                            _mm512_and_si512(_mm512_add_epi16(last, zero), byte));
  if (block.mask == ~__mmask64{0}) return _mm512_storeu_si512(to, bytes);
  _mm512_mask_storeu_epi8(to, block.mask, bytes);
}

PX_VNNI_INLINE void begin_sums(const ChannelBlock& block, __m512i (&sum)[4]) {
  PX_UNROLL for (std::size_t i = 0; i < 4; ++i) sum[i] = _mm512_load_si512(block.start + i * 16);
}

PX_VNNI_INLINE void add_products(__m512i (&sum)[4], const __m512i (&x)[4], const __m512i (&w)[4]) {
  PX_UNROLL for (std::size_t i = 0; i < 4; ++i) sum[i] = _mm512_dpbusd_epi32(sum[i], x[i], w[i]);
}

/// The state of a row of outputs of a filter with up to four rows and three columns, next to each
/// other. Columns that the next output reads too stay in registers.
struct RowOfThree {
  const DepthwiseRows& rows;
  const ChannelBlock& block;
  const ImageRows& image;
  std::ptrdiff_t x = 0;  ///< the column of the image that is read next
  std::uint8_t* to = nullptr;
};

/// Computes the next output. Its first column is that of index kTurn * kStride % 3.
template <std::ptrdiff_t kStride, std::ptrdiff_t kTurn>
PX_VNNI_INLINE void write_next(RowOfThree& row, const __m512i (&w)[3][4], __m512i (&column)[3][4]) {
  constexpr std::ptrdiff_t kFirst = kTurn * kStride % 3;
  PX_UNROLL for (std::ptrdiff_t j = 3 - kStride; j < 3; ++j)
      read_column(row.rows, row.block, row.image, row.x++, column[(kFirst + j) % 3]);
  __m512i sum[4];
  begin_sums(row.block, sum);
  PX_UNROLL for (std::ptrdiff_t j = 0; j < 3; ++j)
      add_products(sum, column[(kFirst + j) % 3], w[j]);
  write_output(row.rows, row.block, sum, row.to);
  row.to += row.rows.channels;
}

template <std::ptrdiff_t kStride>
PX_VNNI void write_row_of_three(const DepthwiseRows& rows, const ChannelBlock& block,
                                std::ptrdiff_t y, std::uint8_t* to) {
  const ImageRows image(rows, block, y * rows.stride[0] - rows.pad_begin[0], 0);
  RowOfThree row{rows, block, image, -rows.pad_begin[1], to};
  __m512i w[3][4], column[3][4];
  PX_UNROLL for (std::size_t j = 0; j < 3; ++j) PX_UNROLL for (std::size_t i = 0; i < 4; ++i)
      w[j][i] = _mm512_loadu_si512(block.weights + j * kDepthwiseColumnBytes + i * 64);
  PX_UNROLL for (std::ptrdiff_t j = 0; j < 3 - kStride; ++j)
      read_column(rows, block, image, row.x++, column[j]);
  std::ptrdiff_t left = rows.out_columns;
  for (; left >= 3; left -= 3) {
    write_next<kStride, 0>(row, w, column);
    write_next<kStride, 1>(row, w, column);
    write_next<kStride, 2>(row, w, column);
  }
  if (left > 0) write_next<kStride, 0>(row, w, column);
  if (left > 1) write_next<kStride, 1>(row, w, column);
}

/// Writes the columns from `x` on that a block of outputs in row `y` of the padded image reads.
PX_VNNI void write_columns(const DepthwiseRows& rows, const ChannelBlock& block, std::ptrdiff_t y,
                           std::ptrdiff_t x, std::ptrdiff_t count) {
  const std::ptrdiff_t step = rows.groups() * kColumn;
  for (std::ptrdiff_t group = 0; group < rows.groups(); ++group) {
    const ImageRows image(rows, block, y, group);
    std::uint8_t* to = rows.columns + group * kColumn;
    for (std::ptrdiff_t column = x; column < x + count; ++column, to += step) {
      __m512i bytes[4];
      read_column(rows, block, image, column, bytes);
      PX_UNROLL for (std::size_t i = 0; i < 4; ++i) _mm512_storeu_si512(to + i * 64, bytes[i]);
    }
  }
}

/// Adds the products of one column.
PX_VNNI_INLINE void add_column(__m512i (&sum)[4], const std::uint8_t* x, const std::uint8_t* w) {
  PX_UNROLL for (std::size_t i = 0; i < 4; ++i) sum[i] =
      _mm512_dpbusd_epi32(sum[i], _mm512_loadu_si512(x + i * 64), _mm512_loadu_si512(w + i * 64));
}

/// Computes `count` outputs of a row from their columns.
PX_VNNI void write_outputs(const DepthwiseRows& rows, const ChannelBlock& block,
                           std::ptrdiff_t count, std::uint8_t* to) {
  const std::ptrdiff_t step = rows.groups() * kColumn;
  const std::uint8_t* at = rows.columns;
  for (std::ptrdiff_t o = 0; o < count; ++o, at += rows.stride[1] * step, to += rows.channels) {
    __m512i sum[4];
    begin_sums(block, sum);
    const std::uint8_t* w = block.weights;
    for (std::ptrdiff_t group = 0; group < rows.groups(); ++group)
      for (std::ptrdiff_t j = 0; j < rows.kernel[1]; ++j, w += kColumn)
        add_column(sum, at + j * rows.dilation[1] * step + group * kColumn, w);
    write_output(rows, block, sum, to);
  }
}

/// Computes a row of outputs, some at a time: the columns that they read are in the cache then.
void write_row(const DepthwiseRows& rows, const ChannelBlock& block, std::ptrdiff_t row,
               std::uint8_t* to) {
  constexpr auto kMost = static_cast<std::ptrdiff_t>(kDepthwiseOutputs);
  for (std::ptrdiff_t at = 0; at < rows.out_columns; at += kMost) {
    const std::ptrdiff_t count = std::min(kMost, rows.out_columns - at);
    write_columns(rows, block, row * rows.stride[0] - rows.pad_begin[0],
                  at * rows.stride[1] - rows.pad_begin[1], rows.columns_of(count));
    write_outputs(rows, block, count, to + at * static_cast<std::ptrdiff_t>(rows.channels));
  }
}

}  // namespace

void vnni_depthwise(const DepthwiseRows& rows) {
  const bool of_three = rows.groups() == 1 && rows.kernel[1] == 3 && rows.dilation[1] == 1;
  ChannelBlock block;
  for (std::size_t first = 0; first < rows.channels; first += kDepthwiseChannels) {
    begin_block(rows, first, block);
    for (std::ptrdiff_t row = rows.begin; row < rows.end; ++row) {
      std::uint8_t* const to =
          rows.y + row * rows.out_columns * static_cast<std::ptrdiff_t>(rows.channels) + first;
      if (of_three && rows.stride[1] == 1) {
        write_row_of_three<1>(rows, block, row, to);
      } else if (of_three && rows.stride[1] == 2) {
        write_row_of_three<2>(rows, block, row, to);
      } else {
        write_row(rows, block, row, to);
      }
    }
  }
}

}  // namespace parallax

#else

namespace parallax {
void vnni_depthwise(const DepthwiseRows&) {}
}  // namespace parallax

#endif
