// A unit of work is a run of queries of one batch: the keys and values are rounded and packed once
// for all of them; then blocks of queries walk blocks of keys, small enough that scores stay in the
// first-level cache between the two products. A tile is a run of units.
#include "kernels/simd/bf16_attention.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/simd/attention_loops.h"
#include "kernels/simd/bf16_block.h"
#include "kernels/simd/bf16_loops.h"
#include "kernels/simd/matmul_block.h"
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

constexpr auto kPanel = static_cast<std::int64_t>(kBf16Panel);
constexpr auto kVector = static_cast<std::int64_t>(kBf16Vector);
/// Queries and keys of a block: 26 KiB of scores.
constexpr std::int64_t kRows = 24, kKeys = 256;
/// With fewer queries, rounding keys and values takes longer than multiplying in f32.
constexpr std::int64_t kFewestQueries = 13;
/// Elements of keys and values, packed 1 MiB.
constexpr std::int64_t kMostElements = std::int64_t{1} << 19;
/// Multiply-adds of a unit, at most, some 300 microseconds; each packs all keys and values.
constexpr std::int64_t kUnitMacs = std::int64_t{32} << 20;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return tile_count(n, to) * to; }

/// Where a tile's scratch has what, in elements of four bytes.
struct Places {
  std::int64_t keys = 0, values = 0, copy = 0, queries = 0, scores = 0, largest = 0, sum = 0;
  std::int64_t end = 0;
  std::int64_t stride = 0;  ///< from one row of scores to the next

  explicit Places(const AttentionShape& s) {
    // Not a power of two of bytes: rows would share few sets of the first-level cache.
    stride = (tile_count(std::min(s.keys, kKeys), kVector) | 1) * kVector;
    const auto take = [this](std::int64_t elements) {
      const std::int64_t at = end;
      end += rounded_up(elements, kVector);
      return at;
    };
    keys = take(pairs_of(s.depth) * rounded_up(s.keys, kVector));
    values = take(pairs_of(s.keys) * rounded_up(s.width, kVector));
    copy = take(pairs_of(s.depth) * kPanel);
    queries = take(pairs_of(s.depth) * kRows);
    scores = take(stride * kRows);
    largest = take(kRows);
    sum = take(kRows);
  }
};

class Bf16Attention final : public Kernel {
 public:
  explicit Bf16Attention(const AttentionShape& shape) : shape_(shape), at_(shape) {
    const std::int64_t row = shape.keys * (shape.depth + shape.width);
    runs_ = tile_count(shape.queries, std::max(kUnitMacs / row, kRows));
    units_ = shape.batches * runs_;
    const std::int64_t unit = row * tile_count(shape.queries, runs_);
    tiles_ = tile_count(units_, std::max<std::int64_t>(kBlockTileMacs / unit, 1));
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return at_.end * static_cast<std::int64_t>(sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(units_, tiles_, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t batch = unit / runs_;
      pack(batch, args);
      const auto run = tile_range(shape_.queries, runs_, unit % runs_, kBlockRowGranule);
      for (std::int64_t row = run.begin; row < run.end; row += kRows)
        run_rows(batch, {row, std::min(row + kRows, run.end)}, args);
    }
    return {};
  }

 private:
  static float* floats(const KernelArgs& args, std::int64_t at) {
    return reinterpret_cast<float*>(args.scratch.data()) + at;
  }
  static Bf16Pair* pairs(const KernelArgs& args, std::int64_t at) {
    return reinterpret_cast<Bf16Pair*>(args.scratch.data()) + at;
  }

  void pack(std::int64_t batch, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const bool transposed = s.k.column_stride != 1;
    const std::int64_t ldk = transposed ? s.k.column_stride : s.k.row_stride;
    pack_pairs({args.in<float>(1) + s.at(s.k, batch), ldk, transposed, s.depth, s.keys},
               pairs(args, at_.copy), pairs(args, at_.keys));
    pack_pairs({args.in<float>(2) + s.at(s.v, batch), s.v.row_stride, false, s.keys, s.width},
               pairs(args, at_.copy), pairs(args, at_.values));
  }

  void run_rows(std::int64_t batch, TileRange rows, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    AttentionScores scores;
    scores.x = floats(args, at_.scores);
    scores.stride = to_size(at_.stride);
    scores.rows = to_size(rows.end - rows.begin);
    scores.scale = s.scale;
    scores.coarse = true;
    scores.largest = floats(args, at_.largest);
    scores.sum = floats(args, at_.sum);
    scores.y = args.out<float>() + s.at(s.y, batch) + rows.begin * s.y.row_stride;
    scores.y_stride = to_size(s.y.row_stride);
    scores.width = to_size(s.width);
    scores.mask_stride = to_size(s.mask_stride);
    round_to_bf16(args.in<float>(0) + s.at(s.q, batch) + rows.begin * s.q.row_stride,
                  to_size(s.q.row_stride), scores.rows, to_size(s.depth), pairs(args, at_.queries),
                  to_size(pairs_of(s.depth)));
    for (std::int64_t key = 0; key < s.keys; key += kKeys) {
      scores.first = key == 0;
      scores.keys = to_size(std::min(kKeys, s.keys - key));
      if (s.masked) scores.mask = s.mask_at(args.in<float>(3), batch, rows.begin) + key;
      run_block(key, scores, args);
    }
    attention_divide(scores.y, scores.y_stride, scores.rows, scores.width, scores.sum);
  }

  void run_block(std::int64_t key, const AttentionScores& scores, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    Bf16Product product;
    product.rows = static_cast<std::int64_t>(scores.rows);
    product.a = pairs(args, at_.queries);
    product.pairs = product.panel_pairs = pairs_of(s.depth);
    product.b = pairs(args, at_.keys) + key * product.panel_pairs;
    product.c = scores.x;
    product.c_stride = at_.stride;
    product.columns = static_cast<std::int64_t>(scores.keys);
    multiply_pairs(product);
    attention_weights(scores);
    product.a = round_in_place(scores.x, scores.stride, scores.rows, scores.keys);
    product.pairs = pairs_of(static_cast<std::int64_t>(scores.keys));
    product.panel_pairs = pairs_of(s.keys);
    product.c = scores.y;
    product.c_stride = s.y.row_stride;
    product.columns = s.width;
    product.accumulate = !scores.first;
    // A panel of values has all keys; its rows are as long as it is wide.
    for (std::int64_t column = 0; column < s.width; column += kPanel) {
      Bf16Product panel = product;
      panel.columns = std::min(kPanel, s.width - column);
      panel.b = pairs(args, at_.values) + column * product.panel_pairs +
                key / 2 * rounded_up(panel.columns, kVector);
      panel.c += column;
      multiply_pairs(panel);
    }
  }

  AttentionShape shape_;
  Places at_;
  std::int64_t runs_ = 0, units_ = 0, tiles_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_bf16_attention(const AttentionShape& shape) {
  const auto width = checked_add(shape.depth, shape.width);
  const auto elements = width ? checked_mul(*width, shape.keys) : std::nullopt;
  if (shape.queries < kFewestQueries || !elements || *elements > kMostElements) return nullptr;
  return std::make_unique<Bf16Attention>(shape);
}

}  // namespace parallax
