// The operands of convolutions and matrix products between DequantizeLinear and QuantizeLinear, as
// the CPU's integer kernels take them. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "lower/patterns/fuse_util.h"
#include "simplify/rewrite.h"

namespace parallax {

/// A convolution or matrix product of real numbers, its bias and its activation.
struct RealProduct {
  const Node* node = nullptr;
  ValueId bias;  ///< f32 [columns]; may be left out
  Epilogue epilogue;
};
/// Returns the product that computes `real`, if no other node reads what lies between and the
/// integer kernels have its shapes: a matrix of weights, images with a filter for each channel, or
/// in groups of several channels.
std::optional<RealProduct> real_product(const Graph& graph, const Readers& readers, ValueId real);

/// Weights of 8 bits with a scale for all, or one for each index along an axis.
struct ByteWeights {
  ValueId bytes, scale, zero;  ///< zero may be left out
};
/// Returns the constants that DequantizeLinear turns into the weights of `product`, with scales for
/// its filters or columns. A Transpose behind it, as TFLite's filters have one, and that of a Gemm
/// become a new constant of `graph`, named by `names`. nullopt if they are not signed around 0 as
/// the kernels want them.
std::optional<ByteWeights> byte_weights(Graph& graph, UniqueNames& names, const Node& product);

}  // namespace parallax
