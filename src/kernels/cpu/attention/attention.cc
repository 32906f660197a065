// FusedAttention of f32: Softmax(scale * Q K + mask) V. A unit of work is a block of query rows of
// one batch, which processes the keys in blocks: scores, weights and weighted values of a block are
// computed while they are in a second-level cache. A tile is a run of units.
#include <algorithm>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/attention/attention_loops.h"
#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/bf16_attention.h"
#include "kernels/cpu/attention/lane_attention.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"
#include "kernels/shared_heads.h"
#include "ops/params/fused_attention.h"

namespace parallax {
namespace {

/// Granule of rows of scores: they begin at cache lines, and not a power of two bytes apart, which
/// would put the rows that one block of the product reads into the same few sets of the first-level
/// cache.
constexpr std::int64_t kLine = kLineFloats;

/// Returns true if rows of Q, V and the result are contiguous, and rows or columns of K.
bool has_rows(const AttentionShape& s) {
  return s.q.column_stride == 1 && s.v.column_stride == 1 && s.y.column_stride == 1 &&
         (s.k.row_stride == 1 || s.k.column_stride == 1);
}

/// How a request is cut into tiles, and the offsets of the buffers in a tile's scratch.
struct AttentionCut {
  std::int64_t row_blocks = 0, block_rows = 0, key_blocks = 0;
  std::int64_t units = 0, tiles = 0;
  std::int64_t score_stride = 0;  ///< elements
};

AttentionCut cut_attention(const AttentionShape& shape, const Machine& machine) {
  const std::int64_t block_keys = machine.scores() / kMaxBlockRows;
  AttentionCut cut;
  cut.row_blocks = tile_count(shape.queries, kMaxBlockRows);
  // Rounding to the granule may add some rows of the next block.
  cut.block_rows = std::min(shape.queries, kMaxBlockRows + kBlockRowGranule);
  cut.key_blocks = tile_count(shape.keys, block_keys);
  cut.units = shape.batches * cut.row_blocks;
  // Saturated: a tile has at least one unit.
  const auto row = checked_mul(shape.keys, shape.depth + shape.width);
  const auto unit = row ? checked_mul(*row, cut.block_rows) : std::nullopt;
  cut.tiles = count_tiles(cut.units, unit.value_or(kBlockTileMacs), kBlockTileMacs);
  const std::int64_t block = std::min(shape.keys, block_keys + kLine);
  cut.score_stride = (tile_count(block, kLine) | 1) * kLine;
  return cut;
}

class Attention final : public Kernel {
 public:
  Attention(const AttentionShape& shape, Precision precision, const Machine& machine)
      : shape_(shape), precision_(precision), cut_(cut_attention(shape, machine)) {}

  std::int64_t tiles() const override { return cut_.tiles; }
  std::int64_t scratch_bytes() const override {
    return matmul_block_scratch_bytes(precision_) +
           cut_.block_rows * (cut_.score_stride + 2) * static_cast<std::int64_t>(sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(cut_.units, cut_.tiles, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_unit(
          unit / cut_.row_blocks,
          tile_range(shape_.queries, cut_.row_blocks, unit % cut_.row_blocks, kBlockRowGranule),
          args);
    return {};
  }

 private:
  void run_unit(std::int64_t batch, TileRange rows, const KernelArgs& args) const {
    const auto panels = args.scratch.first(to_size(matmul_block_scratch_bytes(precision_)));
    AttentionScores scores;
    scores.x = reinterpret_cast<float*>(args.scratch.data() + panels.size());
    scores.stride = to_size(cut_.score_stride);
    scores.rows = to_size(rows.end - rows.begin);
    scores.scale = shape_.scale;
    scores.largest = scores.x + cut_.block_rows * cut_.score_stride;
    scores.sum = scores.largest + cut_.block_rows;
    scores.y = args.out<float>() + shape_.at(shape_.y, batch) + rows.begin * shape_.y.row_stride;
    scores.y_stride = to_size(shape_.y.row_stride);
    scores.width = to_size(shape_.width);
    for (std::int64_t i = 0; i < cut_.key_blocks; ++i) {
      const auto keys = tile_range(shape_.keys, cut_.key_blocks, i, kLine);
      scores.first = i == 0;
      scores.keys = to_size(keys.end - keys.begin);
      run_block(batch, rows.begin, keys.begin, scores, args, panels);
    }
    attention_divide(scores.y, scores.y_stride, scores.rows, scores.width, scores.sum);
    replace_nan_weights(shape_, batch, rows, scores.sum, args);
  }

  void run_block(std::int64_t batch, std::int64_t row, std::int64_t key, AttentionScores& scores,
                 const KernelArgs& args, std::span<std::byte> panels) const {
    const AttentionShape& s = shape_;
    MatMulBlock block;
    block.precision = precision_;
    block.a = args.in<float>(0) + s.at(s.q, batch) + row * s.q.row_stride;
    block.lda = s.q.row_stride;
    block.b = args.in<float>(1) + s.at(s.k, batch) + key * s.k.column_stride;
    block.b_transposed = s.k.column_stride != 1;
    block.ldb = block.b_transposed ? s.k.column_stride : s.k.row_stride;
    block.c = scores.x;
    block.ldc = cut_.score_stride;
    block.rows = static_cast<std::int64_t>(scores.rows);
    block.depth = s.depth;
    block.columns = static_cast<std::int64_t>(scores.keys);
    matmul_block(block, panels);

    if (s.mask.given) {
      scores.mask = args.in<float>(kAttentionMask) + s.at(s.mask, batch, row) + key;
      scores.mask_stride = to_size(s.mask.stride);
    }
    if (s.choice.given) {
      scores.choice = args.in<std::uint8_t>(kAttentionChoice) + s.at(s.choice, batch, row) + key;
      scores.choice_stride = to_size(s.choice.stride);
      scores.fill = s.fill;
    }
    attention_weights(scores);

    block.a = scores.x;
    block.lda = cut_.score_stride;
    block.b = args.in<float>(2) + s.at(s.v, batch) + key * s.v.row_stride;
    block.b_transposed = false;
    block.ldb = s.v.row_stride;
    block.c = scores.y;
    block.ldc = static_cast<std::int64_t>(scores.y_stride);
    block.depth = static_cast<std::int64_t>(scores.keys);
    block.columns = s.width;
    block.accumulate = !scores.first;
    matmul_block(block, panels);
  }

  AttentionShape shape_;
  Precision precision_;
  AttentionCut cut_;
};

}  // namespace

AttentionShape attention_shape(const KernelRequest& request) {
  const auto params = params_of<FusedAttentionParams>(request.node);
  const std::int64_t group = params.group;
  const Permuted y = split_heads(unpermuted(request.outputs[0].dims, params.y_perm), group);
  AttentionShape shape;
  shape.dims = y.dims;
  shape.batch_rank = shape.dims.rank() - 2;
  const auto operand = [&](std::size_t i) {
    const Permuted seen = permuted(request.inputs[i].dims, params.*kAttentionPerms[i]);
    return matrix_operand(i == 0 ? split_heads(seen, group) : shared_heads(seen, group),
                          shape.batch_rank);
  };
  shape.q = operand(0);
  shape.k = operand(1);
  shape.v = operand(2);
  shape.y = matrix_operand(y, shape.batch_rank);
  for (int d = 0; d < shape.batch_rank; ++d) shape.batches *= shape.dims[d];
  shape.queries = shape.y.rows;
  shape.width = shape.y.columns;
  shape.depth = shape.q.columns;
  shape.keys = shape.k.columns;
  shape.scale = params.scale;
  const auto rows_of = [&](std::size_t i) {
    AttentionMask rows;
    rows.given = request.has(i);
    if (!rows.given) return rows;
    const Dims dims = split_heads(request.inputs[i].dims, group);
    const std::int64_t queries = dims.rank() > 1 ? dims[dims.rank() - 2] : 1;
    rows.batches = batch_strides(dims, queries * shape.keys, shape.batch_rank);
    rows.stride = queries == 1 ? 0 : shape.keys;
    return rows;
  };
  shape.mask = rows_of(kAttentionMask);
  shape.choice = rows_of(kAttentionChoice);
  shape.fill = params.fill;
  shape.nan_is_zero = params.nan_is_zero;
  return shape;
}

void replace_nan_weights(const AttentionShape& s, std::int64_t batch, TileRange queries,
                         const float* sums, const KernelArgs& args) {
  if (!s.nan_is_zero) return;
  const float* const values = args.in<float>(2) + s.at(s.v, batch);
  float* const first = args.out<float>() + s.at(s.y, batch) + queries.begin * s.y.row_stride;
  const float* zeros = nullptr;  // such queries have the same result
  for (std::int64_t i = 0; i < queries.end - queries.begin; ++i) {
    if (sums[i] > 0) continue;
    float* const y = first + i * s.y.row_stride;
    if (zeros != nullptr) {
      std::copy_n(zeros, s.width, y);
      continue;
    }
    std::fill_n(y, s.width, 0.0F);
    // 0 * NaN is NaN, so a NaN or an infinity in a value must reach the result.
    for (std::int64_t key = 0; key < s.keys; ++key)
      for (std::int64_t j = 0; j < s.width; ++j) y[j] += 0.0F * values[key * s.v.row_stride + j];
    zeros = y;
  }
}

namespace {

/// Returns the shape of a FusedAttention of f32 with at least one key, whose mask and choice have
/// an element for each key; nullopt for others.
std::optional<AttentionShape> taken_shape(const KernelRequest& request) {
  for (std::size_t i = 0; i < kAttentionChoice; ++i)
    if (request.has(i) && request.inputs[i].dtype != DType::kF32) return std::nullopt;
  const AttentionShape shape = attention_shape(request);
  if (shape.keys == 0 || shape.depth == 0 || !has_rows(shape)) return std::nullopt;
  for (const std::size_t i : {kAttentionMask, kAttentionChoice}) {
    if (!request.has(i)) continue;
    const Dims& mask = request.inputs[i].dims;
    if (mask.rank() == 0 || mask[mask.rank() - 1] != shape.keys) return std::nullopt;
  }
  return shape;
}

Result<std::unique_ptr<Kernel>> blocks(const KernelRequest& request) {
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const auto shape = taken_shape(request);
  if (!shape) return not_covered();
  return std::make_unique<Attention>(*shape, request.precision, *request.machine);
}

}  // namespace

Result<std::unique_ptr<Kernel>> packed_bf16_attention(const KernelRequest& request) {
  if (request.precision != Precision::kBf16 || request.outputs[0].elements() == 0)
    return not_covered();
  const auto shape = taken_shape(request);
  return shape ? make_bf16_attention(*shape, *request.machine) : nullptr;
}
Result<std::unique_ptr<Kernel>> lanes_f32_attention(const KernelRequest& request) {
  if (request.precision == Precision::kBf16 || request.outputs[0].elements() == 0)
    return not_covered();
  const auto shape = taken_shape(request);
  return shape ? make_lane_attention(*shape, *request.machine) : nullptr;
}
Result<std::unique_ptr<Kernel>> blocks_bf16_attention(const KernelRequest& request) {
  return request.precision == Precision::kBf16 ? blocks(request) : not_covered();
}
Result<std::unique_ptr<Kernel>> blocks_f32_attention(const KernelRequest& request) {
  return request.precision == Precision::kBf16 ? not_covered() : blocks(request);
}

}  // namespace parallax
