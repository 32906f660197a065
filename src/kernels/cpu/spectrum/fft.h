// Fast Fourier transforms of any length: mixed radices (Stockham's order, which needs no
// permutation) if the length has only small prime factors, else as a convolution with a chirp
// (Bluestein). A plan is immutable; transforms are thread-safe. All numbers are f64; lengths are of
// complex elements. Several signals are transformed side by side: element j of signal i is number
// j * sides + i of `re` and `im`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace parallax {

/// Longest transform that plans support: tables and scratch of a longer one would be too large.
inline constexpr std::int64_t kMaxTransform = std::int64_t{1} << 20;

class FftPlan {
 public:
  /// Plans transforms of n elements. Radices are 4 and the primes up to 13; a length with a greater
  /// prime factor is convolved at the next power of two from 2 n - 1 on. Allocates tables; may
  /// throw std::bad_alloc. REQUIRES: 1 <= n <= kMaxTransform.
  explicit FftPlan(std::int64_t n);
  /// Returns n.
  std::int64_t length() const { return n_; }
  /// Returns the doubles that transform() needs as `scratch` for each signal.
  std::int64_t scratch_numbers() const;
  /// Returns the bytes of all tables, for Kernel::table_bytes().
  std::int64_t table_bytes() const;
  /// Replaces x[k] with the sum of x[j] e^(-2 pi i j k / n), in place, for `sides` signals. With
  /// `re` and `im` exchanged this is the inverse times n. `re` and `im` have n * sides numbers
  /// each; `scratch` must not overlap them, and each thread needs its own.
  void transform(double* re, double* im, double* scratch, std::int64_t sides) const;

 private:
  /// Blocks of `radix` elements `count` apart become one; `stride` transforms lie side by side.
  struct Stage {
    std::int64_t radix, count, stride;
    std::size_t twiddles;  ///< offset of [count, radix] pairs
    std::size_t roots;     ///< offset of [radix] pairs; for radices other than 2 and 4
  };
  /// Appends a stage and its tables of roots.
  void add_stage(std::int64_t radix, std::int64_t count, std::int64_t stride);
  /// Fills chirp_ and filter_ and plans the convolution.
  void make_chirp();
  void convolve(double* re, double* im, double* scratch, std::int64_t sides) const;

  /// Length of the transforms.
  std::int64_t n_;
  std::vector<Stage> stages_;
  std::vector<double> table_;  ///< pairs
  /// Plan of the convolution's length; null if radices suffice.
  std::unique_ptr<const FftPlan> convolution_;
  std::vector<double> chirp_, filter_;  ///< pairs
};

/// Returns e^(-2 pi i k / n) for k < count, as pairs.
std::vector<double> roots_of_unity(std::int64_t n, std::int64_t count);

}  // namespace parallax
