// Operators that copy runs of bytes: Concat, Split, Gather, Pad.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/dtype_sets.h"
#include "kernels/cpu/elementwise/strided_loop.h"
#include "kernels/cpu/integers.h"
#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/movement/known_pads.h"
#include "kernels/cpu/tiles.h"
#include "kernels/table_bytes.h"
#include "ops/op.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

constexpr std::int64_t kTileBytes = kTileElements * 4;

/// Returns the bytes of one slice over dims[begin..).
std::int64_t inner_bytes(const Dims& dims, int begin, DType dtype) {
  std::int64_t bytes = size_of(dtype);
  for (int d = begin; d < dims.rank(); ++d) bytes *= dims[d];
  return bytes;
}

/// One row of the whole tensor is the rows of its parts, side by side. Calls
/// copy(part, offset in the part, offset in the whole, bytes) for the bytes in [begin, end) of the
/// whole.
template <class Copy>
void for_each_part(const std::vector<std::int64_t>& starts, std::int64_t begin, std::int64_t end,
                   const Copy& copy) {
  const std::int64_t row_bytes = starts.back();
  std::int64_t row = begin / row_bytes, column = begin % row_bytes;
  auto part = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), column) -
                                       starts.begin() - 1);
  while (begin < end) {
    const std::int64_t bytes = std::min(starts[part + 1] - column, end - begin);
    if (bytes > 0) {
      copy(part, row * (starts[part + 1] - starts[part]) + column - starts[part], begin, bytes);
      begin += bytes;
      column += bytes;
    }
    if (column == starts[part + 1] && ++part + 1 == starts.size()) {
      part = 0;
      column = 0;
      ++row;
    }
  }
}

/// Returns the offset of each part in a row of the whole, and last the length of that row.
std::vector<std::int64_t> part_starts(std::span<const TensorDesc> parts, int axis) {
  std::vector<std::int64_t> starts = {0};
  for (const TensorDesc& part : parts)
    starts.push_back(starts.back() + inner_bytes(part.dims, axis, part.dtype));
  return starts;
}

bool all_present(std::span<const TensorDesc> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorDesc& tensor) { return tensor.present; });
}

/// Cuts the `total` bytes of the whole into tiles; copy(args, part, offset in the part, offset in
/// the whole, bytes).
template <class Copy>
Result<std::unique_ptr<Kernel>> parts_kernel(LambdaKernelOptions options, std::int64_t total,
                                             std::vector<std::int64_t> starts, Copy copy) {
  if (total == 0) return empty_kernel();
  options.tiles = count_tiles(total, kTileBytes);
  options.table_bytes = bytes_of_table(starts);
  return tiled_kernel(options,
                      [total, tiles = options.tiles, starts = std::move(starts), copy](
                          std::int64_t tile, const KernelArgs& args) -> Status {
                        const auto [begin, end] = tile_range(total, tiles, tile, kTileGranule);
                        for_each_part(starts, begin, end,
                                      [&](std::size_t part, std::int64_t in_part,
                                          std::int64_t in_whole, std::int64_t bytes) {
                                        copy(args, part, in_part, in_whole, to_size(bytes));
                                      });
                        return {};
                      });
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_concat(const KernelRequest& request) {
  const auto axis =
      normalize_axis(params_of<AxisParams<0>>(request.node).axis, request.outputs[0].dims.rank());
  if (!axis || !all_present(request.inputs)) return not_covered();
  LambdaKernelOptions options;
  options.byte_inputs = ~std::uint32_t{0};
  return parts_kernel(
      options, request.outputs[0].bytes(), part_starts(request.inputs, *axis),
      [](const KernelArgs& args, std::size_t part, std::int64_t from, std::int64_t to,
         std::size_t bytes) { copy_run(args.outputs[0] + to, args.inputs[part] + from, bytes); });
}

Result<std::unique_ptr<Kernel>> cpu_split(const KernelRequest& request) {
  const auto axis =
      normalize_axis(params_of<AxisParams<0>>(request.node).axis, request.inputs[0].dims.rank());
  if (!axis || !all_present(request.outputs)) return not_covered();
  LambdaKernelOptions options;
  options.byte_inputs = 0b1;
  options.unused_inputs = 0b10;
  return parts_kernel(options, request.inputs[0].bytes(), part_starts(request.outputs, *axis),
                      [](const KernelArgs& args, std::size_t part, std::int64_t to,
                         std::int64_t from, std::size_t bytes) {
                        if (args.outputs[part] != nullptr)
                          copy_run(args.outputs[part] + to, args.inputs[0] + from, bytes);
                      });
}

namespace {

Error index_error(std::int64_t index, std::int64_t size) {
  return {Stage::kRun,
          ErrorCode::kOutOfRange,
          {},
          "index " + std::to_string(index) + " is outside an axis of " + std::to_string(size)};
}

struct GatherShape {
  std::int64_t size = 0, row_bytes = 0, indices = 0, rows = 0;
};

template <class Index>
Result<std::unique_ptr<Kernel>> gather_kernel(const GatherShape& shape) {
  LambdaKernelOptions options;
  options.byte_inputs = 0b1;
  options.tiles = count_tiles(shape.rows, shape.row_bytes, kTileBytes);
  return tiled_kernel(
      options, [shape, tiles = options.tiles](std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(shape.rows, tiles, tile);
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t index = args.in<Index>(1)[row % shape.indices];
          if (index < -shape.size || index >= shape.size)
            return tl::unexpected(index_error(index, shape.size));
          const std::int64_t from =
              row / shape.indices * shape.size + (index < 0 ? index + shape.size : index);
          copy_run(args.outputs[0] + row * shape.row_bytes, args.inputs[0] + from * shape.row_bytes,
                   to_size(shape.row_bytes));
        }
        return {};
      });
}

}  // namespace

/// Creates the kernel of Gather along any axis. Big tables are read in place from the mapped file.
/// Errors while running: kOutOfRange.
Result<std::unique_ptr<Kernel>> cpu_gather(const KernelRequest& request) {
  const TensorDesc& data = request.inputs[0];
  const auto axis = normalize_axis(params_of<AxisParams<0>>(request.node).axis, data.dims.rank());
  if (!axis || data.elements() == 0 || request.outputs[0].elements() == 0) return not_covered();
  GatherShape shape;
  shape.size = data.dims[*axis];
  shape.row_bytes = inner_bytes(data.dims, *axis + 1, data.dtype);
  shape.indices = request.inputs[1].elements();
  shape.rows = request.outputs[0].bytes() / shape.row_bytes;
  return dispatch<kIndexTypes>(request.inputs[1].dtype, [&](auto type) {
    return gather_kernel<typename decltype(type)::type>(shape);
  });
}

namespace {

/// An axis that is not padded is one with the axis before it.
struct PadShape {
  int rank = 0;
  std::array<std::int64_t, Dims::kMaxRank> in{}, out{}, before{};
  std::int64_t bytes = 0;  ///< size of one element
  std::array<std::byte, 8> value{};
};

void fill(std::byte* to, std::int64_t count, const PadShape& shape) {
  const std::size_t bytes = to_size(count * shape.bytes);
  if (shape.value == decltype(shape.value){}) {
    std::memset(to, 0, bytes);
    return;
  }
  for (std::size_t i = 0; i < bytes; i += to_size(shape.bytes))
    std::memcpy(to + i, shape.value.data(), to_size(shape.bytes));
}

/// Writes one innermost row of the output.
void pad_row(const PadShape& shape, std::int64_t row, const std::byte* x, std::byte* y) {
  const std::size_t last = to_size(shape.rank - 1);
  y += row * shape.out[last] * shape.bytes;
  std::int64_t from = 0, stride = 1;
  for (std::size_t d = last; d-- > 0;) {
    const std::int64_t at = row % shape.out[d] - shape.before[d];
    row /= shape.out[d];
    if (at < 0 || at >= shape.in[d]) return fill(y, shape.out[last], shape);
    from += at * stride;
    stride *= shape.in[d];
  }
  const std::int64_t before = shape.before[last], inside = shape.in[last];
  const std::int64_t after = shape.out[last] - before - inside;
  if (before > 0) fill(y, before, shape);
  if (inside > 0)
    std::memcpy(y + before * shape.bytes, x + from * inside * shape.bytes,
                to_size(inside * shape.bytes));
  if (after > 0) fill(y + (before + inside) * shape.bytes, after, shape);
}

/// Merges neighbouring axes that can be one.
PadShape merge_axes(const Dims& in, const Dims& out,
                    const std::array<std::int64_t, Dims::kMaxRank>& before) {
  PadShape shape;
  for (int d = 0; d < in.rank(); ++d) {
    if (d == 0 || in[d] != out[d]) ++shape.rank;
    const std::size_t to = to_size(shape.rank - 1);
    const bool first = d == 0 || in[d] != out[d];
    shape.in[to] = first ? in[d] : shape.in[to] * in[d];
    shape.out[to] = first ? out[d] : shape.out[to] * out[d];
    shape.before[to] = first ? before[to_size(d)] : shape.before[to] * in[d];
  }
  return shape;
}

std::optional<PadShape> pad_shape(const KernelRequest& request) {
  const auto pads = known_pads(request);
  const Dims &in = request.inputs[0].dims, &out = request.outputs[0].dims;
  if (!pads || in.rank() == 0) return std::nullopt;
  for (int d = 0; d < in.rank(); ++d)
    if (pads->before[to_size(d)] > out[d] - in[d]) return std::nullopt;
  PadShape shape = merge_axes(in, out, pads->before);
  shape.bytes = size_of(request.inputs[0].dtype);
  if (request.has(2)) {
    const TensorDesc& value = request.inputs[2];
    if (value.data == nullptr || value.elements() != 1) return std::nullopt;
    std::memcpy(shape.value.data(), value.data, to_size(shape.bytes));
  }
  return shape;
}

}  // namespace

std::optional<KnownPads> known_pads(const KernelRequest& request) {
  const auto pads = known_integers(request, 1), axes = known_integers(request, 3);
  const int rank = request.inputs[0].dims.rank();
  if (!pads || (request.has(3) && !axes)) return std::nullopt;
  const std::size_t count = axes ? axes->size() : to_size(rank);
  if (pads->size() != 2 * count) return std::nullopt;
  KnownPads known;
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank);
    if (!axis || (*pads)[i] < 0 || (*pads)[count + i] < 0) return std::nullopt;
    known.before[to_size(*axis)] = (*pads)[i];
    known.after[to_size(*axis)] = (*pads)[count + i];
  }
  return known;
}

/// Creates the kernel of Pad with a constant, by amounts >= 0 known at plan time.
Result<std::unique_ptr<Kernel>> cpu_pad(const KernelRequest& request) {
  if (params_of<PadParams>(request.node).mode != PadMode::kConstant) return not_covered();
  const auto shape = pad_shape(request);
  if (!shape) return not_covered();
  const std::int64_t elements = request.outputs[0].elements();
  if (elements == 0) return empty_kernel();
  const std::int64_t width = shape->out[to_size(shape->rank - 1)];
  const std::int64_t rows = elements / width;
  LambdaKernelOptions options;
  options.unused_inputs = 0b1110;
  options.tiles = count_tiles(rows, width, kTileElements);
  return tiled_kernel(options,
                      [shape = *shape, rows, tiles = options.tiles](
                          std::int64_t tile, const KernelArgs& args) -> Status {
                        const auto [begin, end] = tile_range(rows, tiles, tile);
                        for (std::int64_t row = begin; row < end; ++row)
                          pad_row(shape, row, args.inputs[0], args.outputs[0]);
                        return {};
                      });
}

}  // namespace parallax
