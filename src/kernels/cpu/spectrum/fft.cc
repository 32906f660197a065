#include "kernels/cpu/spectrum/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "kernels/cpu/spectrum/fft_loops.h"
#include "kernels/table_bytes.h"

namespace parallax {
namespace {

/// Appends e^(-2 pi i k / n) to `table`.
void push_root(std::vector<double>& table, std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n));
  table.push_back(std::cos(angle));
  table.push_back(std::sin(angle));
}

/// Returns the radices of n, fours first; empty if a prime factor is too large.
std::vector<std::int64_t> radices_of(std::int64_t n) {
  std::vector<std::int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  for (std::int64_t radix = 2; radix <= kMaxRadix; ++radix)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  if (n != 1) radices.clear();
  return radices;
}

/// Multiplies element j of each signal with pair j of `by`. `to` may be x.
void multiply_pairs(std::int64_t n, std::int64_t sides, const std::vector<double>& by,
                    ConstComplexRows x, ComplexRows to) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double wr = by[static_cast<std::size_t>(2 * j)];
    const double wi = by[static_cast<std::size_t>(2 * j + 1)];
    for (std::int64_t i = j * sides; i < (j + 1) * sides; ++i) {
      const double re = x.re[i], im = x.im[i];
      to.re[i] = re * wr - im * wi;
      to.im[i] = re * wi + im * wr;
    }
  }
}

}  // namespace

FftPlan::FftPlan(std::int64_t n) : n_(n) {
  const auto radices = radices_of(n);
  std::int64_t stride = 1;
  for (const std::int64_t radix : radices) {
    add_stage(radix, n / stride / radix, stride);
    stride *= radix;
  }
  if (n > 1 && radices.empty()) make_chirp();
}

void FftPlan::add_stage(std::int64_t radix, std::int64_t count, std::int64_t stride) {
  Stage stage{radix, count, stride, table_.size(), 0};
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t k = 0; k < radix; ++k) push_root(table_, p * k, radix * count);
  stage.roots = table_.size();
  for (std::int64_t k = 0; k < radix; ++k) push_root(table_, k, radix);
  stages_.push_back(stage);
}

/// Computes e^(-pi i j^2 / n), and the spectrum of its conjugate, over the length of the
/// convolution.
void FftPlan::make_chirp() {
  const auto m = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n_ - 1)));
  convolution_ = std::make_unique<FftPlan>(m);
  for (std::int64_t j = 0; j < n_; ++j) push_root(chirp_, j * j % (2 * n_), 2 * n_);
  const auto size = static_cast<std::size_t>(m);
  std::vector<double> re(size), im(size),
      scratch(static_cast<std::size_t>(convolution_->scratch_numbers()));
  for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) {
    re[j] = chirp_[2 * j];
    im[j] = -chirp_[2 * j + 1];
    if (j == 0) continue;
    re[size - j] = re[j];
    im[size - j] = im[j];
  }
  convolution_->transform(re.data(), im.data(), scratch.data(), 1);
  const double scale = 1 / static_cast<double>(m);
  for (std::size_t j = 0; j < size; ++j) {
    filter_.push_back(re[j] * scale);
    filter_.push_back(im[j] * scale);
  }
}

std::int64_t FftPlan::scratch_numbers() const {
  if (convolution_ == nullptr) return 2 * n_;
  return 2 * convolution_->n_ + convolution_->scratch_numbers();
}

std::int64_t FftPlan::table_bytes() const {
  return bytes_of_table(stages_) + bytes_of_table(table_) + bytes_of_table(chirp_) +
         bytes_of_table(filter_) + (convolution_ == nullptr ? 0 : convolution_->table_bytes());
}

void FftPlan::convolve(double* re, double* im, double* scratch, std::int64_t sides) const {
  const std::int64_t m = convolution_->n_;
  double* const a = scratch;
  double* const b = a + m * sides;
  double* const rest = b + m * sides;
  multiply_pairs(n_, sides, chirp_, {re, im}, {a, b});
  std::fill(a + n_ * sides, a + m * sides, 0.0);
  std::fill(b + n_ * sides, b + m * sides, 0.0);
  convolution_->transform(a, b, rest, sides);
  multiply_pairs(m, sides, filter_, {a, b}, {a, b});
  convolution_->transform(b, a, rest, sides);  // back
  multiply_pairs(n_, sides, chirp_, {a, b}, {re, im});
}

void FftPlan::transform(double* re, double* im, double* scratch, std::int64_t sides) const {
  if (convolution_ != nullptr) return convolve(re, im, scratch, sides);
  const std::int64_t numbers = n_ * sides;
  ComplexRows from{re, im}, to{scratch, scratch + numbers};
  for (const Stage& stage : stages_) {
    run_stage({stage.radix, stage.count, stage.stride * sides, table_.data() + stage.twiddles,
               table_.data() + stage.roots},
              {from.re, from.im}, to);
    std::swap(from, to);
  }
  if (from.re == re) return;
  std::copy_n(from.re, numbers, re);
  std::copy_n(from.im, numbers, im);
}

std::vector<double> roots_of_unity(std::int64_t n, std::int64_t count) {
  std::vector<double> roots;
  for (std::int64_t k = 0; k < count; ++k) push_root(roots, k, n);
  return roots;
}

}  // namespace parallax
