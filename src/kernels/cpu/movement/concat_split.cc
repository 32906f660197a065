// Concat and Split: a row of the whole tensor is the rows of its parts, side by side.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/movement/copy_run.h"
#include "kernels/cpu/tiles.h"
#include "kernels/table_bytes.h"
#include "ops/op.h"
#include "ops/params/movement.h"

namespace parallax {
namespace {

/// Rows of a part: `bytes` each, which lie `step` apart in the whole.
struct PartRows {
  std::int64_t bytes, step, count;
};

/// Calls copy(part, offset in the part, offset in the whole, bytes) for bytes [begin, end) of the
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

/// Bytes of rows that are copied together: they stay in the first-level cache.
constexpr std::int64_t kRowBlock = 1 << 14;

/// Cuts `rows` short rows into tiles.
template <class Copy>
Result<std::unique_ptr<Kernel>> short_rows_kernel(LambdaKernelOptions options, std::int64_t rows,
                                                  std::vector<std::int64_t> starts, Copy copy) {
  const std::int64_t row_bytes = starts.back(), block = kRowBlock / row_bytes;
  options.tiles = count_tiles(rows, row_bytes, kCopyTileBytes);
  options.table_bytes = bytes_of_table(starts);
  return tiled_kernel(options,
                      [rows, row_bytes, block, tiles = options.tiles, starts = std::move(starts),
                       copy](std::int64_t tile, const KernelArgs& args) -> Status {
                        const auto range = tile_range(rows, tiles, tile);
                        for (std::int64_t row = range.begin; row < range.end; row += block) {
                          const std::int64_t count = std::min(block, range.end - row);
                          for (std::size_t part = 0; part + 1 < starts.size(); ++part) {
                            const std::int64_t bytes = starts[part + 1] - starts[part];
                            if (bytes > 0)
                              copy(args, part, row * bytes, row * row_bytes + starts[part],
                                   PartRows{bytes, row_bytes, count});
                          }
                        }
                        return {};
                      });
}

/// Cuts the `total` bytes of the whole into tiles; copy(args, part, offset in the part, offset in
/// the whole, rows of the part).
template <class Copy>
Result<std::unique_ptr<Kernel>> parts_kernel(LambdaKernelOptions options, std::int64_t total,
                                             std::vector<std::int64_t> starts, Copy copy) {
  if (total == 0) return empty_kernel();
  if (starts.back() <= kShortRowBytes) {
    const std::int64_t rows = total / starts.back();
    return short_rows_kernel(options, rows, std::move(starts), copy);
  }
  options.tiles = count_tiles(total, kCopyTileBytes);
  options.table_bytes = bytes_of_table(starts);
  return tiled_kernel(
      options,
      [total, tiles = options.tiles, starts = std::move(starts), copy](
          std::int64_t tile, const KernelArgs& args) -> Status {
        const auto [begin, end] = tile_range(total, tiles, tile, kTileGranule);
        for_each_part(
            starts, begin, end,
            [&](std::size_t part, std::int64_t in_part, std::int64_t in_whole, std::int64_t bytes) {
              copy(args, part, in_part, in_whole, PartRows{bytes, bytes, 1});
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
  return parts_kernel(options, request.outputs[0].bytes(), part_starts(request.inputs, *axis),
                      [](const KernelArgs& args, std::size_t part, std::int64_t from,
                         std::int64_t to, const PartRows& rows) {
                        copy_runs(args.outputs[0] + to, rows.step, args.inputs[part] + from,
                                  rows.bytes, rows.bytes, rows.count);
                      });
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
                         std::int64_t from, const PartRows& rows) {
                        if (args.outputs[part] != nullptr)
                          copy_runs(args.outputs[part] + to, rows.bytes, args.inputs[0] + from,
                                    rows.step, rows.bytes, rows.count);
                      });
}

}  // namespace parallax
