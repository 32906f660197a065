// Conversion of real numbers to quantised integers, access to integers of 2 to 32 bits, and the
// scale that belongs to each element. A quantised q represents (q - zero point) * scale. For the
// reference kernels of QuantizeLinear, DequantizeLinear, MatMulNBits and integer products; only
// files of this folder include it. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/reference/common.h"
#include "ops/params/quantised.h"
#include "ops/quantised.h"

namespace parallax {

/// Least and greatest integer of a type, both included. Held in i64, so that bounds of u32 fit.
struct IntegerRange {
  std::int64_t low = 0, high = 0;
};
/// Returns the range of an integer type of at most 32 bits, nullopt for other types. For example
/// [-8, 7] for i4, [0, 255] for u8.
inline std::optional<IntegerRange> integer_range(DType dtype) {
  const DTypeInfo& type = info_of(dtype);
  if (type.bits < 1 || type.bits > 32) return std::nullopt;
  if (type.kind == DTypeClass::kUnsigned)
    return IntegerRange{0, (std::int64_t{1} << type.bits) - 1};
  const std::int64_t half = std::int64_t{1} << (type.bits - 1);
  return type.kind == DTypeClass::kSigned ? std::optional(IntegerRange{-half, half - 1})
                                          : std::nullopt;
}

/// Returns element `i`, sign-extended if signed, from memory of any alignment. Elements of less
/// than a byte (i4, u4, i2, u2) are packed, the first one in the low bits. `i` counts elements, not
/// bytes. REQUIRES: integer_range(dtype).
inline std::int64_t load_integer(DType dtype, const std::byte* bytes, std::int64_t i) {
  // Loads the bits into the low end of a word, then extends the sign.
  const int bits = info_of(dtype).bits;
  std::uint32_t element = 0;
  if (bits < 8) {
    const std::int64_t per_byte = 8 / bits;
    const auto byte = static_cast<std::uint32_t>(bytes[i / per_byte]);
    element = (byte >> (i % per_byte * bits)) & ((1U << bits) - 1U);
  } else {
    std::memcpy(&element, bytes + i * (bits / 8), static_cast<std::size_t>(bits / 8));
  }
  if (info_of(dtype).kind == DTypeClass::kUnsigned) return element;
  const int unused = 32 - bits;
  return static_cast<std::int32_t>(element << unused) >> unused;
}

/// Writes element `i`. Elements that share a byte with it keep their values, but the byte is read
/// and written: tiles must not share bytes. Tiles of elements of `bits` < 8 must begin at multiples
/// of 8 / bits, which nodes with packed outputs ensure. Memory may have any alignment. If `value`
/// is beyond the type, its low bits are written. REQUIRES: integer_range(dtype).
inline void store_integer_element(DType dtype, std::int64_t value, std::byte* bytes,
                                  std::int64_t i) {
  const int bits = info_of(dtype).bits;
  const auto element = static_cast<std::uint32_t>(value);
  if (bits >= 8) {
    std::memcpy(bytes + i * (bits / 8), &element, static_cast<std::size_t>(bits / 8));
    return;
  }
  const std::int64_t per_byte = 8 / bits;
  const auto shift = static_cast<int>(i % per_byte * bits);
  const std::uint32_t mask = ((1U << bits) - 1U) << shift;
  auto& byte = bytes[i / per_byte];
  byte = static_cast<std::byte>((static_cast<std::uint32_t>(byte) & ~mask) |
                                ((element << shift) & mask));
}

/// Returns x / scale rounded to the nearest integer, ties to even, plus `zero`, limited to the
/// range. Divides in T (float or double). NaN gives `zero`, limited as well. Infinities and
/// quotients that do not fit give an end of the range. A scale of 0 gives NaN or an infinity as the
/// quotient and is handled as these are.
template <class T>
std::int64_t quantised(T x, T scale, std::int64_t zero, const IntegerRange& range) {
  // Adds and compares in double, which holds all 32-bit integers.
  const double real = static_cast<double>(std::nearbyint(x / scale));
  if (std::isnan(real)) return std::clamp(zero, range.low, range.high);
  const double shifted = real + static_cast<double>(zero);
  return static_cast<std::int64_t>(
      std::clamp(shifted, static_cast<double>(range.low), static_cast<double>(range.high)));
}

/// Maps elements of the dense input x of a QuantizeLinear or DequantizeLinear node to their scales:
/// one for all, one per index along the attribute `axis`, or one per block of `block_size`
/// neighbours along it. Made when the kernel is made and copied into it; its functions are pure.
/// Example: x of [2, 6] with block_size 3 along axis 1 has scales [2, 2]; element 10 has scale 3.
class ScaleOrder {
 public:
  /// Reads the shapes of the node's inputs 0 (x) and 1 (scale). REQUIRES: they pass the checks of
  /// ops/quantised.cc.
  explicit ScaleOrder(const KernelRequest& request) {
    const Dims& x = request.inputs[0].dims;
    const auto params = params_of<DequantizeLinearParams>(request.node);
    const std::int64_t block = params.block_size;
    // A scalar, or one element without blocks, is the scale of all elements.
    const Dims& scale = request.inputs[1].dims;
    if (scale.rank() == 0 || (block == 0 && scale.elements() == 1)) return;
    const int axis = positive_axis(params.axis, x.rank());
    one_ = false;
    length_ = std::max<std::int64_t>(x[axis], 1);
    inner_ = std::max<std::int64_t>(count_of(x, axis + 1, x.rank()), 1);
    block_ = std::max<std::int64_t>(block, 1);
    blocks_ = scale[block > 0 ? axis : 0];
    blocked_ = block > 0;
  }

  /// Returns the index of the scale, and of the zero point, of element `element`. REQUIRES: 0 <=
  /// element < x's elements.
  std::int64_t operator()(std::int64_t element) const {
    if (one_) return 0;
    const std::int64_t at = element / inner_ % length_ / block_;
    // Blocked scales have x's shape with the axis divided by the block size, rounded up.
    if (!blocked_) return at;
    return (element / inner_ / length_ * blocks_ + at) * inner_ + element % inner_;
  }

  /// Returns a number of elements from `element` on that share its scale, at least 1; it may exceed
  /// what is left of the tensor, and is 1 for blocks. Loops use it to look up a scale once for many
  /// elements. REQUIRES: element >= 0.
  std::int64_t run(std::int64_t element) const {
    if (one_) return std::numeric_limits<std::int64_t>::max() - element;
    return blocked_ ? 1 : inner_ - element % inner_;
  }

 private:
  /// Whether all elements share one scale, and whether scales are blocked, with x's rank.
  bool one_ = true, blocked_ = false;
  /// Size of the axis, elements behind it, neighbours that share a scale, scales along the axis.
  std::int64_t length_ = 1, inner_ = 1, block_ = 1, blocks_ = 1;
};

}  // namespace parallax
