// Pad with a constant.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/status.h"
#include "kernels/cpu/integers.h"
#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/movement/known_pads.h"
#include "kernels/cpu/tiles.h"
#include "ops/op.h"
#include "ops/params/movement.h"

namespace parallax {
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

/// Rows of the innermost axis, of the output and of the input; and elements before one.
struct PadRows {
  std::int64_t width, inside, before;
};

/// Writes `count` rows, which have elements of the input.
void pad_rows(const PadShape& shape, const PadRows& rows, std::int64_t count, const std::byte* x,
              std::byte* y) {
  const std::int64_t bytes = rows.width * shape.bytes, inside = rows.inside * shape.bytes;
  const std::int64_t before = rows.before * shape.bytes;
  if (bytes <= kShortRowBytes) {
    if (inside < bytes) fill(y, count * rows.width, shape);
    return copy_runs(y + before, bytes, x, inside, inside, count);
  }
  for (std::int64_t row = 0; row < count; ++row, x += inside, y += bytes) {
    if (before > 0) fill(y, rows.before, shape);
    if (inside > 0) std::memcpy(y + before, x, to_size(inside));
    if (before + inside < bytes)
      fill(y + before + inside, rows.width - rows.before - rows.inside, shape);
  }
}

/// Writes rows [begin, end) of the output, which lie together on the axis before the last.
void pad_line(const PadShape& shape, TileRange range, const std::byte* x, std::byte* y) {
  const std::size_t last = to_size(shape.rank - 1);
  const PadRows rows{shape.out[last], shape.in[last], shape.before[last]};
  const std::int64_t bytes = rows.width * shape.bytes;
  y += range.begin * bytes;
  std::int64_t count = range.end - range.begin;
  if (last == 0) return pad_rows(shape, rows, count, x, y);
  const std::size_t axis = last - 1;
  std::int64_t outer = range.begin / shape.out[axis];
  const std::int64_t at = range.begin % shape.out[axis] - shape.before[axis];
  std::int64_t from = 0, stride = shape.in[axis];
  for (std::size_t d = axis; d-- > 0;) {
    const std::int64_t place = outer % shape.out[d] - shape.before[d];
    outer /= shape.out[d];
    if (place < 0 || place >= shape.in[d]) return fill(y, count * rows.width, shape);
    from += place * stride;
    stride *= shape.in[d];
  }
  const std::int64_t first = std::clamp<std::int64_t>(-at, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(shape.in[axis] - at, first, count);
  fill(y, first * rows.width, shape);
  if (first < end)
    pad_rows(shape, rows, end - first, x + (from + at + first) * rows.inside * shape.bytes,
             y + first * bytes);
  fill(y + end * bytes, (count - end) * rows.width, shape);
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
                        const auto range = tile_range(rows, tiles, tile);
                        const std::int64_t line =
                            shape.rank > 1 ? shape.out[to_size(shape.rank - 2)] : 1;
                        for (std::int64_t begin = range.begin; begin < range.end;) {
                          const std::int64_t end = std::min(begin / line * line + line, range.end);
                          pad_line(shape, {begin, end}, args.inputs[0], args.outputs[0]);
                          begin = end;
                        }
                        return {};
                      });
}

}  // namespace parallax
