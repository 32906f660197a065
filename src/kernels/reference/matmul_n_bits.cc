// MatMulNBits: each weight is widened, the zero point of its block subtracted, then multiplied by
// the block's scale.
#include "kernels/reference/quantised.h"

namespace parallax {
namespace {

/// Weights as real numbers.
struct BitsWeights {
  BitsProduct sizes;
  bool has_zeros = false, packed_zeros = false;

  static std::int64_t element(const std::byte* bytes, std::int64_t i, std::int64_t bits) {
    const std::int64_t per_byte = 8 / bits;
    const auto byte = std::to_integer<unsigned>(bytes[i / per_byte]);
    return (byte >> static_cast<unsigned>(i % per_byte * bits)) & ((1U << bits) - 1U);
  }

  template <class T>
  T zero(const KernelArgs& args, std::int64_t column, std::int64_t block) const {
    if (!has_zeros) return static_cast<T>(std::int64_t{1} << (sizes.bits - 1));
    if (!packed_zeros)
      return load_element<T>(args.inputs[kBitsZeros], column * sizes.blocks() + block);
    return static_cast<T>(
        element(args.inputs[kBitsZeros] + column * sizes.zero_bytes(), block, sizes.bits));
  }

  /// The product of a row with a column.
  template <class T>
  T multiply(const KernelArgs& args, const T* row, std::int64_t column) const {
    T sum{0};
    for (std::int64_t block = 0; block < sizes.blocks(); ++block) {
      const std::int64_t at = column * sizes.blocks() + block;
      const std::byte* weights = args.inputs[kBitsWeights] + at * sizes.block_bytes();
      const T scale = load_element<T>(args.inputs[kBitsScales], at);
      const T none = zero<T>(args, column, block);
      const std::int64_t begin = block * sizes.block;
      const std::int64_t end = std::min(begin + sizes.block, sizes.depth);
      for (std::int64_t k = begin; k < end; ++k) {
        const auto weight = static_cast<T>(element(weights, k - begin, sizes.bits));
        sum += row[k] * ((weight - none) * scale);
      }
    }
    return sum;
  }
};

}  // namespace

KernelResult reference_matmul_n_bits(const KernelRequest& request) {
  const auto sizes = bits_product(request.node);
  if (!sizes) return nullptr;
  BitsWeights weights{*sizes, request.has(kBitsZeros), false};
  weights.packed_zeros = weights.has_zeros && request.inputs[kBitsZeros].dtype == DType::kU8;
  const bool has_bias = request.has(kBitsBias);
  const std::int64_t count = request.outputs[0].elements();
  const std::int64_t tiles =
      tile_count(count, std::max<std::int64_t>(kMacsPerTile / sizes->depth, 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 0b111110},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(count, tiles, tile);
                                for (std::int64_t i = range.begin; i < range.end; ++i) {
                                  const std::int64_t column = i % weights.sizes.columns;
                                  const T* row = args.in<T>(0) +
                                                 i / weights.sizes.columns * weights.sizes.depth;
                                  T sum = weights.multiply<T>(args, row, column);
                                  if (has_bias)
                                    sum += load_element<T>(args.inputs[kBitsBias], column);
                                  args.out<T>()[i] = sum;
                                }
                                return {};
                              });
  });
}

}  // namespace parallax
