// DepthToSpace, SpaceToDepth, ReverseSequence, Col2Im.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/space_blocks.h"
#include "ops/params/movement.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

/// Parameters of Col2Im along one axis of the image; `before` and `after` are its padding.
struct ColumnAxis {
  std::int64_t image = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

struct ColumnShape {
  int rank = 0;
  std::array<ColumnAxis, Dims::kMaxRank> axes{};
  std::int64_t channels = 0, rows = 0, columns = 0;  ///< rows per channel
  std::int64_t pixels = 1;                           ///< pixels of one channel
};

ColumnShape column_shape(const KernelRequest& request) {
  ColumnShape shape;
  const Dims& in = request.inputs[0].dims;
  const Dims& out = request.outputs[0].dims;
  const auto params = params_of<Col2ImParams>(request.node);
  shape.rank = out.rank() - 2;
  for (int i = 0; i < shape.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Padding padding = params.stated_padding(at, static_cast<std::size_t>(shape.rank));
    shape.axes[at] = {out[i + 2], params.stride(at), params.dilation(at), padding.begin,
                      padding.end};
    shape.pixels *= out[i + 2];
  }
  shape.channels = out[1];
  shape.rows = out[1] == 0 ? 0 : in[1] / out[1];
  shape.columns = in[2];
  return shape;
}

/// Sizes of the block and of the grid of its places.
struct Blocks {
  Dims block, places;
};

Result<Blocks> blocks_of(const ColumnShape& shape, const std::byte* sizes) {
  Blocks blocks;
  std::int64_t rows = 1, columns = 1;
  for (int i = 0; i < shape.rank; ++i) {
    const ColumnAxis& axis = shape.axes[static_cast<std::size_t>(i)];
    const auto size = load_element<std::int64_t>(sizes, i);
    const auto reach = checked_mul(size - 1, axis.dilation);
    const auto pads = checked_add(axis.before, axis.after);
    const auto padded = pads ? checked_add(axis.image, *pads) : std::nullopt;
    if (size < 1 || !reach || !padded || *reach >= *padded || axis.stride < 1) {
      return run_error(ErrorCode::kInvalidInput, "a block is larger than the image");
    }
    blocks.block.push_back(size);
    blocks.places.push_back((*padded - 1 - *reach) / axis.stride + 1);
    const auto all_rows = checked_mul(rows, size);
    const auto all_columns = checked_mul(columns, blocks.places[i]);
    if (!all_rows || !all_columns) break;
    rows = *all_rows;
    columns = *all_columns;
  }
  if (blocks.block.rank() != shape.rank || rows != shape.rows || columns != shape.columns) {
    return run_error(ErrorCode::kInvalidInput, "the columns are not those of the blocks");
  }
  return blocks;
}

/// Returns the pixel of element `row` of the block at place `column`; -1 if it is in the padding.
std::int64_t pixel_of(const ColumnShape& shape, const Blocks& blocks, std::int64_t row,
                      std::int64_t column) {
  std::int64_t pixel = 0, stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    const ColumnAxis& axis = shape.axes[static_cast<std::size_t>(i)];
    const std::int64_t at = column % blocks.places[i] * axis.stride +
                            row % blocks.block[i] * axis.dilation - axis.before;
    if (at < 0 || at >= axis.image) return -1;
    pixel += at * stride;
    stride *= axis.image;
    row /= blocks.block[i];
    column /= blocks.places[i];
  }
  return pixel;
}

template <class T>
void add_columns(const ColumnShape& shape, const Blocks& blocks, const T* x, T* y) {
  std::fill_n(y, shape.pixels, T{0});
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t column = 0; column < shape.columns; ++column) {
      const std::int64_t pixel = pixel_of(shape, blocks, row, column);
      if (pixel >= 0) y[pixel] = wrap_add(y[pixel], x[row * shape.columns + column]);
    }
  }
}

}  // namespace

/// DepthToSpace and SpaceToDepth.
KernelResult reference_space_blocks(const KernelRequest& request) {
  const SpaceBlocks blocks = space_blocks(request);
  Dims sizes;
  Strides strides{};
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    sizes.push_back(blocks.sizes[i]);
    strides[i] = blocks.strides[i];
  }
  const IndexSpace<2> space(sizes, {row_major_strides(sizes), strides});
  const std::int64_t count = sizes.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_for_size(request.outputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 1},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(count, tiles, tile);
                                copy_elements<T>(space, range.begin, range.end, args.inputs[0],
                                                 args.outputs[0]);
                                return {};
                              });
  });
}

KernelResult reference_reverse_sequence(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const bool batch_first = params_of<ReverseSequenceParams>(request.node).batch_axis == 0;
  const std::int64_t times = dims[batch_first ? 1 : 0], batches = dims[batch_first ? 0 : 1];
  const std::int64_t step = batch_first ? 1 : batches, start = batch_first ? times : 1;
  const std::int64_t block = count_of(dims, 2, dims.rank()) * size_of(request.inputs[0].dtype);
  const std::int64_t tiles = block == 0 || times == 0 ? 0 : batches;
  return make_lambda_kernel({.tiles = tiles, .byte_inputs = 0b11},
                            [=](std::int64_t batch, const KernelArgs& args) -> Status {
                              const auto length = load_element<std::int64_t>(args.inputs[1], batch);
                              if (length < 0 || length > times) {
                                return run_error(
                                    ErrorCode::kInvalidInput,
                                    fmt::format("a sequence of {} has length {}", times, length));
                              }
                              for (std::int64_t time = 0; time < times; ++time) {
                                const std::int64_t from = time < length ? length - 1 - time : time;
                                std::memcpy(args.outputs[0] + (batch * start + time * step) * block,
                                            args.inputs[0] + (batch * start + from * step) * block,
                                            static_cast<std::size_t>(block));
                              }
                              return {};
                            });
}

/// A tile per channel of a sample.
KernelResult reference_col2im(const KernelRequest& request) {
  const ColumnShape shape = column_shape(request);
  const std::int64_t tiles =
      shape.pixels == 0 ? 0 : request.outputs[0].dims[0] * request.outputs[0].dims[1];
  return make_for<kNumericTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles, .byte_inputs = 0b100, .unused_inputs = 0b010},
                              [=](std::int64_t plane, const KernelArgs& args) -> Status {
                                PX_ASSIGN(const Blocks blocks, blocks_of(shape, args.inputs[2]));
                                add_columns(shape, blocks,
                                            args.in<T>(0) + plane * shape.rows * shape.columns,
                                            args.out<T>() + plane * shape.pixels);
                                return {};
                              });
  });
}

}  // namespace parallax
