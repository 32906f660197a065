// Operators that move elements without interpreting them: views, Transpose, Expand, Slice, Concat,
// Split, Tile. Inputs may be unaligned.
#include <vector>

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/table_bytes.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

/// Copies the elements of `space` (operand 0: destination, 1: source) of one of four sizes.
void copy_sized(std::int64_t size, const IndexSpace<2>& space, TileRange range,
                const std::byte* from, std::byte* to) {
  if (size == 1) copy_elements<std::uint8_t>(space, range.begin, range.end, from, to);
  if (size == 2) copy_elements<std::uint16_t>(space, range.begin, range.end, from, to);
  if (size == 4) copy_elements<std::uint32_t>(space, range.begin, range.end, from, to);
  if (size == 8) copy_elements<std::uint64_t>(space, range.begin, range.end, from, to);
}

/// Makes a kernel whose dense output 0 is input 0 read with `strides`.
KernelResult gather_by_strides(const KernelRequest& request, const Strides& strides) {
  const Dims& dims = request.outputs[0].dims;
  const IndexSpace<2> space(dims, {row_major_strides(dims), strides});
  const std::int64_t size = size_of(request.outputs[0].dtype);
  const std::int64_t count = dims.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile);
  return make_lambda_kernel({.tiles = tiles, .byte_inputs = 1, .unused_inputs = ~1U},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              copy_sized(size, space, tile_range(count, tiles, tile),
                                         args.inputs[0], args.outputs[0]);
                              return {};
                            });
}

/// Start and step of a Slice along one axis.
struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
};

/// Returns element `i` of a shape input, or `fallback` if the input is left out.
std::int64_t parameter(const KernelArgs& args, const TensorDesc& desc, std::size_t input,
                       std::int64_t i, std::int64_t fallback) {
  return desc.present ? load_index(args.inputs[input], desc.dtype, i) : fallback;
}

/// Clamps the start as ONNX specifies, and checks that `out` steps stay within [0, dim).
Result<Cut> checked_cut(std::int64_t start, std::int64_t step, std::int64_t dim, std::int64_t out) {
  if (start < 0) start += dim;
  start = step < 0 ? std::clamp<std::int64_t>(start, 0, std::max<std::int64_t>(dim - 1, 0))
                   : std::clamp<std::int64_t>(start, 0, dim);
  if (out == 0) return Cut{start, 0};
  const auto reach = checked_mul(out - 1, step);
  const auto last = reach ? checked_add(start, *reach) : std::nullopt;
  if (step == 0 || start >= dim || !last || *last < 0 || *last >= dim) {
    return run_error(ErrorCode::kInvalidInput, "slice leaves its input");
  }
  return Cut{start, out == 1 ? 0 : step};
}

}  // namespace

/// Reshape, Squeeze, Unsqueeze, Flatten, Identity: the bytes as they are.
KernelResult reference_view(const KernelRequest& request) {
  const std::int64_t bytes = request.outputs[0].bytes();
  if (bytes != request.inputs[0].bytes()) {
    return make_error(ErrorCode::kInvalidInput, "the result has not as many elements as the input");
  }
  const std::int64_t tiles = tile_count(bytes, 4 * kElementsPerTile);
  return make_lambda_kernel({.tiles = tiles, .byte_inputs = 1, .unused_inputs = ~1U},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(bytes, tiles, tile);
                              std::memcpy(args.outputs[0] + range.begin,
                                          args.inputs[0] + range.begin,
                                          static_cast<std::size_t>(range.end - range.begin));
                              return {};
                            });
}

KernelResult reference_transpose(const KernelRequest& request) {
  const Dims& in = request.inputs[0].dims;
  const Strides dense = row_major_strides(in);
  const auto perm = params_of<TransposeParams>(request.node).perm;
  Strides strides{};
  for (int axis = 0; axis < in.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const int from = perm.empty() ? in.rank() - 1 - axis : positive_axis(perm[i], in.rank());
    strides[i] = dense[static_cast<std::size_t>(from)];
  }
  return gather_by_strides(request, strides);
}

KernelResult reference_expand(const KernelRequest& request) {
  return gather_by_strides(request,
                           broadcast_strides(request.inputs[0].dims, request.outputs[0].dims));
}

KernelResult reference_slice(const KernelRequest& request) {
  const Dims in = request.inputs[0].dims, out = request.outputs[0].dims;
  const TensorDesc starts = request.inputs[1];
  const TensorDesc axes = request.has(3) ? request.inputs[3] : TensorDesc{};
  const TensorDesc steps = request.has(4) ? request.inputs[4] : TensorDesc{};
  const std::int64_t size = size_of(request.outputs[0].dtype);
  const std::int64_t tiles = tile_count(out.elements(), kElementsPerTile);
  const auto run = [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const Strides dense = row_major_strides(in);
    Strides strides = dense;
    std::int64_t origin = 0;
    for (std::int64_t i = 0; i < starts.elements(); ++i) {
      const int axis = positive_axis(parameter(args, axes, 3, i, i), in.rank());
      if (axis < 0 || axis >= in.rank())
        return run_error(ErrorCode::kInvalidInput, "bad slice axis");
      PX_ASSIGN(const Cut cut, checked_cut(load_index(args.inputs[1], starts.dtype, i),
                                           parameter(args, steps, 4, i, 1), in[axis], out[axis]));
      const auto at = static_cast<std::size_t>(axis);
      origin += cut.start * dense[at];
      strides[at] = cut.step * dense[at];
    }
    const IndexSpace<2> space(out, {row_major_strides(out), strides});
    copy_sized(size, space, tile_range(out.elements(), tiles, tile), args.inputs[0] + origin * size,
               args.outputs[0]);
    return {};
  };
  return make_lambda_kernel({.tiles = tiles, .byte_inputs = 0b11011, .unused_inputs = 0b100}, run);
}

/// One tile per input, which copies its block of rows into every outer row of the result.
KernelResult reference_concat(const KernelRequest& request) {
  PX_RETURN_IF_ERROR(require_all_inputs(request));
  const Dims& dims = request.outputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<0>>(request.node).axis, dims.rank());
  const std::int64_t size = size_of(request.outputs[0].dtype);
  const std::int64_t inner = count_of(dims, axis + 1, dims.rank()) * size;
  const std::int64_t outer = count_of(dims, 0, axis), row = dims[axis] * inner;
  struct Part {
    std::int64_t offset, bytes;
  };
  std::vector<Part> parts;
  std::int64_t offset = 0;
  for (const TensorDesc& input : request.inputs) {
    parts.push_back({offset, input.dims[axis] * inner});
    offset += parts.back().bytes;
  }
  if (offset != row) return make_error(ErrorCode::kInvalidInput, "inputs do not fill the result");
  const std::int64_t tiles = dims.elements() == 0 ? 0 : static_cast<std::int64_t>(parts.size());
  const std::int64_t table_bytes = bytes_of_table(parts);
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = ~0U, .table_bytes = table_bytes},
      [=, parts = std::move(parts)](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto k = static_cast<std::size_t>(tile);
        if (parts[k].bytes == 0) return {};
        for (std::int64_t i = 0; i < outer; ++i) {
          std::memcpy(args.outputs[0] + i * row + parts[k].offset,
                      args.inputs[k] + i * parts[k].bytes,
                      static_cast<std::size_t>(parts[k].bytes));
        }
        return {};
      });
}

/// One tile per output.
KernelResult reference_split(const KernelRequest& request) {
  const Dims& dims = request.inputs[0].dims;
  const int axis = positive_axis(params_of<AxisParams<0>>(request.node).axis, dims.rank());
  const auto count = static_cast<std::int64_t>(request.outputs.size());
  const std::int64_t equal = dims[axis] / count + (dims[axis] % count != 0 ? 1 : 0);
  const TensorDesc sizes = request.has(1) ? request.inputs[1] : TensorDesc{};
  const std::int64_t inner =
      count_of(dims, axis + 1, dims.rank()) * size_of(request.inputs[0].dtype);
  const std::int64_t outer = count_of(dims, 0, axis), dim = dims[axis];
  std::vector<std::int64_t> expected;  // -1 where the output is left out
  expected.reserve(request.outputs.size());
  for (const TensorDesc& output : request.outputs) {
    expected.push_back(output.present ? output.dims[axis] : -1);
  }
  const auto run = [=](std::int64_t tile, const KernelArgs& args) -> Status {
    const auto k = static_cast<std::size_t>(tile);
    if (expected[k] <= 0 || args.outputs[k] == nullptr || inner * outer == 0) return {};
    std::int64_t offset = sizes.present ? 0 : tile * equal;
    for (std::int64_t i = 0; sizes.present && i < tile; ++i) {
      const std::int64_t size = load_index(args.inputs[1], sizes.dtype, i);
      if (size < 0 || size > dim - offset) break;  // refused below
      offset += size;
    }
    if (expected[k] > dim - offset) {
      return run_error(ErrorCode::kInvalidInput, "the parts do not add up to the axis");
    }
    const std::int64_t bytes = expected[k] * inner;
    for (std::int64_t i = 0; i < outer; ++i) {
      std::memcpy(args.outputs[k] + i * bytes, args.inputs[0] + (i * dim + offset) * inner,
                  static_cast<std::size_t>(bytes));
    }
    return {};
  };
  return make_lambda_kernel(
      {.tiles = count, .byte_inputs = 0b11, .table_bytes = bytes_of_table(expected)}, run);
}

/// Output element at index i is the input's at i mod its dimensions.
KernelResult reference_tile(const KernelRequest& request) {
  const Dims in = request.inputs[0].dims, out = request.outputs[0].dims;
  const std::int64_t size = size_of(request.outputs[0].dtype);
  const int last = in.rank() - 1;
  const std::int64_t row_out = last < 0 ? 1 : out[last], row_in = last < 0 ? 1 : in[last];
  const std::int64_t rows = out.elements() == 0 ? 0 : out.elements() / row_out;
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(row_out, 1), 1));
  return make_lambda_kernel(
      {.tiles = tiles, .byte_inputs = 1, .unused_inputs = ~1U},
      [=](std::int64_t tile, const KernelArgs& args) -> Status {
        const Strides dense = row_major_strides(in);
        const TileRange range = tile_range(rows, tiles, tile);
        for (std::int64_t row = range.begin; row < range.end; ++row) {
          std::int64_t rest = row, from = 0;
          for (int axis = last - 1; axis >= 0; --axis) {
            from += rest % out[axis] % in[axis] * dense[static_cast<std::size_t>(axis)];
            rest /= out[axis];
          }
          for (std::int64_t at = 0; at < row_out; at += row_in) {
            std::memcpy(args.outputs[0] + (row * row_out + at) * size, args.inputs[0] + from * size,
                        static_cast<std::size_t>(row_in * size));
          }
        }
        return {};
      });
}

}  // namespace parallax
