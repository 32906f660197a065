// Cast between the integers and bool, and from them to f32, through loops that compilers vectorise.
// Casts from f32 are left to the reference kernel: its rules for numbers out of range are special.
#include "ir/dtype_sets.h"
#include "kernels/cpu/tiles.h"

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

constexpr DTypeSet kFrom = kIndexTypes | dtype_bit(DType::kU8);
constexpr DTypeSet kTo = dtype_bit(DType::kF32) | kIndexTypes | kBoolTypes;

}  // namespace

/// Creates the kernel of Cast from i64, i32 or u8 to f32, i64, i32 or bool.
Result<std::unique_ptr<Kernel>> cpu_cast(const KernelRequest& request) {
  return dispatch<kFrom>(request.inputs[0].dtype, [&](auto from) {
    using From = typename decltype(from)::type;
    return dispatch<kTo>(request.outputs[0].dtype, [&](auto to) {
      return cast_kernel<From, typename decltype(to)::type>(request.outputs[0].elements());
    });
  });
}

}  // namespace parallax
