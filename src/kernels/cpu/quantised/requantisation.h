// Converts the sums of a product of bytes as its node says: for the kernels of MatMulInteger and
// ConvInteger. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/kernel.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"

namespace parallax {

/// Returns element `i` of weights of 8 bits as the signed byte that products expect: unsigned
/// weights minus 128, as their zero point is.
inline std::int32_t weight_byte(const std::byte* weights, bool is_signed, std::int64_t i) {
  const auto byte = std::to_integer<std::uint8_t>(weights[i]);
  return is_signed ? static_cast<std::int8_t>(byte) : byte - 128;
}

/// Writes the sums of a matrix's columns, i32 each. Called once, when weights are packed.
using SumColumns = std::function<void(std::int32_t* to)>;

/// The zero points, scales, bias and activation of a quantised product. Immutable and cheap to
/// move; packed sums of weights are shared with other kernels of the same weights. With X and W as
/// bytes, the sum of (x - x_zero) * (w - w_zero) over the depth is computed as sum(x w) - x_zero *
/// sum(w) + w_zero * (depth * x_zero - sum(x)).
class Requantisation {
 public:
  /// Returns nullopt if kernels of this folder do not cover the node: weights must have one zero
  /// point, a constant; X must have one zero point and one scale. `layout` names what `sum` depends
  /// on, as of PackedWeights::get. `columns` are the filters or columns of W; `sum` is kept until
  /// the sums are packed. Errors: kOutOfMemory.
  static Result<std::optional<Requantisation>> make(const KernelRequest& request,
                                                    std::int64_t columns, const std::string& layout,
                                                    SumColumns sum);

  /// Returns true if X is i8, false if it is u8.
  bool x_is_signed() const { return x_signed_; }
  /// Returns the size of an element of the result: 1 if it is requantised, else 4 (i32 or f32).
  std::int64_t element_bytes() const { return bytes_ ? 1 : 4; }
  /// Returns the zero point of X, as the unsigned byte that products expect.
  std::uint8_t x_zero(const KernelArgs& args) const;
  /// Returns that of the weights, as a signed byte. If it is not 0, the sums of a row of the result
  /// also depend on the sum of that row of X: callers then need start_rows().
  std::int32_t w_zero() const { return w_zero_; }
  /// Converts, in place, sums of `depth` bytes of X to the initial values of the sums of a row
  /// (MatMulPanel::row_start). Arithmetic wraps modulo 2^32. Replaces each sum s with (depth *
  /// x_zero - s) * w_zero.
  void start_rows(const KernelArgs& args, std::int64_t depth, std::span<std::int32_t> sums) const;

  /// Returns the bytes of scratch that prepare() needs for `columns` columns. Three arrays of four
  /// bytes per column, rounded up to 64 columns.
  static std::int64_t scratch_bytes(std::int64_t columns);
  /// Pointers for a MatMulPanel whose first column is `begin`, prepared for columns [begin, end).
  struct Columns {
    Requantise requantise;
    const std::int32_t* start = nullptr;

    /// Returns `requantise` for the columns from the n-th of these on.
    Requantise from(std::int64_t n) const {
      Requantise rest = requantise;
      if (rest.scale == nullptr) return rest;
      rest.scale += n;
      rest.offset += n;
      return rest;
    }
  };
  /// Computes these pointers. They refer to `scratch` and to this object, and are valid until
  /// either is changed. Computed once per tile or run, since zero points and scales may be inputs.
  /// `scratch` is aligned to four bytes.
  Columns prepare(const KernelArgs& args, std::int64_t begin, std::int64_t end,
                  std::byte* scratch) const;
  /// Applies the steps that the micro-kernel left out to rows of C, in place. These are the byte
  /// table of the node or, for f32, its activation; `stride` counts elements.
  void finish(void* c, std::int64_t stride, std::int64_t rows, std::int64_t columns) const;

 private:
  Requantisation() = default;
  /// A product whose scale is NaN gives the zero point.
  void bound_bytes(const KernelArgs& args, float y_scale, Requantise& to) const;

  std::int32_t w_zero_ = 0;
  bool x_signed_ = false, y_signed_ = false, has_zero_ = false;
  bool scaled_ = false, bytes_ = false, has_bias_ = false, scale_each_ = false;
  Activation activation_;
  Unary unary_;
  std::optional<std::array<std::uint8_t, kByteTableSize>> table_;
  std::shared_ptr<const AlignedBytes> sums_;
};

}  // namespace parallax
