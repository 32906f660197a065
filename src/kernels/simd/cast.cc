// Cast between the integers and bool, and from them to f32, through loops that compilers vectorise.
// From f32 the reference kernel casts: its rules for what does not fit are particular.
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

template <class From, class To>
Result<std::unique_ptr<Kernel>> cast_kernel(std::int64_t n) {
  LambdaKernelOptions options;
  options.tiles = count_tiles(n, kTileElements);
  return tiled_kernel(
      options, [n, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(n, tiles, tile, kTileGranule);
        const From* x = args.in<From>(0);
        To* y = args.out<To>();
        for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
        return {};
      });
}

template <class From>
Result<std::unique_ptr<Kernel>> cast_from(DType to, std::int64_t n) {
  switch (to) {
    case DType::kF32:
      return cast_kernel<From, float>(n);
    case DType::kI64:
      return cast_kernel<From, std::int64_t>(n);
    case DType::kI32:
      return cast_kernel<From, std::int32_t>(n);
    case DType::kBool:
      return cast_kernel<From, bool>(n);
    default:
      return not_covered();
  }
}

}  // namespace

/// Cast from i64, i32 or u8 to f32, i64, i32 or bool.
Result<std::unique_ptr<Kernel>> simd_cast(const KernelRequest& request) {
  const DType to = request.outputs[0].dtype;
  const std::int64_t n = request.outputs[0].elements();
  switch (request.inputs[0].dtype) {
    case DType::kI64:
      return cast_from<std::int64_t>(to, n);
    case DType::kI32:
      return cast_from<std::int32_t>(to, n);
    case DType::kU8:
      return cast_from<std::uint8_t>(to, n);
    default:
      return not_covered();
  }
}

}  // namespace parallax
