// FusedAttention of bf16 for many queries, which lie in the lanes of vectors from the scores to the
// weighted values, as in lane_attention.cc. A unit of work is a run of blocks of queries of one
// batch: its keys and values are rounded once for all of them, then each block processes the keys
// in blocks whose scores stay in the cache. A tile is a run of units.
#include "kernels/cpu/attention/bf16_attention.h"

#include <algorithm>
#include <numbers>

#include "base/checked.h"
#include "kernels/cpu/attention/bf16_attention_loops.h"
#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/attention/lane_rows.h"
#include "kernels/cpu/gemm/bf16_loops.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr auto kVector = static_cast<std::int64_t>(kBf16Vector);
/// Most queries of a block, and keys of a block, an even number. Whisper's heads, 1500 x 1500 x 64,
/// on one Zen 4 core: 206 GFLOP/s with 64 keys, 207 with 96, 209 with 192 and with 256.
constexpr std::int64_t kBlockQueries = 64, kBlockKeys = 192;
/// With fewer queries, rounding keys and values costs more than multiplying in f32.
constexpr std::int64_t kFewestQueries = 13;
/// Largest depth and width of a head: a block has room for that many elements per query.
constexpr std::int64_t kMaxBf16Depth = 1280;
/// Multiply-adds of a unit, some 300 microseconds; each rounds all keys and values.
constexpr std::int64_t kUnitMacs = std::int64_t{32} << 20;
/// Keys that are transposed together, if K lies column by column.
constexpr std::int64_t kTurnedKeys = 64;

/// How a request is cut.
struct Cut {
  std::int64_t stride = 0;  ///< queries of a block, padded to whole vectors
  std::int64_t blocks = 0;  ///< blocks of queries
  std::int64_t runs = 0, units = 0, tiles = 0;

  explicit Cut(const AttentionShape& s) {
    stride = rounded_up(tile_count(s.queries, tile_count(s.queries, kBlockQueries)), kVector);
    blocks = tile_count(s.queries, stride);
    const std::int64_t block = s.keys * (s.depth + s.width) * stride;
    runs = tile_count(blocks, std::max<std::int64_t>(kUnitMacs / block, 1));
    units = s.batches * runs;
    tiles = count_tiles(units, block * tile_count(blocks, runs), kBlockTileMacs);
  }
};

/// Offsets of the buffers in a tile's scratch, in elements of four bytes.
struct Places {
  std::int64_t keys = 0, values = 0, turned = 0, rows = 0, queries = 0, scores = 0, results = 0;
  std::int64_t sums = 0, mask = 0, choice = 0, end = 0;

  Places(const AttentionShape& s, std::int64_t stride) {
    const std::int64_t block = std::min(rounded_up(s.keys, 2), kBlockKeys);
    const auto take = [this](std::int64_t elements) {
      const std::int64_t at = end;
      end += rounded_up(elements, kVector);
      return at;
    };
    keys = take(s.keys * pairs_of(s.depth));
    values = take(pairs_of(s.keys) * rounded_up(s.width, kVector));
    if (s.k.row_stride != 1) turned = take(pairs_of(s.depth) * kTurnedKeys);
    rows = take(stride * pairs_of(s.depth));
    queries = take(pairs_of(s.depth) * stride);
    scores = take(block * stride);
    results = take(s.width * stride);
    sums = take(3 * stride);
    if (s.mask.stride != 0) mask = take(block * stride);
    if (s.choice.given) choice = take(tile_count(block, 4) * stride);  // one byte per score
  }
};

class Bf16Attention final : public Kernel {
 public:
  explicit Bf16Attention(const AttentionShape& shape)
      : shape_(shape), cut_(shape), at_(shape, cut_.stride) {}

  std::int64_t tiles() const override { return cut_.tiles; }
  std::int64_t scratch_bytes() const override {
    return at_.end * static_cast<std::int64_t>(sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(cut_.units, cut_.tiles, tile);
    std::int64_t rounded = last_batch(args.previous_tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t batch = unit / cut_.runs;
      if (batch != rounded) {
        round_keys(batch, args);
        round_values(batch, args);
        rounded = batch;
      }
      const auto run = tile_range(cut_.blocks, cut_.runs, unit % cut_.runs);
      for (std::int64_t block = run.begin; block < run.end; ++block) {
        const std::int64_t query = block * cut_.stride;
        run_queries(batch, {query, std::min(query + cut_.stride, shape_.queries)}, args);
      }
    }
    return {};
  }

 private:
  /// Returns the batch whose keys and values a tile leaves in scratch; -1 if there was no tile.
  std::int64_t last_batch(std::int64_t tile) const {
    return tile < 0 ? -1 : (tile_range(cut_.units, cut_.tiles, tile).end - 1) / cut_.runs;
  }

  static float* floats(const KernelArgs& args, std::int64_t at) {
    return reinterpret_cast<float*>(args.scratch.data()) + at;
  }
  static Bf16Pair* pairs(const KernelArgs& args, std::int64_t at) {
    return reinterpret_cast<Bf16Pair*>(args.scratch.data()) + at;
  }

  /// Writes keys as pairs [keys, pairs_of(depth)].
  void round_keys(std::int64_t batch, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const float* const from = args.in<float>(1) + s.at(s.k, batch);
    const std::size_t depth = to_size(pairs_of(s.depth));
    if (s.k.row_stride == 1)
      return round_to_bf16(from, to_size(s.k.column_stride), to_size(s.keys), to_size(s.depth),
                           pairs(args, at_.keys), depth);
    Bf16Pair* const turned = pairs(args, at_.turned);
    for (std::int64_t key = 0; key < s.keys; key += kTurnedKeys) {
      const std::int64_t keys = std::min(kTurnedKeys, s.keys - key);
      pair_all(from + key, s.k.row_stride, s.depth, keys, kTurnedKeys, turned);
      transpose_block(
          {reinterpret_cast<const std::byte*>(turned),
           reinterpret_cast<std::byte*>(pairs(args, at_.keys) + key * pairs_of(s.depth)),
           to_size(kTurnedKeys), depth, to_size(keys), depth, sizeof(Bf16Pair)});
    }
  }

  /// Writes values as pairs [pairs_of(keys), width padded to whole vectors].
  void round_values(std::int64_t batch, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    pair_all(args.in<float>(2) + s.at(s.v, batch), s.v.row_stride, s.keys, s.width,
             rounded_up(s.width, kVector), pairs(args, at_.values));
  }

  /// Writes f32 [rows, columns] as pairs of rows, `stride` apart.
  static void pair_all(const float* from, std::int64_t row_stride, std::int64_t rows,
                       std::int64_t columns, std::int64_t stride, Bf16Pair* to) {
    for (std::int64_t row = 0; row < rows; row += 2, from += 2 * row_stride, to += stride)
      pair_rows(from, row + 1 < rows ? from + row_stride : nullptr, to_size(columns), to);
  }

  /// Writes Q^T as pairs [pairs_of(depth), stride].
  void round_queries(std::int64_t batch, TileRange queries, std::int64_t stride,
                     const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const std::int64_t count = queries.end - queries.begin, depth = pairs_of(s.depth);
    // Only without a mask: one of the lowest float would overflow if it were scaled.
    const float factor = s.masked() ? s.scale : s.scale * std::numbers::log2e_v<float>;
    round_to_bf16(args.in<float>(0) + s.at(s.q, batch) + queries.begin * s.q.row_stride,
                  to_size(s.q.row_stride), to_size(count), to_size(s.depth), pairs(args, at_.rows),
                  to_size(depth), factor);
    if (count < stride) std::fill_n(pairs(args, at_.queries), to_size(depth * stride), Bf16Pair{0});
    transpose_block({reinterpret_cast<const std::byte*>(pairs(args, at_.rows)),
                     reinterpret_cast<std::byte*>(pairs(args, at_.queries)), to_size(depth),
                     to_size(stride), to_size(depth), to_size(count), sizeof(Bf16Pair)});
  }

  void run_queries(std::int64_t batch, TileRange queries, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const std::int64_t count = queries.end - queries.begin, stride = rounded_up(count, kVector);
    round_queries(batch, queries, stride, args);
    Bf16LaneBlock block;
    block.depth = block.k_stride = to_size(pairs_of(s.depth));
    block.v_stride = to_size(rounded_up(s.width, kVector));
    block.width = to_size(s.width);
    block.stride = to_size(stride);
    block.q = pairs(args, at_.queries);
    block.x = floats(args, at_.scores);
    block.y = floats(args, at_.results);
    float* const sums = floats(args, at_.sums);
    block.sums = {sums, sums + stride, sums + 2 * stride};
    for (std::int64_t key = 0; key < s.keys; key += kBlockKeys) {
      block.first = key == 0;
      block.keys = to_size(std::min(kBlockKeys, s.keys - key));
      block.k = pairs(args, at_.keys) + key * pairs_of(s.depth);
      block.v = pairs(args, at_.values) + key / 2 * rounded_up(s.width, kVector);
      const QueryBlock at{batch, queries, key};
      if (s.mask.given)
        place_mask(s, args.in<float>(kAttentionMask), at, floats(args, at_.mask), block);
      if (s.choice.given)
        place_choice(s, args.in<std::uint8_t>(kAttentionChoice), at,
                     reinterpret_cast<std::uint8_t*>(floats(args, at_.choice)), block);
      bf16_lane_block(block);
    }
    store_results(s, batch, queries, block, args.out<float>());
    replace_nan_weights(s, batch, queries, block.sums.sum, args);
  }

  AttentionShape shape_;
  Cut cut_;
  Places at_;
};

}  // namespace

std::unique_ptr<Kernel> make_bf16_attention(const AttentionShape& s, const Machine& machine) {
  const auto width = checked_add(s.depth, s.width);
  const auto elements = width ? checked_mul(*width, s.keys) : std::nullopt;
  if (s.queries < kFewestQueries || !elements || *elements > machine.rounded_head() ||
      s.depth > kMaxBf16Depth || s.width > kMaxBf16Depth)
    return nullptr;
  return std::make_unique<Bf16Attention>(s);
}

}  // namespace parallax
