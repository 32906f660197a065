// Elementwise operators of one f32 tensor; Clip; Pow by constants that need no logarithm.
#include <limits>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

Result<std::unique_ptr<Kernel>> unary_kernel(const KernelRequest& request, const Unary& f,
                                             std::uint32_t unused_inputs = 0) {
  const bool costly = f != UnaryFunction::kAbs && f != UnaryFunction::kNeg &&
                      f != UnaryFunction::kRelu && f != UnaryFunction::kClip &&
                      f != UnaryFunction::kHardSwish;
  const std::int64_t n = request.outputs[0].elements();
  LambdaKernelOptions options;
  options.tiles = count_tiles(n, costly ? kTileCostlyElements : kTileElements);
  options.unused_inputs = unused_inputs;
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(n, tiles, tile, kTileGranule);
        apply_unary(f, args.in<float>(0) + begin, args.out<float>() + begin, to_size(end - begin));
        return {};
      });
}

std::optional<UnaryFunction> power(float exponent) {
  if (exponent == 1.0F) return UnaryFunction::kNone;
  if (exponent == 2.0F) return UnaryFunction::kSquare;
  if (exponent == 3.0F) return UnaryFunction::kCube;
  if (exponent == 0.5F) return UnaryFunction::kPowHalf;
  if (exponent == -1.0F) return UnaryFunction::kReciprocal;
  return std::nullopt;
}

}  // namespace

/// Abs, Neg, Sqrt, Reciprocal, Exp, Log, Erf, Tanh, Sigmoid, Relu, Silu, Gelu, HardSwish of f32.
Result<std::unique_ptr<Kernel>> cpu_unary(const KernelRequest& request) {
  const auto f = unary_function(request.node);
  if (!f || request.inputs[0].dtype != DType::kF32) return not_covered();
  return unary_kernel(request, {*f});
}

/// Clip of f32 whose limits are known at plan time. Infinities become what is left out.
Result<std::unique_ptr<Kernel>> cpu_clip(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kF32) return not_covered();
  float limits[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!request.has(i + 1)) continue;
    const TensorDesc& limit = request.inputs[i + 1];
    if (limit.data == nullptr || limit.elements() != 1) return not_covered();
    limits[i] = first_element<float>(limit);
    if (limits[i] != limits[i]) return not_covered();
  }
  return unary_kernel(request, {UnaryFunction::kClip, limits[0], limits[1]}, 0b110);
}

/// Pow of f32 by one constant among 1, 2, 3, 1/2 and -1.
Result<std::unique_ptr<Kernel>> cpu_pow(const KernelRequest& request) {
  const TensorDesc& exponent = request.inputs[1];
  if (request.inputs[0].dtype != DType::kF32 || exponent.dtype != DType::kF32 ||
      exponent.data == nullptr || exponent.elements() != 1 ||
      request.outputs[0].elements() != request.inputs[0].elements())
    return not_covered();
  const auto f = power(first_element<float>(exponent));
  return f ? unary_kernel(request, {*f}, 0b10) : not_covered();
}

}  // namespace parallax
