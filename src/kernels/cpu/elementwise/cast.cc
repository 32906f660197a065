// Cast between integers and bool, and from them to f32, through loops that compilers vectorise;
// between f16 and f32. Casts from f32 to integers are left to the reference kernel: its rules for
// numbers out of range are special.
#include <cstdint>
#include <type_traits>

#include "ir/dtype_sets.h"
#include "kernels/cpu/elementwise/cast_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Bools in memory are bytes, true if not 0.
template <class From>
using Stored = std::conditional_t<std::is_same_v<From, bool>, std::uint8_t, From>;

template <class From, class To>
Result<std::unique_ptr<Kernel>> cast_kernel(std::int64_t n) {
  LambdaKernelOptions options;
  options.tiles = count_tiles(n, kTileElements);
  return tiled_kernel(
      options, [n, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(n, tiles, tile, kTileGranule);
        const auto* x = args.in<Stored<From>>(0);
        To* y = args.out<To>();
        if constexpr (std::is_same_v<From, bool>) {
          for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i] != 0);
        } else {
          for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
        }
        return {};
      });
}

Result<std::unique_ptr<Kernel>> half_cast_kernel(DType from, std::int64_t n) {
  LambdaKernelOptions options;
  options.tiles = count_tiles(n, kTileElements);
  const auto loop = from == DType::kF16 ? cast_halves_to_floats : cast_floats_to_halves;
  const std::int64_t in = size_of(from), out = from == DType::kF16 ? kFloatBytes : 2;
  return tiled_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const auto [begin, end] = tile_range(n, options.tiles, tile, kTileGranule);
    loop(args.inputs[0] + begin * in, args.outputs[0] + begin * out, to_size(end - begin));
    return {};
  });
}

constexpr DTypeSet kFrom = kIndexTypes | kBoolTypes | dtype_bit(DType::kU8);
constexpr DTypeSet kTo = dtype_bit(DType::kF32) | kIndexTypes | kBoolTypes;

}  // namespace

/// Creates the kernel of Cast from i64, i32, u8 or bool to f32, i64, i32 or bool, or between f16
/// and f32.
Result<std::unique_ptr<Kernel>> cpu_cast(const KernelRequest& request) {
  const DType source = request.inputs[0].dtype, result = request.outputs[0].dtype;
  if (source == DType::kF16 || source == DType::kF32) {
    if (result != (source == DType::kF16 ? DType::kF32 : DType::kF16)) return not_covered();
    return half_cast_kernel(source, request.outputs[0].elements());
  }
  return dispatch<kFrom>(source, [&](auto from) {
    using From = typename decltype(from)::type;
    return dispatch<kTo>(result, [&](auto to) {
      return cast_kernel<From, typename decltype(to)::type>(request.outputs[0].elements());
    });
  });
}

}  // namespace parallax
