// Convolutions with filters of one tap on NCHW: the filters as a matrix times the planes of an
// image.
#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/convolution/column_convolution.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

Result<std::unique_ptr<Kernel>> make_plane_convolution(const KernelRequest& request,
                                                       const ConvolutionShape& shape) {
  using Pair = std::array<std::int64_t, 2>;
  const auto activation = fused_activation(request.node);
  if (!activation || shape.nhwc || shape.groups != 1 || request.has(2) ||
      shape.kernel != Pair{1, 1} || shape.stride != Pair{1, 1} || shape.pad_begin != Pair{0, 0} ||
      shape.in != shape.out)
    return not_covered();
  const std::int64_t channels = shape.in_channels, filters = shape.out_channels;
  const std::int64_t pixels = shape.in[0] * shape.in[1];
  // With few filters, reading the planes dominates the cost.
  const std::int64_t tiles =
      std::min(std::max(count_tiles(pixels, channels, kTileElements),
                        count_tiles(pixels, channels * filters, kPlaneTileMacs)),
               tile_count(pixels, kTileGranule));
  const LambdaKernelOptions options{.tiles = shape.batch * tiles,
                                    .scratch_bytes = matmul_block_scratch_bytes()};
  return tiled_kernel(options,
                      [=, f = *activation](std::int64_t tile, const KernelArgs& args) -> Status {
                        const FlushDenormals flush;
                        const std::int64_t image = tile / tiles;
                        const auto range = tile_range(pixels, tiles, tile % tiles, kTileGranule);
                        MatMulBlock block;
                        block.a = args.in<float>(1);
                        block.lda = channels;
                        block.b = args.in<float>(0) + image * channels * pixels + range.begin;
                        block.c = args.out<float>() + image * filters * pixels + range.begin;
                        block.ldb = block.ldc = pixels;
                        block.rows = filters;
                        block.depth = channels;
                        block.columns = range.end - range.begin;
                        block.activation = f;
                        matmul_block(block, args.scratch);
                        return {};
                      });
}

}  // namespace parallax
