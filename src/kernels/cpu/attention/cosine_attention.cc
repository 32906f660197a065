// CosineAttention of f32. A unit of work is one head of one batch: its keys are scaled to length
// 1 and packed once; its queries, scaled to the length of the factor, are processed in blocks of
// rows whose scores stay in scratch between the two products. Heads are read and written in place,
// side by side; no tensor is transposed. A tile is a run of units. In bf16 the operands of both
// products are rounded in place in scratch.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/attention/cosine_loops.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"
#include "ops/params/attention.h"

namespace parallax {
namespace {

/// Rows of scores that a tile keeps in scratch: most and fewest.
constexpr std::int64_t kMaxRows = 96, kFewestRows = 6;
/// Most elements of packed keys in scratch: more would not stay in a second-level cache.
constexpr std::int64_t kMaxKeys = 4096, kMaxCosineDepth = 512;

struct CosineShape {
  std::int64_t batches = 0, queries = 0, keys = 0, heads = 0, depth = 0, width = 0;
  std::int64_t masks = 0;  ///< 0: no mask
  bool biased = false;
  Precision precision = Precision::kF32;

  float epsilon = 0;
};

class CosineAttention final : public Kernel {
 public:
  CosineAttention(const CosineShape& shape, const Machine& machine)
      : shape_(shape), type_(gemm_type(shape.precision)) {
    stride_ = rounded_up(shape.keys, static_cast<std::int64_t>(type_.widths().vector));
    block_rows_ = std::min(shape.queries,
                           std::clamp(machine.window_scores() / stride_, kFewestRows, kMaxRows));
    unit_keys_ = rounded_up(shape.keys * shape.depth, kTileGranule);
    packed_keys_ = rounded_up(stride_ * shape.depth, kTileGranule);
    unit_queries_ = rounded_up(block_rows_ * shape.depth, kTileGranule);
    if (type_.converts())
      packed_values_ = type_.steps(shape.keys) * rounded_up(shape.width, kTileGranule);
    const std::int64_t unit = shape.queries * shape.keys * (shape.depth + shape.width);
    units_ = shape.batches * shape.heads;
    tiles_ = count_tiles(units_, unit, kBlockTileMacs);
  }

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return (unit_keys_ + packed_keys_ + unit_queries_ + block_rows_ * stride_) * kFloatBytes +
           (type_.converts() ? packed_values_ * kFloatBytes : matmul_block_scratch_bytes());
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
        to_size((unit_keys_ + packed_keys_ + unit_queries_ + block_rows_ * stride_) * kFloatBytes));
    const float* const values = args.in<float>(2) + (batch * s.keys * s.heads + head) * s.width;
    pack_keys(args.in<float>(1) + (batch * s.keys * s.heads + head) * s.depth, keys, packed);
    if (type_.converts())
      pack_panels(type_, {values, s.heads * s.width, false, s.keys, s.width}, nullptr,
                  panels.data());
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
      if (type_.converts()) {
        convert(scores, stride_, rows, s.keys);
        multiply_panels(type_, {scores, type_.steps(s.keys), panels.data(), to, s.heads * s.width,
                                rows, s.width});
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

  /// Scales keys to length 1 and packs them, transposed, panel after panel.
  void pack_keys(const float* from, float* keys, float* packed) const {
    const CosineShape& s = shape_;
    unit_rows({from, to_size(s.heads * s.depth), keys, to_size(s.keys), to_size(s.depth), 1.0F,
               s.epsilon});
    pack_panels(type_, {keys, s.depth, true, s.depth, s.keys}, keys, packed);
  }

  void multiply_keys(float* queries, const float* packed, float* scores, std::int64_t rows) const {
    convert(queries, shape_.depth, rows, shape_.depth);
    multiply_panels(type_,
                    {queries, type_.steps(shape_.depth), packed, scores, stride_, rows, stride_});
  }

  /// Converts rows of scratch in place to dense rows of the type's steps.
  void convert(float* rows, std::int64_t stride, std::int64_t count, std::int64_t depth) const {
    if (type_.converts())
      type_.convert_rows(rows, to_size(stride), to_size(count), to_size(depth), rows,
                         to_size(type_.steps(depth)));
  }

  CosineShape shape_;
  const GemmType& type_;
  std::int64_t stride_ = 0, block_rows_ = 0;
  /// Sizes in scratch, in floats or steps.
  std::int64_t unit_keys_ = 0, packed_keys_ = 0, unit_queries_ = 0, packed_values_ = 0;
  std::int64_t units_ = 0, tiles_ = 0;
};

}  // namespace

/// Creates the kernel of CosineAttention for windows and heads that fit the caches.
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
  shape.epsilon = params_of<CosineAttentionParams>(request.node).epsilon;
  shape.biased = request.has(4);
  shape.precision = request.precision;
  if (request.has(5)) shape.masks = request.inputs[5].dims[0];
  if (shape.keys == 0 || shape.keys > kMaxKeys || shape.depth == 0 ||
      shape.depth > kMaxCosineDepth || shape.width > kMaxCosineDepth)
    return not_covered();
  return std::make_unique<CosineAttention>(shape, *request.machine);
}

}  // namespace parallax
