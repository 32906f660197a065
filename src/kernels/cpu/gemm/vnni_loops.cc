#include <cstring>

#include "kernels/cpu/gemm/byte_loops.h"
#include "kernels/cpu/unroll.h"

#if defined(__x86_64__)
#include <array>
#include <utility>

#include "kernels/cpu/targets.h"

// Highway must follow the choice of targets.
#include <hwy/targets.h>

// GCC's header initialises vectors with themselves on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

#define PX_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define PX_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace parallax {
namespace {

constexpr std::size_t kByteLanes = kVnniWidths.vector;
constexpr std::size_t kByteVectors = kVnniWidths.panel / kVnniWidths.vector;
/// Rows that are multiplied together, indexed by vectors - 1: sums, vectors of B and one of A fill
/// the 32 registers.
constexpr std::array<std::size_t, kByteVectors> kRowsOf = {14, 12, 8, 6};

PX_VNNI inline __m512i broadcast_step(const std::uint8_t* at) {
  std::int32_t step = 0;
  std::memcpy(&step, at, sizeof step);
  return _mm512_set1_epi32(step);
}

/// Adds the products of `steps` steps of R rows of A, `lda` bytes apart, with B.
template <std::size_t R, std::size_t V>
PX_VNNI inline __attribute__((always_inline)) const std::uint8_t* add_steps(
    __m512i (&sum)[R][V], const std::uint8_t* a, std::size_t lda, std::size_t steps,
    const std::uint8_t* b, std::size_t ldb) {
  // One pointer for three rows: one for each would not fit the registers.
  constexpr std::size_t kPointers = (R + 2) / 3;
  const std::uint8_t* at[kPointers];
  PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i) at[i] = a + 3 * i * lda;
  for (std::size_t k = 0; k < steps; ++k, b += ldb) {
    __m512i column[V];
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) column[j] = _mm512_loadu_si512(b + j * 64);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const __m512i x = broadcast_step(at[i / 3] + i % 3 * lda);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] =
          _mm512_dpbusd_epi32(sum[i][j], x, column[j]);
    }
    PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i) at[i] += 4;
  }
  return b;
}

inline __mmask16 lanes_before(std::size_t n) { return static_cast<__mmask16>((1U << n) - 1U); }

/// Stores the lanes of `mask`, or all of them if kAll: masked stores cost several times as much.
template <bool kAll>
PX_VNNI inline void store_reals(float* to, __m512 v, __mmask16 mask) {
  if constexpr (kAll) return _mm512_storeu_ps(to, v);
  _mm512_mask_storeu_ps(to, mask, v);
}
template <bool kAll>
PX_VNNI inline void store_bytes(std::uint8_t* to, __m128i v, __mmask16 mask) {
  if constexpr (kAll) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
  _mm_mask_storeu_epi8(to, mask, v);
}

/// Writes a vector of sums, which begin at column `column` of the panel, as its `requantise` says.
template <bool kAll>
PX_VNNI inline __attribute__((always_inline)) void write_sums(const MatMulPanel& panel,
                                                              std::size_t at, std::size_t column,
                                                              __m512i sum, __mmask16 mask) {
  const Requantise& to = *panel.requantise;
  if (to.scale == nullptr)
    return store_reals<kAll>(static_cast<float*>(panel.c) + at, _mm512_castsi512_ps(sum), mask);
  const __m512 scale = _mm512_loadu_ps(to.scale + column);
  const __m512 offset = _mm512_loadu_ps(to.offset + column);
  __m512 real = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, offset);
  if (!to.bytes) return store_reals<kAll>(static_cast<float*>(panel.c) + at, real, mask);
  real = _mm512_min_ps(_mm512_max_ps(real, _mm512_set1_ps(to.low)), _mm512_set1_ps(to.high));
  const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(real), _mm512_set1_epi32(to.zero));
  store_bytes<kAll>(static_cast<std::uint8_t*>(panel.c) + at, _mm512_cvtepi32_epi8(whole), mask);
}

/// Writes 64 sums as bytes. Bounds and the zero point are applied to 16 bits, in half as many
/// vectors: the lower bound after rounding, which is the same, and NaN becomes that one.
PX_VNNI inline __attribute__((always_inline)) void write_four(const Requantise& to,
                                                              const __m512i* sum, std::uint8_t* c) {
  const __m512 high = _mm512_set1_ps(to.high);
  const __m512i low =
      _mm512_set1_epi16(static_cast<std::int16_t>(_mm_cvtss_si32(_mm_set_ss(to.low))));
  const __m512i zero = _mm512_set1_epi16(static_cast<std::int16_t>(to.zero));
  const __m512i byte = _mm512_set1_epi16(0xff);
  __m512i whole[4];
  PX_UNROLL for (std::size_t j = 0; j < 4; ++j) {
    const __m512 real =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[j]), _mm512_loadu_ps(to.scale + j * kByteLanes),
                        _mm512_loadu_ps(to.offset + j * kByteLanes));
    whole[j] = _mm512_cvtps_epi32(_mm512_min_ps(high, real));
  }
  const __m512i first = _mm512_max_epi16(_mm512_packs_epi32(whole[0], whole[1]), low);
  const __m512i last = _mm512_max_epi16(_mm512_packs_epi32(whole[2], whole[3]), low);
  const __m512i bytes = _mm512_packus_epi16(_mm512_and_si512(_mm512_add_epi16(first, zero), byte),
                                            _mm512_and_si512(_mm512_add_epi16(last, zero), byte));
  // Packing puts four columns of each vector side by side.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(c, _mm512_permutexvar_epi32(order, bytes));
}

/// Computes one row; `last` columns of the last vector exist.
template <std::size_t V>
PX_VNNI inline __attribute__((always_inline)) void write_row(const MatMulPanel& panel,
                                                             std::size_t row, const __m512i* sum,
                                                             __mmask16 last) {
  const std::size_t at = row * panel.ldc;
  constexpr __mmask16 kAllLanes = 0xffff;
  if constexpr (V == 4)
    if (panel.requantise->bytes && last == kAllLanes)
      return write_four(*panel.requantise, sum, static_cast<std::uint8_t*>(panel.c) + at);
  PX_UNROLL for (std::size_t j = 0; j + 1 < V; ++j)
      write_sums<true>(panel, at + j * kByteLanes, j * kByteLanes, sum[j], kAllLanes);
  constexpr std::size_t kLast = (V - 1) * kByteLanes;
  if (last == kAllLanes) return write_sums<true>(panel, at + kLast, kLast, sum[V - 1], last);
  write_sums<false>(panel, at + kLast, kLast, sum[V - 1], last);
}

/// Multiplies R rows with V vectors over the whole depth, with sums in registers.
template <std::size_t R, std::size_t V>
PX_VNNI __attribute__((noinline)) void multiply_bytes(const MatMulPanel& panel, std::size_t row) {
  const std::size_t lda = panel.lda * kStepBytes, ldb = panel.ldb * kStepBytes;
  const std::uint8_t* a = static_cast<const std::uint8_t*>(panel.a) + row * lda;
  const auto* b = static_cast<const std::uint8_t*>(panel.b);
  const auto* start = static_cast<const std::int32_t*>(panel.bias);
  __m512i sum[R][V];
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
    const __m512i first =
        start == nullptr ? _mm512_setzero_si512() : _mm512_loadu_si512(start + j * kByteLanes);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) sum[i][j] = first;
  }
  if (panel.row_start != nullptr) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const __m512i of_row = _mm512_set1_epi32(panel.row_start[row + i]);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] = _mm512_add_epi32(sum[i][j], of_row);
    }
  }
  // Stores to lines that are not there fill the store buffer.
  const std::size_t element = panel.requantise->bytes ? 1 : 4;
  auto* const c = static_cast<std::byte*>(panel.c) + row * panel.ldc * element;
  for (std::size_t i = 0; i < R; ++i)
    for (std::size_t line = 0; line < panel.columns * element; line += 64)
      __builtin_prefetch(c + i * panel.ldc * element + line, 1, 3);
  if (panel.segments == nullptr) {
    add_steps<R, V>(sum, a, lda, panel.depth, b, ldb);
  } else {
    for (std::size_t s = 0; s < panel.segment_count; ++s)
      b = add_steps<R, V>(sum, a + panel.segments[s].offset * kStepBytes, lda,
                          panel.segments[s].depth, b, ldb);
  }
  const __mmask16 last = lanes_before(panel.columns - (V - 1) * kByteLanes);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) write_row<V>(panel, row + i, sum[i], last);
}

using MultiplyBytes = void (*)(const MatMulPanel&, std::size_t row);

template <std::size_t V, std::size_t... R>
MultiplyBytes bytes_of(std::size_t rows, std::index_sequence<R...>) {
  constexpr MultiplyBytes kTable[] = {multiply_bytes<R + 1, V>...};
  return kTable[rows - 1];
}

MultiplyBytes bytes_of(std::size_t rows, std::size_t vectors) {
  switch (vectors) {
    case 1:
      return bytes_of<1>(rows, std::make_index_sequence<kRowsOf[0]>());
    case 2:
      return bytes_of<2>(rows, std::make_index_sequence<kRowsOf[1]>());
    case 3:
      return bytes_of<3>(rows, std::make_index_sequence<kRowsOf[2]>());
    default:
      return bytes_of<4>(rows, std::make_index_sequence<kRowsOf[3]>());
  }
}

/// A table of 256 bytes in registers.
struct TableRegisters {
  __m512i quarter[4];
};
PX_VBMI inline TableRegisters load_table(const std::uint8_t* table) {
  TableRegisters t;
  for (int i = 0; i < 4; ++i) t.quarter[i] = _mm512_loadu_si512(table + i * 64);
  return t;
}
PX_VBMI inline __m512i look_up(const TableRegisters& t, __m512i x) {
  const __m512i low = _mm512_permutex2var_epi8(t.quarter[0], x, t.quarter[1]);
  const __m512i high = _mm512_permutex2var_epi8(t.quarter[2], x, t.quarter[3]);
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
}

PX_VBMI void permute_bytes(const TableRegisters& t, const std::uint8_t* x, std::uint8_t* y,
                           std::size_t n) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) _mm512_storeu_si512(y + i, look_up(t, _mm512_loadu_si512(x + i)));
  if (i == n) return;
  const __mmask64 rest = (std::uint64_t{1} << (n - i)) - 1;
  _mm512_mask_storeu_epi8(y + i, rest, look_up(t, _mm512_maskz_loadu_epi8(rest, x + i)));
}

PX_VBMI void permute_rows(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                          std::size_t stride, std::size_t rows, std::size_t n) {
  const TableRegisters t = load_table(table);
  for (std::size_t row = 0; row < rows; ++row)
    permute_bytes(t, x + row * stride, y + row * stride, n);
}

/// Returns whether Highway's loops may use AVX-512 here: tests restrict them to less.
bool may_use_avx512() { return (hwy::SupportedTargets() & HWY_AVX3) != 0; }
/// AVX-512 alone, without older sets, is AVX-512 without VNNI. Highway's AVX3_DL asks for more than
/// VNNI, so a CPU may lack it.
bool may_use_vnni() {
  return may_use_avx512() && (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3_DL)) != 0;
}

}  // namespace

bool cpu_has_vnni() {
  static const bool has = __builtin_cpu_supports("avx512vnni") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has && may_use_vnni();
}

void vnni_panel(const MatMulPanel& panel) {
  if (panel.rows == 0) return;
  const std::size_t vectors = (panel.columns + kByteLanes - 1) / kByteLanes;
  // Groups of rows of nearly the same size.
  const std::size_t groups = (panel.rows + kRowsOf[vectors - 1] - 1) / kRowsOf[vectors - 1];
  const std::size_t rows = panel.rows / groups, larger = panel.rows % groups;
  std::size_t row = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = rows + (g < larger ? 1 : 0);
    bytes_of(count, vectors)(panel, row);
    row += count;
  }
}

bool cpu_permutes_bytes() {
  static const bool has = __builtin_cpu_supports("avx512vbmi") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return has && may_use_avx512();
}

void apply_byte_table(const std::uint8_t* table, std::uint8_t* x, std::size_t stride,
                      std::size_t rows, std::size_t n) {
  if (cpu_permutes_bytes()) return permute_rows(table, x, x, stride, rows, n);
  for (std::size_t row = 0; row < rows; ++row, x += stride)
    for (std::size_t i = 0; i < n; ++i) x[i] = table[x[i]];
}

void look_up_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                   std::size_t n) {
  if (cpu_permutes_bytes()) return permute_rows(table, x, y, 0, 1, n);
  for (std::size_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace parallax

#else

namespace parallax {
bool cpu_has_vnni() { return false; }
void vnni_panel(const MatMulPanel&) {}
bool cpu_permutes_bytes() { return false; }
void apply_byte_table(const std::uint8_t* table, std::uint8_t* x, std::size_t stride,
                      std::size_t rows, std::size_t n) {
  for (std::size_t row = 0; row < rows; ++row, x += stride)
    for (std::size_t i = 0; i < n; ++i) x[i] = table[x[i]];
}
void look_up_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                   std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = table[x[i]];
}
}  // namespace parallax

#endif
