// CosineAttention of f32. A unit of work is one head of one batch: its keys are brought to length
// one and packed once, its queries, to length one times the scale, go by in blocks of rows whose
// scores stay in scratch between the two products. Heads are read and written where they lie, side
// by side; nothing is transposed in memory. A tile is a run of units. In bf16 the operands of both
// products are rounded where they stand in scratch.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/attention/cosine_loops.h"
#include "kernels/cpu/gemm/bf16_block.h"
#include "kernels/cpu/gemm/bf16_loops.h"
#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Scores kept at once, and rows of them.
constexpr std::int64_t kScores = 32768, kMostRows = 96, kFewestRows = 6;
/// Multiply-adds per tile.
constexpr std::int64_t kTileMacs = std::int64_t{2} << 20;
/// Keys in scratch, packed: more of them would not stay in a second-level cache.
constexpr std::int64_t kMostKeys = 4096, kMostDepth = 512;
constexpr std::int64_t kFloat = sizeof(float);

struct CosineShape {
  std::int64_t batches = 0, queries = 0, keys = 0, heads = 0, depth = 0, width = 0;
  std::int64_t masks = 0;  ///< 0: no mask
  bool biased = false;
  Precision precision = Precision::kF32;

  bool bf16() const { return precision == Precision::kBf16; }
  float epsilon = 0;
};

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

class CosineAttention final : public Kernel {
 public:
  explicit CosineAttention(const CosineShape& shape)
      : shape_(shape),
        widths_(shape.bf16() ? MatMulWidths{kBf16Panel, kBf16Vector} : matmul_widths()) {
    stride_ = rounded_up(shape.keys, static_cast<std::int64_t>(widths_.vector));
    block_rows_ = std::min(shape.queries, std::clamp(kScores / stride_, kFewestRows, kMostRows));
    unit_keys_ = rounded_up(shape.keys * shape.depth, kTileGranule);
    packed_keys_ = rounded_up(stride_ * shape.depth, kTileGranule);
    unit_queries_ = rounded_up(block_rows_ * shape.depth, kTileGranule);
    if (shape.bf16()) packed_values_ = pairs_of(shape.keys) * rounded_up(shape.width, kTileGranule);
    const std::int64_t unit = shape.queries * shape.keys * (shape.depth + shape.width);
    units_ = shape.batches * shape.heads;
    tiles_ = count_tiles(units_, unit, kTileMacs);
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return (unit_keys_ + packed_keys_ + unit_queries_ + block_rows_ * stride_) * kFloat +
           (shape_.bf16() ? packed_values_ * kFloat : matmul_block_scratch_bytes());
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(units_, tiles_, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_unit(unit / shape_.heads, unit % shape_.heads, args);
    return {};
  }

 private:
  void run_unit(std::int64_t batch, std::int64_t head, const KernelArgs& args) const {
    const CosineShape& s = shape_;
    auto* keys = reinterpret_cast<float*>(args.scratch.data());
    float* packed = keys + unit_keys_;
    float* queries = packed + packed_keys_;
    float* scores = queries + unit_queries_;
    const auto panels = args.scratch.subspan(
        to_size((unit_keys_ + packed_keys_ + unit_queries_ + block_rows_ * stride_) * kFloat));
    const float* const values = args.in<float>(2) + (batch * s.keys * s.heads + head) * s.width;
    pack_keys(args.in<float>(1) + (batch * s.keys * s.heads + head) * s.depth, keys, packed);
    if (s.bf16())
      pack_pairs({values, s.heads * s.width, false, s.keys, s.width}, nullptr,
                 reinterpret_cast<Bf16Pair*>(panels.data()));
    for (std::int64_t row = 0; row < s.queries; row += block_rows_) {
      const std::int64_t rows = std::min(block_rows_, s.queries - row);
      const std::int64_t at = (batch * s.queries + row) * s.heads + head;
      unit_rows({args.in<float>(0) + at * s.depth, to_size(s.heads * s.depth), queries,
                 to_size(rows), to_size(s.depth), args.in<float>(3)[head], s.epsilon});
      multiply_keys(queries, packed, scores, rows);
      CosineScores weigh{scores, to_size(stride_), to_size(rows), to_size(s.keys)};
      const std::int64_t pair = row * s.keys;
      if (s.biased) weigh.bias = args.in<float>(4) + head * s.queries * s.keys + pair;
      if (s.masks > 0) weigh.mask = args.in<float>(5) + batch % s.masks * s.queries * s.keys + pair;
      cosine_weights(weigh);
      float* const to = args.out<float>() + at * s.width;
      if (s.bf16()) {
        multiply_values(scores, reinterpret_cast<const Bf16Pair*>(panels.data()), rows, to);
        continue;
      }
      MatMulBlock block;
      block.a = scores;
      block.lda = stride_;
      block.b = values;
      block.ldb = s.heads * s.width;
      block.c = to;
      block.ldc = s.heads * s.width;
      block.rows = rows;
      block.depth = s.keys;
      block.columns = s.width;
      matmul_block(block, panels);
    }
  }

  /// Keys of length one, transposed, panel after panel.
  void pack_keys(const float* from, float* keys, float* packed) const {
    const CosineShape& s = shape_;
    unit_rows({from, to_size(s.heads * s.depth), keys, to_size(s.keys), to_size(s.depth), 1.0F,
               s.epsilon});
    // In bf16 two numbers that follow each other stay together: a matrix of half the depth.
    const std::int64_t depth = s.bf16() ? pairs_of(s.depth) : s.depth;
    if (s.bf16()) round_in_place(keys, to_size(s.depth), to_size(s.keys), to_size(s.depth));
    for_each_panel(s.keys, [&](std::int64_t column, std::int64_t columns, std::int64_t padded) {
      float* panel = packed + column * depth;
      for (std::int64_t i = 0; columns < padded && i < depth; ++i)
        std::fill(panel + i * padded + columns, panel + (i + 1) * padded, 0.0F);
      transpose_block({reinterpret_cast<const std::byte*>(keys + column * depth),
                       reinterpret_cast<std::byte*>(panel), to_size(depth), to_size(padded),
                       to_size(depth), to_size(columns), sizeof(float)});
    });
  }

  void multiply_keys(float* queries, const float* packed, float* scores, std::int64_t rows) const {
    if (shape_.bf16()) {
      const Bf16Pair* const a =
          round_in_place(queries, to_size(shape_.depth), to_size(rows), to_size(shape_.depth));
      const auto* const b = reinterpret_cast<const Bf16Pair*>(packed);
      const std::int64_t pairs = pairs_of(shape_.depth);
      return multiply_pairs({a, pairs, b, pairs, scores, stride_, rows, shape_.keys});
    }
    for_each_panel(shape_.keys, [&](std::int64_t column, std::int64_t, std::int64_t padded) {
      MatMulPanel panel;
      panel.a = queries;
      panel.lda = to_size(shape_.depth);
      panel.b = packed + column * shape_.depth;
      panel.ldb = to_size(padded);
      panel.c = scores + column;
      panel.ldc = to_size(stride_);
      panel.rows = to_size(rows);
      panel.depth = to_size(shape_.depth);
      panel.columns = to_size(padded);
      matmul_panel(panel);
    });
  }

  void multiply_values(float* weights, const Bf16Pair* packed, std::int64_t rows, float* to) const {
    const CosineShape& s = shape_;
    const Bf16Pair* const a =
        round_in_place(weights, to_size(stride_), to_size(rows), to_size(s.keys));
    const std::int64_t pairs = pairs_of(s.keys);
    multiply_pairs({a, pairs, packed, pairs, to, s.heads * s.width, rows, s.width});
  }

  /// Calls visit(first column, columns, columns rounded up to whole vectors) for each panel.
  template <class Visit>
  void for_each_panel(std::int64_t all, const Visit& visit) const {
    const auto width = static_cast<std::int64_t>(widths_.panel);
    for (std::int64_t column = 0; column < all; column += width) {
      const std::int64_t columns = std::min(width, all - column);
      visit(column, columns, rounded_up(columns, static_cast<std::int64_t>(widths_.vector)));
    }
  }

  CosineShape shape_;
  MatMulWidths widths_;
  std::int64_t stride_ = 0, block_rows_ = 0;
  /// Floats in scratch, or pairs.
  std::int64_t unit_keys_ = 0, packed_keys_ = 0, unit_queries_ = 0, packed_values_ = 0;
  std::int64_t units_ = 0, tiles_ = 0;
};

}  // namespace

/// CosineAttention of windows and heads that fit the caches.
Result<std::unique_ptr<Kernel>> cpu_cosine_attention(const KernelRequest& request) {
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const Dims& q = request.inputs[0].dims;
  CosineShape shape;
  shape.batches = q[0];
  shape.queries = q[1];
  shape.heads = q[2];
  shape.depth = q[3];
  shape.keys = request.inputs[1].dims[1];
  shape.width = request.inputs[2].dims[3];
  shape.epsilon = request.node.attributes.get_float("epsilon", 0.0F);
  shape.biased = request.has(4);
  shape.precision = request.precision;
  if (request.has(5)) shape.masks = request.inputs[5].dims[0];
  if (shape.keys == 0 || shape.keys > kMostKeys || shape.depth == 0 || shape.depth > kMostDepth ||
      shape.width > kMostDepth)
    return not_covered();
  return std::make_unique<CosineAttention>(shape);
}

}  // namespace parallax
