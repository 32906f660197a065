// Elementwise operators of one f32 tensor; Clip; Pow by constants that need no logarithm.
#include <limits>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise/functions.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Returns true if computing an element costs more than reading and writing it.
bool is_costly(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kAbs:
    case UnaryFunction::kCeil:
    case UnaryFunction::kClip:
    case UnaryFunction::kFloor:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kHardSwish:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kNeg:
    case UnaryFunction::kRelu:
    case UnaryFunction::kRound:
    case UnaryFunction::kSign:
    case UnaryFunction::kThresholdedRelu:
      return false;
    default:
      return true;
  }
}

Result<std::unique_ptr<Kernel>> unary_kernel(const KernelRequest& request, const Unary& f,
                                             std::uint32_t unused_inputs = 0) {
  const bool costly = is_costly(f.f);
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

std::optional<Unary> power(const KernelRequest& request) {
  const TensorDesc& exponent = request.inputs[1];
  if (exponent.dtype != DType::kF32 || exponent.data == nullptr || exponent.elements() != 1 ||
      request.outputs[0].elements() != request.inputs[0].elements())
    return std::nullopt;
  const auto number = first_element<float>(exponent);
  if (number == 1.0F) return Unary{UnaryFunction::kNone};
  if (number == 2.0F) return Unary{UnaryFunction::kSquare};
  if (number == 3.0F) return Unary{UnaryFunction::kCube};
  if (number == 0.5F) return Unary{UnaryFunction::kPowHalf};
  if (number == -1.0F) return Unary{UnaryFunction::kReciprocal};
  return std::nullopt;
}

/// Returns Clip with its bounds. A missing bound is the lowest or largest finite f32, as in ONNX,
/// so infinities are clipped to it. Returns nullopt if a bound is not known at plan time, or is
/// NaN.
std::optional<Unary> clipping(const KernelRequest& request) {
  float limits[2] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!request.has(i + 1)) continue;
    const TensorDesc& limit = request.inputs[i + 1];
    if (limit.data == nullptr || limit.elements() != 1) return std::nullopt;
    limits[i] = first_element<float>(limit);
    if (limits[i] != limits[i]) return std::nullopt;
  }
  return Unary{UnaryFunction::kClip, limits[0], limits[1]};
}

}  // namespace

std::optional<Unary> unary_of(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kF32) return std::nullopt;
  if (request.node.op == OpKind::kClip) return clipping(request);
  if (request.node.op == OpKind::kPow) return power(request);
  return unary_function(request.node);
}

/// Creates the kernels of functions of one f32 (activation.h).
Result<std::unique_ptr<Kernel>> cpu_unary(const KernelRequest& request) {
  const auto f = unary_of(request);
  return f ? unary_kernel(request, *f) : not_covered();
}

/// Creates the kernel of Clip of f32 whose limits are known at plan time.
Result<std::unique_ptr<Kernel>> cpu_clip(const KernelRequest& request) {
  const auto f = unary_of(request);
  return f ? unary_kernel(request, *f, 0b110) : not_covered();
}

/// Creates the kernel of Pow of f32 by one constant among 1, 2, 3, 1/2 and -1.
Result<std::unique_ptr<Kernel>> cpu_pow(const KernelRequest& request) {
  const auto f = unary_of(request);
  return f ? unary_kernel(request, *f, 0b10) : not_covered();
}

}  // namespace parallax
