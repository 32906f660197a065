// FusedAttention of f32 for many queries, which lie in the lanes of vectors from the scores to the
// weighted values: S^T = K Q^T, then Y^T = V^T S^T. Only a block of queries is transposed before
// and its result after; K and V are read in place, element by element, and the softmax folds
// vectors instead of the lanes of one. A unit of work is a block of queries of one batch, which
// processes the keys in blocks whose scores stay in the first-level cache. A tile is a run of
// units.
#include "kernels/cpu/attention/lane_attention.h"

#include <algorithm>
#include <numbers>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/attention/lane_rows.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Most queries of a unit. Whisper's heads, 1500 x 1500 x 64, in ms on one Zen 4 core: 34.1;
/// 34.3 to 35.3 with 32 or 128.
constexpr std::int64_t kUnitQueries = 64;
/// Units that cost more than 0.3 ms are made smaller until threads have kFewestUnits of them to
/// share. On one core 96 queries of Whisper's whole width, 384, on 1500 keys: 108 GFLOP/s with 16
/// in a unit, 110 with 32 or 48, 112 with 64; of 1280, the widest: 81, 89, 97 and 106.
constexpr std::int64_t kFewestUnits = 8, kLongUnit = std::int64_t{16} << 20;
/// Fewer queries than these leave too many lanes empty.
constexpr std::int64_t kLaneQueries = 13;
/// Most elements of Q and of the result that scratch holds for each query of a unit: 640 KiB.
constexpr std::int64_t kMaxLaneDepth = 1280;

/// How a request is cut.
struct LaneCut {
  std::int64_t query_blocks = 0, key_blocks = 0, units = 0, tiles = 0;
  std::int64_t stride = 0;  ///< queries of a block, padded to whole vectors
  /// Keys of a block: rounding to the granule may add some of the next block.
  std::int64_t most_keys = 0;
};

LaneCut cut_lanes(const AttentionShape& shape, const Machine& machine) {
  const auto vector = static_cast<std::int64_t>(matmul_widths().vector);
  LaneCut cut;
  const auto row = checked_mul(shape.keys, shape.depth + shape.width);
  // Saturated: a tile has at least one unit.
  const auto macs = [&] {
    const auto unit = row ? checked_mul(*row, cut.stride) : std::nullopt;
    return unit.value_or(kLongUnit + 1);
  };
  const auto cut_queries = [&](std::int64_t blocks) {
    cut.stride = tile_count(tile_count(shape.queries, blocks), vector) * vector;
    cut.query_blocks = tile_count(shape.queries, cut.stride);
    cut.units = shape.batches * cut.query_blocks;
  };
  cut_queries(tile_count(shape.queries, kUnitQueries));
  if (cut.units < kFewestUnits && macs() > kLongUnit)
    cut_queries(std::min(tile_count(kFewestUnits, shape.batches), shape.queries));
  const std::int64_t block_keys = machine.near_scores() / kUnitQueries;
  cut.key_blocks = tile_count(shape.keys, block_keys);
  cut.most_keys = block_keys + kBlockRowGranule;
  cut.tiles = count_tiles(cut.units, macs(), kBlockTileMacs);
  return cut;
}

class LaneAttention final : public Kernel {
 public:
  LaneAttention(const AttentionShape& shape, const Machine& machine)
      : shape_(shape), cut_(cut_lanes(shape, machine)) {}

  std::int64_t tiles() const override { return cut_.tiles; }
  std::int64_t scratch_bytes() const override {
    const std::int64_t masks = shape_.mask.stride != 0 ? cut_.most_keys : 0;
    // A choice needs one byte per score.
    const std::int64_t choices = shape_.choice.given ? tile_count(cut_.most_keys, 4) : 0;
    return (shape_.depth + cut_.most_keys + masks + choices + shape_.width + 3) * cut_.stride *
           static_cast<std::int64_t>(sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(cut_.units, cut_.tiles, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t query = unit % cut_.query_blocks * cut_.stride;
      run_unit(unit / cut_.query_blocks, {query, std::min(query + cut_.stride, shape_.queries)},
               args);
    }
    return {};
  }

 private:
  void run_unit(std::int64_t batch, TileRange queries, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const auto vector = static_cast<std::int64_t>(matmul_widths().vector);
    const std::int64_t count = queries.end - queries.begin;
    const std::int64_t stride = tile_count(count, vector) * vector;
    auto* scratch = reinterpret_cast<float*>(args.scratch.data());
    const auto take = [&](std::int64_t rows) {
      float* taken = scratch;
      scratch += rows * cut_.stride;
      return taken;
    };
    float* q = take(s.depth);
    LaneBlock block;
    block.sums = {take(1), take(1), take(1)};
    block.x = take(cut_.most_keys);
    block.stride = to_size(stride);
    block.depth = to_size(s.depth);
    block.width = to_size(s.width);
    block.k_stride = to_size(s.k.column_stride);
    block.v_stride = to_size(s.v.row_stride);
    block.q = q;
    block.y = take(s.width);
    float* const mask = s.mask.stride != 0 ? take(cut_.most_keys) : nullptr;
    auto* const choice = reinterpret_cast<std::uint8_t*>(scratch);

    const float* from = args.in<float>(0) + s.at(s.q, batch) + queries.begin * s.q.row_stride;
    if (count < stride) std::fill(q, q + s.depth * stride, 0.0F);
    transpose_block({reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(q),
                     to_size(s.q.row_stride), to_size(stride), to_size(s.depth), to_size(count),
                     sizeof(float)});
    // Only without a mask: one of the lowest float would overflow if it were scaled.
    const float factor = s.masked() ? s.scale : s.scale * std::numbers::log2e_v<float>;
    if (factor != 1) lane_scale(q, to_size(s.depth * stride), factor);
    for (std::int64_t i = 0; i < cut_.key_blocks; ++i) {
      const auto keys = tile_range(s.keys, cut_.key_blocks, i, kBlockRowGranule);
      block.first = i == 0;
      block.keys = to_size(keys.end - keys.begin);
      block.k = args.in<float>(1) + s.at(s.k, batch) + keys.begin * s.k.column_stride;
      block.v = args.in<float>(2) + s.at(s.v, batch) + keys.begin * s.v.row_stride;
      const QueryBlock at{batch, queries, keys.begin};
      if (s.mask.given) place_mask(s, args.in<float>(kAttentionMask), at, mask, block);
      if (s.choice.given)
        place_choice(s, args.in<std::uint8_t>(kAttentionChoice), at, choice, block);
      lane_block(block);
    }
    store_results(s, batch, queries, block, args.out<float>());
    replace_nan_weights(s, batch, queries, block.sums.sum, args);
  }

  AttentionShape shape_;
  LaneCut cut_;
};

}  // namespace

std::unique_ptr<Kernel> make_lane_attention(const AttentionShape& s, const Machine& machine) {
  if (s.queries < kLaneQueries || s.depth > kMaxLaneDepth || s.width > kMaxLaneDepth ||
      s.q.column_stride != 1 || s.k.row_stride != 1 || s.v.column_stride != 1 ||
      s.y.column_stride != 1)
    return nullptr;
  return std::make_unique<LaneAttention>(s, machine);
}

}  // namespace parallax
