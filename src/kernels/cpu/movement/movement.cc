// Operators whose output element is an input element found by strides: Transpose, Expand, Tile,
// Resize by whole factors, Slice. Runs that are contiguous on both sides are copied whole; true
// transpositions go through blocks that fit the cache. Any dtype.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/elementwise/strided_loop.h"
#include "kernels/cpu/integers.h"
#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"
#include "kernels/space_blocks.h"
#include "ops/op.h"
#include "ops/params/movement.h"
#include "ops/params/resize.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

using Offsets = StridedLoop::Offsets;

template <class T>
void gather_row(const std::byte* from, std::byte* to, std::int64_t columns, std::int64_t stride) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  for (std::int64_t c = 0; c < columns; ++c) y[c] = x[c * stride];
}

void copy_row(const std::byte* from, std::byte* to, std::int64_t columns, std::int64_t stride,
              std::int64_t bytes) {
  if (stride == 1) {
    copy_run(to, from, to_size(columns * bytes));
  } else if (bytes == 2) {
    gather_row<std::uint16_t>(from, to, columns, stride);
  } else if (bytes == 4) {
    gather_row<std::uint32_t>(from, to, columns, stride);
  } else if (bytes == 8) {
    gather_row<std::uint64_t>(from, to, columns, stride);
  } else {
    gather_row<std::uint8_t>(from, to, columns, stride);
  }
}

Result<std::unique_ptr<Kernel>> row_copy_kernel(const StridedLoop& loop, std::int64_t bytes,
                                                std::uint32_t unused_inputs) {
  LambdaKernelOptions options;
  options.unused_inputs = unused_inputs;
  options.tiles = count_tiles(loop.elements(), kTileElements * 4 / bytes);
  return tiled_kernel(
      options,
      [loop, bytes, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(loop.elements(), tiles, tile, kTileGranule);
        const std::int64_t row = loop.row_strides()[0], column = loop.column_strides()[0];
        loop.for_each_block(
            begin, end,
            [&](std::int64_t at, const Offsets& offsets, std::int64_t rows, std::int64_t columns) {
              for (std::int64_t r = 0; r < rows; ++r)
                copy_row(args.inputs[0] + (offsets[0] + r * row) * bytes,
                         args.outputs[0] + (at + r * columns) * bytes, columns, column, bytes);
            });
        return {};
      });
}

/// Returns the dimension along which the input is contiguous, if there is one and it is not the
/// last.
std::optional<int> contiguous_dim(const StridedLoop& loop) {
  if (loop.column_strides()[0] == 1) return std::nullopt;
  for (int d = 0; d + 1 < loop.rank(); ++d)
    if (loop.strides(d)[0] == 1 && loop.dim(d) > 1) return d;
  return std::nullopt;
}

/// Creates a kernel that transposes, for each index of the other dimensions, a matrix of dimension
/// `across` by the last dimension.
Result<std::unique_ptr<Kernel>> transpose_kernel(const StridedLoop& loop, int across,
                                                 std::int64_t bytes, std::uint32_t unused_inputs) {
  std::array<std::int64_t, StridedLoop::kMaxRank> out_strides{};
  std::int64_t stride = 1, matrices = 1;
  for (int d = loop.rank() - 1; d >= 0; --d) {
    out_strides[static_cast<std::size_t>(d)] = stride;
    stride *= loop.dim(d);
    if (d != across && d != loop.rank() - 1) matrices *= loop.dim(d);
  }
  const std::int64_t rows = loop.dim(across), columns = loop.columns();
  // One matrix may be a whole small node.
  const std::int64_t wanted = count_tiles(matrices * rows * columns, kTileElements);
  const std::int64_t chunks = matrices >= wanted
                                  ? tile_count(rows * columns, kTileElements)
                                  : std::min(tile_count(wanted, matrices), tile_count(rows, 16));
  LambdaKernelOptions options;
  options.unused_inputs = unused_inputs;
  options.tiles =
      chunks > 1 ? matrices * chunks : count_tiles(matrices, rows * columns, kTileElements);
  return tiled_kernel(
      options, [=, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto units = tile_range(matrices * chunks, tiles, tile);
        for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
          const auto part = tile_range(rows, chunks, unit % chunks, 16);
          std::int64_t rest = unit / chunks, from = part.begin;
          std::int64_t to = part.begin * out_strides[static_cast<std::size_t>(across)];
          for (int d = loop.rank() - 2; d >= 0; --d) {
            if (d == across) continue;
            from += rest % loop.dim(d) * loop.strides(d)[0];
            to += rest % loop.dim(d) * out_strides[static_cast<std::size_t>(d)];
            rest /= loop.dim(d);
          }
          transpose_block({args.inputs[0] + from * bytes, args.outputs[0] + to * bytes,
                           to_size(loop.column_strides()[0]),
                           to_size(out_strides[static_cast<std::size_t>(across)]),
                           to_size(part.end - part.begin), to_size(columns), to_size(bytes)});
        }
        return {};
      });
}

/// Copies whole runs if there are any, and transposes otherwise.
Result<std::unique_ptr<Kernel>> move_kernel(const StridedLoop& loop, std::int64_t bytes,
                                            std::uint32_t unused_inputs) {
  const auto across = contiguous_dim(loop);
  return across ? transpose_kernel(loop, *across, bytes, unused_inputs)
                : row_copy_kernel(loop, bytes, unused_inputs);
}

/// Returns the first index along an axis of `size`, as Slice clamps it for a slice that has
/// elements.
std::int64_t slice_start(std::int64_t start, std::int64_t size) {
  if (start < 0) start = start < -size ? 0 : start + size;
  return std::min(start, size - 1);
}

/// Returns true if nearest resizing by whole factors reads element i / factor: each mode and
/// rounding for which the exact coordinate leads there.
bool repeats_elements(const Node& node) {
  const auto params = params_of<ResizeParams>(node);
  if (!params.copies()) return false;
  if (params.coordinates == ResizeCoordinates::kAsymmetric)
    return params.rounding == ResizeRounding::kFloor;
  return (params.coordinates == ResizeCoordinates::kHalfPixel ||
          params.coordinates == ResizeCoordinates::kHalfPixelSymmetric) &&
         params.rounds_to_nearest();
}

// Far beyond these sizes f32 coordinates would be too coarse to tell elements apart.
constexpr std::int64_t kMaxElements = 1 << 16;
constexpr std::int64_t kMaxFactor = 16;

/// Returns how often each element is repeated along each axis; nullopt if that is no integer.
std::optional<std::vector<std::int64_t>> whole_factors(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  std::vector<std::int64_t> factors;
  for (int d = 0; d < in.rank(); ++d) {
    if (in[d] == 0 || out[d] % in[d] != 0) return std::nullopt;
    factors.push_back(out[d] / in[d]);
    if (factors.back() > 1 && (in[d] > kMaxElements || factors.back() > kMaxFactor))
      return std::nullopt;
  }
  if (!request.has(2) || request.inputs[2].elements() == 0) return factors;
  const TensorDesc& scales = request.inputs[2];
  if (scales.data == nullptr || scales.elements() != in.rank()) return std::nullopt;
  const bool nhwc = channels_last(request.node);
  for (int d = 0; d < in.rank(); ++d) {
    // Scales name the axes of NCHW.
    const int axis = !nhwc || d == 0 ? d : d == 1 ? in.rank() - 1 : d - 1;
    float scale = 0;
    std::memcpy(&scale, scales.data + static_cast<std::size_t>(d) * sizeof(scale), sizeof(scale));
    if (scale != static_cast<float>(factors[to_size(axis)])) return std::nullopt;
  }
  return factors;
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_transpose(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const auto perm = params_of<TransposeParams>(request.node).perm;
  const auto dense = dense_strides(dims);
  if (!perm.empty() && perm.size() != to_size(dims.rank())) return not_covered();
  std::vector<std::int64_t> sizes;
  std::vector<Offsets> strides;
  for (int d = 0; d < dims.rank(); ++d) {
    const std::int64_t from =
        perm.empty() ? dims.rank() - 1 - d : perm[static_cast<std::size_t>(d)];
    sizes.push_back(dims[static_cast<int>(from)]);
    strides.push_back({dense[static_cast<std::size_t>(from)]});
  }
  if (dims.elements() == 0) return empty_kernel();
  const StridedLoop loop(sizes, strides);
  return move_kernel(loop, size_of(request.inputs[0].dtype), 0);
}

/// Creates the kernels of DepthToSpace and SpaceToDepth.
Result<std::unique_ptr<Kernel>> cpu_space_blocks(const KernelRequest& request) {
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const SpaceBlocks blocks = space_blocks(request);
  std::vector<Offsets> strides;
  for (const std::int64_t stride : blocks.strides) strides.push_back({stride});
  return move_kernel(StridedLoop(blocks.sizes, strides), size_of(request.inputs[0].dtype), 0);
}

Result<std::unique_ptr<Kernel>> cpu_expand(const KernelRequest& request) {
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const StridedLoop loop =
      broadcast_loop(request.outputs[0].dims, std::span(&request.inputs[0].dims, 1));
  return row_copy_kernel(loop, size_of(request.inputs[0].dtype), 0b10);
}

/// Creates the kernel of Tile: a dimension that repeats gets an outer dimension of stride 0.
Result<std::unique_ptr<Kernel>> cpu_tile(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  if (out.elements() == 0) return empty_kernel();
  const auto dense = dense_strides(in);
  std::vector<std::int64_t> sizes;
  std::vector<Offsets> strides;
  for (int d = 0; d < in.rank(); ++d) {
    sizes.push_back(out[d] / in[d]);
    strides.push_back({0});
    sizes.push_back(in[d]);
    strides.push_back({dense[static_cast<std::size_t>(d)]});
  }
  return row_copy_kernel(StridedLoop(sizes, strides), size_of(request.inputs[0].dtype), 0b10);
}

/// Creates the kernel of Resize, mode nearest, by integer factors.
Result<std::unique_ptr<Kernel>> cpu_resize(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  if (!repeats_elements(request.node) || !params_of<ResizeParams>(request.node).axes.empty())
    return not_covered();
  const auto factors = whole_factors(request);
  if (!factors) return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const auto dense = dense_strides(in);
  std::vector<std::int64_t> sizes;
  std::vector<Offsets> strides;
  for (std::size_t d = 0; d < factors->size(); ++d) {
    sizes.push_back(in[static_cast<int>(d)]);
    strides.push_back({dense[d]});
    sizes.push_back((*factors)[d]);
    strides.push_back({0});
  }
  return row_copy_kernel(StridedLoop(sizes, strides), size_of(request.inputs[0].dtype), 0b1110);
}

/// Creates the kernel of Slice whose starts, axes and steps are known at plan time.
Result<std::unique_ptr<Kernel>> cpu_slice(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  const auto starts = known_integers(request, 1), axes = known_integers(request, 3),
             steps = known_integers(request, 4);
  if (!starts || (request.has(3) && !axes) || (request.has(4) && !steps)) return not_covered();
  if (out.elements() == 0) return empty_kernel();
  const auto dense = dense_strides(in);
  std::vector<Offsets> strides(static_cast<std::size_t>(in.rank()));
  for (std::size_t d = 0; d < strides.size(); ++d) strides[d][0] = dense[d];
  Offsets start{};
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && axes->size() <= i) || (steps && steps->size() <= i)) return not_covered();
    const auto axis = normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), in.rank());
    if (!axis || ((seen >> *axis) & 1U) != 0) return not_covered();
    seen |= std::uint32_t{1} << *axis;
    // A step that goes past the axis is never taken: the output has one element there.
    const std::int64_t size = in[*axis];
    const std::int64_t step = out[*axis] > 1 && steps ? (*steps)[i] : 1;
    const std::int64_t at = slice_start((*starts)[i], size);
    if (out[*axis] > size || step < -size || step > size) return not_covered();
    const std::int64_t last = at + (out[*axis] - 1) * step;
    if (last < 0 || last >= size) return not_covered();
    const auto d = static_cast<std::size_t>(*axis);
    start[0] += at * dense[d];
    strides[d][0] = dense[d] * step;
  }
  return row_copy_kernel(StridedLoop(out.span(), strides, start), size_of(request.inputs[0].dtype),
                         0b11110);
}

}  // namespace parallax
