// Resize of mode nearest and Pad of modes other than constant, and the code that they share: rows
// of the result are runs of neighbours of one row of X.
#include "kernels/cpu/movement/indexed_copy.h"

#include <numeric>
#include <optional>

#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/movement/known_pads.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/vision/resize_inputs.h"
#include "kernels/reference/pad_source.h"
#include "kernels/table_bytes.h"

namespace parallax {
namespace {

using IndexLists = std::vector<std::vector<std::int64_t>>;

/// Positions that an axis keeps at plan time; images have some thousands of rows.
constexpr std::int64_t kMaxIndexes = std::int64_t{1} << 22;

struct IndexRun {
  std::int64_t from = 0, bytes = 0;  ///< range of a row of X, in bytes
};

/// The axes before the last one that is not copied as a whole, and the runs of that one.
struct IndexedRows {
  IndexLists outer;  ///< bytes of X from its beginning, by position
  std::vector<IndexRun> runs;
  std::int64_t rows = 1, row_bytes = 0;

  /// Returns the offset in X, in bytes, of row `row` of the result.
  std::int64_t start(std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t axis = outer.size(); axis-- > 0;) {
      const std::int64_t size = std::ssize(outer[axis]);
      at += outer[axis][to_size(row % size)];
      row /= size;
    }
    return at;
  }
};

bool is_whole(const std::vector<std::int64_t>& from, std::int64_t size) {
  if (std::ssize(from) != size) return false;
  for (std::int64_t i = 0; i < size; ++i)
    if (from[to_size(i)] != i) return false;
  return true;
}

IndexedRows indexed_rows(const Dims& in, const IndexLists& from, std::int64_t element_bytes) {
  IndexedRows result;
  std::size_t last = from.size();
  std::int64_t block = element_bytes;
  while (last > 1 && is_whole(from[last - 1], in[static_cast<int>(last) - 1]))
    block *= in[static_cast<int>(--last)];
  std::int64_t stride = block;
  if (last > 0) {
    --last;
    for (const std::int64_t i : from[last]) {
      const bool follows =
          !result.runs.empty() && result.runs.back().from + result.runs.back().bytes == i * block;
      if (!follows) result.runs.push_back({i * block, 0});
      result.runs.back().bytes += block;
    }
    result.row_bytes = std::ssize(from[last]) * block;
    stride *= in[static_cast<int>(last)];
  } else {
    result.runs = {{0, block}};
    result.row_bytes = block;
  }
  result.outer.resize(last);
  for (std::size_t axis = last; axis-- > 0;) {
    for (const std::int64_t i : from[axis]) result.outer[axis].push_back(i * stride);
    stride *= in[static_cast<int>(axis)];
    result.rows *= std::ssize(from[axis]);
  }
  return result;
}

std::int64_t table_bytes_of(const IndexedRows& rows) {
  std::int64_t bytes = bytes_of_table(rows.runs);
  for (const auto& list : rows.outer) bytes += bytes_of_table(list);
  return bytes;
}

/// Returns the source of each position of a Pad node, axis by axis; nullopt if pads or axes are not
/// known at plan time, or if elements are removed as well.
std::optional<IndexLists> padded_indexes(const KernelRequest& request) {
  const PadMode mode = params_of<PadParams>(request.node).mode;
  const Dims &in = request.inputs[0].dims, &out = request.outputs[0].dims;
  const auto pads = known_pads(request);
  if (mode == PadMode::kConstant || !pads || in.elements() == 0) return std::nullopt;
  IndexLists lists(to_size(in.rank()));
  for (int d = 0; d < in.rank(); ++d) {
    const std::int64_t added = out[d] - in[d];
    if (pads->before[to_size(d)] > added ||
        pads->after[to_size(d)] != added - pads->before[to_size(d)] || out[d] > kMaxIndexes)
      return std::nullopt;
    for (std::int64_t i = 0; i < out[d]; ++i)
      lists[to_size(d)].push_back(padded_source(mode, i - pads->before[to_size(d)], in[d]));
  }
  return lists;
}

/// Returns the source of each position of a nearest Resize, axis by axis; nullopt if a position
/// lies outside, or if inputs are not known at plan time.
std::optional<IndexLists> nearest_indexes(const KernelRequest& request, const ResizeShape& shape) {
  const auto inputs = known_resize_inputs(request, shape);
  if (!inputs) return std::nullopt;
  IndexLists lists(to_size(shape.in.rank()));
  for (int axis = 0; axis < shape.in.rank(); ++axis) {
    const auto span = resize_span(shape, axis, *inputs);
    if (!span || resize_tap_count(shape, axis) != 1 || shape.out[axis] > kMaxIndexes)
      return std::nullopt;
    for (std::int64_t i = 0; i < shape.out[axis]; ++i) {
      ResizeTap tap;
      const auto inside = resize_taps(shape, axis, i, *span, {&tap, 1});
      if (!inside || !*inside || tap.index < 0 || tap.index >= shape.in[axis]) return std::nullopt;
      lists[to_size(axis)].push_back(tap.index);
    }
  }
  return lists;
}

}  // namespace

std::unique_ptr<Kernel> indexed_copy(const Dims& in, const IndexLists& from,
                                     std::int64_t element_bytes) {
  IndexedRows rows = indexed_rows(in, from, element_bytes);
  LambdaKernelOptions options;
  options.tiles = count_tiles(rows.rows, rows.row_bytes / element_bytes, kTileElements);
  options.unused_inputs = ~std::uint32_t{1};
  options.table_bytes = table_bytes_of(rows);
  return make_lambda_kernel(options,
                            [rows = std::move(rows), tiles = options.tiles](
                                std::int64_t tile, const KernelArgs& args) -> Status {
                              const auto [begin, end] = tile_range(rows.rows, tiles, tile);
                              std::byte* to = args.outputs[0] + begin * rows.row_bytes;
                              for (std::int64_t row = begin; row < end; ++row) {
                                const std::byte* x = args.inputs[0] + rows.start(row);
                                for (const IndexRun& run : rows.runs) {
                                  copy_run(to, x + run.from, to_size(run.bytes));
                                  to += run.bytes;
                                }
                              }
                              return {};
                            });
}

/// Creates the kernel of Pad in any mode but constant.
Result<std::unique_ptr<Kernel>> cpu_pad_indexed(const KernelRequest& request) {
  if (request.outputs[0].elements() == 0) return not_covered();
  const auto lists = padded_indexes(request);
  if (!lists) return not_covered();
  return indexed_copy(request.inputs[0].dims, *lists, size_of(request.inputs[0].dtype));
}

/// Creates the kernel of Resize in mode nearest.
Result<std::unique_ptr<Kernel>> cpu_resize_nearest(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (shape.mode != ResizeMode::kNearest || request.outputs[0].elements() == 0)
    return not_covered();
  const auto lists = nearest_indexes(request, shape);
  if (!lists) return not_covered();
  return indexed_copy(request.inputs[0].dims, *lists, size_of(request.inputs[0].dtype));
}

}  // namespace parallax
