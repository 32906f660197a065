// FusedAttention of f32: Softmax(scale * Q K + mask) V. A unit of work is a block of query rows of
// one batch, whose scores stay in scratch, small enough for a second-level cache, between the two
// products; a tile is a run of units.
#include <algorithm>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/simd/batches.h"
#include "kernels/simd/matmul_block.h"
#include "kernels/simd/softmax_loops.h"
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

constexpr std::int64_t kRowGranule = 6;
/// Scores kept at once. Few rows would copy K too often.
constexpr std::int64_t kScores = 65536, kMostRows = 144, kFewestRows = 24;
/// Multiply-adds per tile.
constexpr std::int64_t kTileMacs = std::int64_t{2} << 20;

struct AttentionShape {
  Dims dims;  ///< of the result
  int batch_rank = 0;
  std::int64_t batches = 1;
  std::int64_t queries = 0, keys = 0, depth = 0, width = 0;
  BatchStrides q{}, k{}, v{}, mask{};
  std::int64_t mask_stride = 0;  ///< from one query's mask to the next
};

AttentionShape attention_shape(const KernelRequest& request) {
  const Dims& q = request.inputs[0].dims;
  const Dims& k = request.inputs[1].dims;
  AttentionShape shape;
  shape.dims = request.outputs[0].dims;
  shape.batch_rank = shape.dims.rank() - 2;
  for (int d = 0; d < shape.batch_rank; ++d) shape.batches *= shape.dims[d];
  shape.queries = shape.dims[shape.batch_rank];
  shape.width = shape.dims[shape.batch_rank + 1];
  shape.depth = q[q.rank() - 1];
  shape.keys = k[k.rank() - 1];
  shape.q = batch_strides(q, shape.queries * shape.depth, shape.batch_rank);
  shape.k = batch_strides(k, shape.depth * shape.keys, shape.batch_rank);
  shape.v = batch_strides(request.inputs[2].dims, shape.keys * shape.width, shape.batch_rank);
  if (request.has(3)) {
    const Dims& mask = request.inputs[3].dims;
    const std::int64_t rows = mask.rank() > 1 ? mask[mask.rank() - 2] : 1;
    shape.mask = batch_strides(mask, rows * shape.keys, shape.batch_rank);
    shape.mask_stride = rows == 1 ? 0 : shape.keys;
  }
  return shape;
}

class Attention final : public Kernel {
 public:
  Attention(const AttentionShape& shape, float scale, bool masked)
      : shape_(shape), scale_(scale), masked_(masked) {
    const std::int64_t block =
        std::clamp(kScores / shape.keys / kRowGranule * kRowGranule, kFewestRows, kMostRows);
    row_blocks_ = tile_count(shape.queries, block);
    // Rounding to the granule may lend a block some rows of its neighbour.
    block_rows_ = std::min(shape.queries, block + kRowGranule);
    units_ = shape.batches * row_blocks_;
    const std::int64_t unit = block_rows_ * shape.keys * (shape.depth + shape.width);
    tiles_ = tile_count(units_, std::max<std::int64_t>(kTileMacs / unit, 1));
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return matmul_block_scratch_bytes() +
           block_rows_ * shape_.keys * static_cast<std::int64_t>(sizeof(float));
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto units = tile_range(units_, tiles_, tile);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit)
      run_unit(unit / row_blocks_,
               tile_range(shape_.queries, row_blocks_, unit % row_blocks_, kRowGranule), args);
    return {};
  }

 private:
  void run_unit(std::int64_t batch, TileRange rows, const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const auto panels = args.scratch.first(to_size(matmul_block_scratch_bytes()));
    auto* scores = reinterpret_cast<float*>(args.scratch.data() + panels.size());
    const std::int64_t count = rows.end - rows.begin;
    MatMulBlock block;
    block.a = args.in<float>(0) + at(s.q, batch) + rows.begin * s.depth;
    block.lda = s.depth;
    block.b = args.in<float>(1) + at(s.k, batch);
    block.ldb = s.keys;
    block.c = scores;
    block.ldc = s.keys;
    block.rows = count;
    block.depth = s.depth;
    block.columns = s.keys;
    matmul_block(block, panels);

    AttentionScores weigh{scores, to_size(count), to_size(s.keys), scale_};
    if (masked_) {
      weigh.mask = args.in<float>(3) + at(s.mask, batch) + rows.begin * s.mask_stride;
      weigh.mask_stride = to_size(s.mask_stride);
    }
    attention_weights(weigh);

    block.a = scores;
    block.lda = s.keys;
    block.b = args.in<float>(2) + at(s.v, batch);
    block.ldb = s.width;
    block.c = args.out<float>() + (batch * s.queries + rows.begin) * s.width;
    block.ldc = s.width;
    block.depth = s.keys;
    block.columns = s.width;
    matmul_block(block, panels);
  }

  std::int64_t at(const BatchStrides& strides, std::int64_t batch) const {
    return batch_offset(shape_.dims, shape_.batch_rank, strides, batch);
  }

  AttentionShape shape_;
  float scale_;
  bool masked_;
  std::int64_t row_blocks_ = 0, block_rows_ = 0, units_ = 0, tiles_ = 0;
};

/// True where a unit's work and its scores can be counted: a row of scores is less than both, so
/// such sizes have no room in memory.
bool countable(const AttentionShape& s) {
  const auto both = checked_add(s.depth, s.width);
  const auto row = both ? checked_mul(s.keys, *both) : std::nullopt;
  return row && checked_mul(*row, sizeof(float) * (kMostRows + kRowGranule)).has_value();
}

}  // namespace

/// FusedAttention with at least one key, whose mask has a number for each key.
Result<std::unique_ptr<Kernel>> simd_attention(const KernelRequest& request) {
  for (const TensorDesc& input : request.inputs)
    if (input.present && input.dtype != DType::kF32) return not_covered();
  if (request.outputs[0].elements() == 0) return empty_kernel();
  const AttentionShape shape = attention_shape(request);
  if (shape.keys == 0 || shape.depth == 0 || !countable(shape)) return not_covered();
  const bool masked = request.has(3);
  if (masked) {
    const Dims& mask = request.inputs[3].dims;
    if (mask.rank() == 0 || mask[mask.rank() - 1] != shape.keys) return not_covered();
  }
  const float scale = request.node.attributes.get_float("scale", 1.0F);
  return std::make_unique<Attention>(shape, scale, masked);
}

}  // namespace parallax
