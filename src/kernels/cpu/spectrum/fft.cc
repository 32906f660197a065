#include "kernels/cpu/spectrum/fft.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "kernels/table_bytes.h"

namespace parallax {
namespace {

/// Largest prime factor of mixed radices; for a larger one a convolution is faster.
constexpr std::int64_t kMaxRadix = 13;

struct ComplexRows {
  double *re, *im;
};
struct ConstComplexRows {
  const double *re, *im;
};

/// Appends e^(-2 pi i k / n) to `table`.
void push_root(std::vector<double>& table, std::int64_t k, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n));
  table.push_back(std::cos(angle));
  table.push_back(std::sin(angle));
}

/// One place of a stage: inputs `from` apart, results `to` apart, `width` transforms side by side.
struct Butterfly {
  std::int64_t radix, from, to, width;
  const double *twiddles, *roots;
};

void butterfly_2(const Butterfly& b, ConstComplexRows x, ComplexRows y) {
  const double wr = b.twiddles[2], wi = b.twiddles[3];
  for (std::int64_t q = 0; q < b.width; ++q) {
    const double ar = x.re[q], ai = x.im[q], br = x.re[q + b.from], bi = x.im[q + b.from];
    const double dr = ar - br, di = ai - bi;
    y.re[q] = ar + br;
    y.im[q] = ai + bi;
    y.re[q + b.to] = dr * wr - di * wi;
    y.im[q + b.to] = dr * wi + di * wr;
  }
}

void butterfly_4(const Butterfly& b, ConstComplexRows x, ComplexRows y) {
  const double* const w = b.twiddles;
  for (std::int64_t q = 0; q < b.width; ++q) {
    const std::int64_t i1 = q + b.from, i2 = q + 2 * b.from, i3 = q + 3 * b.from;
    const double sr = x.re[q] + x.re[i2], si = x.im[q] + x.im[i2];
    const double dr = x.re[q] - x.re[i2], di = x.im[q] - x.im[i2];
    const double tr = x.re[i1] + x.re[i3], ti = x.im[i1] + x.im[i3];
    const double ur = x.im[i1] - x.im[i3], ui = x.re[i3] - x.re[i1];  // -i (x1 - x3)
    const double ar = dr + ur, ai = di + ui, br = sr - tr, bi = si - ti;
    const double cr = dr - ur, ci = di - ui;
    y.re[q] = sr + tr;
    y.im[q] = si + ti;
    y.re[q + b.to] = ar * w[2] - ai * w[3];
    y.im[q + b.to] = ar * w[3] + ai * w[2];
    y.re[q + 2 * b.to] = br * w[4] - bi * w[5];
    y.im[q + 2 * b.to] = br * w[5] + bi * w[4];
    y.re[q + 3 * b.to] = cr * w[6] - ci * w[7];
    y.im[q + 3 * b.to] = cr * w[7] + ci * w[6];
  }
}

void butterfly_any(const Butterfly& b, ConstComplexRows x, ComplexRows y) {
  for (std::int64_t k = 0; k < b.radix; ++k) {
    const double wr = b.twiddles[2 * k], wi = b.twiddles[2 * k + 1];
    std::array<double, 2 * kMaxRadix> factors;
    for (std::int64_t j = 0; j < b.radix; ++j) {
      const double* const root = b.roots + 2 * (j * k % b.radix);
      factors[static_cast<std::size_t>(2 * j)] = root[0] * wr - root[1] * wi;
      factors[static_cast<std::size_t>(2 * j + 1)] = root[0] * wi + root[1] * wr;
    }
    double* const re = y.re + k * b.to;
    double* const im = y.im + k * b.to;
    for (std::int64_t q = 0; q < b.width; ++q) {
      double sum_re = 0, sum_im = 0;
      for (std::int64_t j = 0; j < b.radix; ++j) {
        const double fr = factors[static_cast<std::size_t>(2 * j)];
        const double fi = factors[static_cast<std::size_t>(2 * j + 1)];
        const double xr = x.re[q + j * b.from], xi = x.im[q + j * b.from];
        sum_re += xr * fr - xi * fi;
        sum_im += xr * fi + xi * fr;
      }
      re[q] = sum_re;
      im[q] = sum_im;
    }
  }
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
  convolution_->transform(re.data(), im.data(), scratch.data());
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

void FftPlan::convolve(double* re, double* im, double* scratch) const {
  const std::int64_t m = convolution_->n_;
  double* const a = scratch;
  double* const b = a + m;
  for (std::int64_t j = 0; j < n_; ++j) {
    const double wr = chirp_[static_cast<std::size_t>(2 * j)];
    const double wi = chirp_[static_cast<std::size_t>(2 * j + 1)];
    a[j] = re[j] * wr - im[j] * wi;
    b[j] = re[j] * wi + im[j] * wr;
  }
  std::fill(a + n_, a + m, 0.0);
  std::fill(b + n_, b + m, 0.0);
  convolution_->transform(a, b, b + m);
  for (std::int64_t j = 0; j < m; ++j) {
    const double fr = filter_[static_cast<std::size_t>(2 * j)];
    const double fi = filter_[static_cast<std::size_t>(2 * j + 1)];
    const double x = a[j] * fr - b[j] * fi;
    b[j] = a[j] * fi + b[j] * fr;
    a[j] = x;
  }
  convolution_->transform(b, a, b + m);  // back
  for (std::int64_t j = 0; j < n_; ++j) {
    const double wr = chirp_[static_cast<std::size_t>(2 * j)];
    const double wi = chirp_[static_cast<std::size_t>(2 * j + 1)];
    re[j] = a[j] * wr - b[j] * wi;
    im[j] = a[j] * wi + b[j] * wr;
  }
}

void FftPlan::transform(double* re, double* im, double* scratch) const {
  if (convolution_ != nullptr) return convolve(re, im, scratch);
  ComplexRows from{re, im}, to{scratch, scratch + n_};
  for (const Stage& stage : stages_) {
    for (std::int64_t p = 0; p < stage.count; ++p) {
      const Butterfly b{
          stage.radix,
          stage.count * stage.stride,
          stage.stride,
          stage.stride,
          table_.data() + stage.twiddles + static_cast<std::size_t>(2 * p * stage.radix),
          table_.data() + stage.roots};
      const ConstComplexRows x{from.re + p * stage.stride, from.im + p * stage.stride};
      const ComplexRows y{to.re + p * stage.radix * stage.stride,
                          to.im + p * stage.radix * stage.stride};
      if (stage.radix == 4) {
        butterfly_4(b, x, y);
      } else if (stage.radix == 2) {
        butterfly_2(b, x, y);
      } else {
        butterfly_any(b, x, y);
      }
    }
    std::swap(from, to);
  }
  if (from.re == re) return;
  std::copy_n(from.re, n_, re);
  std::copy_n(from.im, n_, im);
}

}  // namespace parallax
