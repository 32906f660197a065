// Attributes of quantising operators, as passes write and kernels read them, and the arrangement of
// scales along a tensor. Plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/op.h"
#include "parallax/dtype.h"

namespace parallax {

/// Inputs of ConvInteger and MatMulInteger. From kProductXScale on passes set them: with both
/// scales the result is that of real numbers, plus the bias, an f32 for each filter or column; with
/// those of the result as well it is quantised.
enum ProductInput : std::uint8_t {
  kProductX,
  kProductW,
  kProductXZero,
  kProductWZero,
  kProductXScale,
  kProductWScale,
  kProductBias,
  kProductYScale,
  kProductYZero,
  kProductInputs,
};
/// Returns whether a ConvInteger or MatMulInteger gives real numbers: passes set both scales or
/// neither.
inline bool has_scales(const Node& node) {
  return node.inputs.size() > kProductXScale && node.inputs[kProductXScale].valid();
}
/// Returns whether its result is quantised again, by input kProductYScale; it then has_scales()
/// too.
inline bool is_requantised(const Node& node) {
  return node.inputs.size() > kProductYScale && node.inputs[kProductYScale].valid();
}

/// Most taps of a depthwise ConvInteger, and fewest channels of a group of others with several
/// groups, that are not left to the reference kernels.
inline constexpr std::int64_t kMaxByteDepthwiseTaps = 256, kFewestByteGroupChannels = 8;

/// Integers of 8 bits.
inline constexpr DTypeSet kByteIntegers = dtype_bit(DType::kU8) | dtype_bit(DType::kI8);
/// Integers up to 16 bits and floats up to 8: what real numbers are quantised to.
inline constexpr DTypeSet kQuantisedTypes = dtypes_where([](const DTypeInfo& type) {
  const bool is_float = type.kind == DTypeClass::kFloat;
  const bool is_integer = type.kind == DTypeClass::kSigned || type.kind == DTypeClass::kUnsigned;
  return (is_float && type.bits <= 8) || (is_integer && type.bits <= 16);
});

/// Inputs of MatMulNBits behind the rows, input 0: weights (u8), scales (type of the rows), zero
/// points (packed u8, or numbers of the rows' type; left out: the middle of the range), an order of
/// groups, which is refused (kUnsupported), and a bias for each column.
enum BitsInput : std::uint8_t {
  kBitsWeights = 1,
  kBitsScales,
  kBitsZeros,
  kBitsGroups,
  kBitsBias,
};
/// Rows of `depth` numbers times `columns` columns of weights, which lie column after column, block
/// after block, elements below a byte packed, the first in the low bits. The last block of a column
/// is filled up to `block` weights.
struct BitsProduct {
  std::int64_t depth = 0, columns = 0, bits = 4, block = 0;

  std::int64_t blocks() const { return (depth + block - 1) / block; }  ///< blocks of a column
  std::int64_t block_bytes() const { return block * bits / 8; }
  /// Zero points of a column, packed.
  std::int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
};
/// Returns the sizes of a MatMulNBits; nullopt if the attributes are out of range
/// (MatMulNBitsParams) or do not go together.
std::optional<BitsProduct> bits_product(const Node& node);

/// Returns the element type that ConvInteger and MatMulInteger give: i32 without scales, f32 with
/// them, that of the zero point or of the table if the result is quantised. Errors: kInvalidModel
/// for operands that are not of 8 bits, zero points of another type, scales that are not f32, and
/// inputs of which some are missing.
Result<DType> integer_product_type(const InferContext& context);

}  // namespace parallax
