// MaxPool of NHWC images of bytes.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/tiles.h"
#include "kernels/reference/image.h"
#include "ops/params/window.h"
#include "ops/quantised.h"

namespace parallax {
namespace {

/// Channels that are processed together: the compiler vectorizes loops of known length.
constexpr std::int64_t kPoolBlock = 64;

template <class Byte>
void take_larger(const Byte* x, Byte* y, std::int64_t n) {
  std::int64_t c = 0;
  for (; c + kPoolBlock <= n; c += kPoolBlock)
    for (std::int64_t i = 0; i < kPoolBlock; ++i) y[c + i] = std::max(y[c + i], x[c + i]);
  for (; c < n; ++c) y[c] = std::max(y[c], x[c]);
}

template <class Byte>
Result<std::unique_ptr<Kernel>> pool_bytes(const KernelRequest& request) {
  const Dims x = request.inputs[0].dims, y = request.outputs[0].dims;
  const WindowAxes axes = window_axes(request.node, {x[1], x[2]}, {y[1], y[2]},
                                      params_of<WindowParams>(request.node).kernel_shape);
  const WindowAxis down = axes[0], across = axes[1];
  const std::int64_t channels = x[3], rows = y[0] * y[1];
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows, y[2] * channels * down.kernel * across.kernel / kPoolBlock + 1,
                              kTileElements / 2);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto range = tile_range(rows, tiles, tile);
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          const Byte* image = args.in<Byte>(0) + row / y[1] * x[1] * x[2] * channels;
          const TileRange taps = down.taps(row % y[1], 0, x[1]);
          for (std::int64_t column = 0; column < y[2]; ++column) {
            Byte* to = args.out<Byte>() + (row * y[2] + column) * channels;
            std::fill_n(to, channels, std::numeric_limits<Byte>::min());
            const TileRange steps = across.taps(column, 0, x[2]);
            for (std::int64_t i = taps.begin; i < taps.end; ++i)
              for (std::int64_t j = steps.begin; j < steps.end; ++j) {
                const std::int64_t v =
                    row % y[1] * down.stride - down.pad_begin + i * down.dilation;
                const std::int64_t u =
                    column * across.stride - across.pad_begin + j * across.dilation;
                take_larger(image + (v * x[2] + u) * channels, to, channels);
              }
          }
        }
        return {};
      });
}

}  // namespace

Result<std::unique_ptr<Kernel>> byte_max_pool(const KernelRequest& request) {
  if (request.inputs[0].dims.rank() != 4 ||
      params_of<WindowParams>(request.node).kernel_shape.size() != 2 ||
      !channels_last(request.node) || (request.outputs.size() > 1 && request.outputs[1].present) ||
      request.outputs[0].elements() == 0)
    return not_covered();
  if (request.inputs[0].dtype == DType::kI8) return pool_bytes<std::int8_t>(request);
  return request.inputs[0].dtype == DType::kU8 ? pool_bytes<std::uint8_t>(request) : not_covered();
}

}  // namespace parallax
