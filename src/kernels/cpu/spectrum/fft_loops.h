// Inner loops of fast Fourier transforms of f64, for the instruction set of this machine. Signals
// lie side by side: element j of signal i is number j * sides + i of two arrays, one for real and
// one for imaginary parts, so vectors hold the same element of several signals. Thread-safe. Each
// signal gets the same bits, whatever lies next to it.
#pragma once

#include <cstdint>

namespace parallax {

/// Largest prime factor of mixed radices; for a larger one a convolution is faster.
inline constexpr std::int64_t kMaxRadix = 13;

struct ComplexRows {
  double *re, *im;
};
struct ConstComplexRows {
  const double *re, *im;
};

/// Blocks of `radix` elements, `count` apart, become one, for `stride` numbers side by side.
struct FftStage {
  std::int64_t radix, count, stride;
  const double* twiddles;  ///< [count, radix] pairs
  const double* roots;     ///< [radix] pairs
};
/// Computes a stage: reads x, writes y. Arrays must not overlap.
void run_stage(const FftStage& stage, ConstComplexRows x, ComplexRows y);

/// Writes spectra of real signals of 2 m elements to elements 0 to m of y. x has the spectra of m
/// complex elements each, made of two neighbours. `roots` has e^(-2 pi i k / 2m), k < m, as pairs.
void split_real_spectra(std::int64_t m, std::int64_t sides, const double* roots, ConstComplexRows x,
                        ComplexRows y);

}  // namespace parallax
