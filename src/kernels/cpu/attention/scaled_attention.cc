// ONNX Attention of f32, with or without a cache of keys and values: the products of a block of
// queries of one head with blocks of keys, past ones first, through a softmax that processes
// them block by block. Keys that no query of a block sees are skipped.
#include <algorithm>
#include <array>
#include <limits>

#include "base/saturating.h"
#include "base/status.h"
#include "kernels/cpu/attention/attention_loops.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"
#include "kernels/reference/index_space.h"
#include "kernels/scaled_attention_shape.h"

namespace parallax {
namespace {

using AttIn = AttentionInput;
using AttOut = AttentionOutput;

/// Queries of a block: few enough that their scores stay in the cache, many enough to read keys
/// rarely.
constexpr std::int64_t kQueryBlock = 48;

/// The mask, a number or a bool for each key; strides of axes [batch, heads, queries].
struct ScaledMask {
  bool given = false, choosing = false;
  Strides strides{};
};

struct ScaledCut {
  std::int64_t query_blocks = 1, block_rows = 1, block_keys = 1, score_stride = 1;
  std::int64_t units = 0, row_tiles = 0, cache_tiles = 0;
};

ScaledCut cut_scaled(const ScaledAttentionShape& s, bool caches, const Machine& machine) {
  ScaledCut cut;
  cut.query_blocks = tile_count(s.queries, kQueryBlock);
  cut.block_rows = tile_count(s.queries, cut.query_blocks);
  const std::int64_t most = std::max<std::int64_t>(machine.scores() / cut.block_rows, 64);
  cut.block_keys = std::min(most / kLineFloats * kLineFloats, rounded_up(s.keys(), kLineFloats));
  cut.score_stride = cut.block_keys;
  cut.units = s.batch * s.heads * cut.query_blocks;
  const std::int64_t work =
      saturating_mul(saturating_mul(cut.block_rows, s.keys()), s.depth + s.width);
  cut.row_tiles = count_tiles(cut.units, work, kBlockTileMacs);
  if (caches) {
    cut.cache_tiles = count_tiles(s.batch * s.kv_heads, saturating_mul(s.keys(), s.depth + s.width),
                                  kTileElements);
  }
  return cut;
}

/// A block of queries of one head.
struct QueryBlock {
  std::int64_t batch = 0, head = 0;
  TileRange queries{0, 0};
  std::array<KeyRange, kQueryBlock + 1> seen{};  ///< keys that each query sees
  std::int64_t count() const { return queries.end - queries.begin; }
};

class ScaledAttention final : public Kernel {
 public:
  ScaledAttention(const ScaledAttentionShape& shape, const ScaledMask& mask, bool caches,
                  Precision precision, const Machine& machine)
      : s_(shape), mask_(mask), precision_(precision), cut_(cut_scaled(shape, caches, machine)) {}

  std::int64_t tiles() const override { return cut_.row_tiles + cut_.cache_tiles; }
  std::int64_t scratch_bytes() const override {
    return matmul_block_scratch_bytes(precision_) +
           cut_.block_rows * (cut_.score_stride + 2) * kFloatBytes;
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override;

 private:
  Result<QueryBlock> query_block(std::int64_t unit, const KernelArgs& args) const;
  void attend(const QueryBlock& block, const KernelArgs& args) const;
  void add_keys(const QueryBlock& block, KeyRange keys, AttentionScores& scores,
                const KernelArgs& args) const;
  void hide(const QueryBlock& block, KeyRange keys, AttentionScores& scores) const;
  void add_mask(const QueryBlock& block, std::int64_t key, AttentionScores& scores,
                const KernelArgs& args) const;
  void copy_cache(std::int64_t unit, const KernelArgs& args) const;

  ScaledAttentionShape s_;
  ScaledMask mask_;
  Precision precision_;
  ScaledCut cut_;
};

Status ScaledAttention::run_tile(std::int64_t tile, const KernelArgs& args) const {
  if (tile >= cut_.row_tiles) {
    const auto units = tile_range(s_.batch * s_.kv_heads, cut_.cache_tiles, tile - cut_.row_tiles);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) copy_cache(unit, args);
    return {};
  }
  const auto units = tile_range(cut_.units, cut_.row_tiles, tile);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    PX_ASSIGN(const QueryBlock block, query_block(unit, args));
    attend(block, args);
  }
  return {};
}

Result<QueryBlock> ScaledAttention::query_block(std::int64_t unit, const KernelArgs& args) const {
  QueryBlock block;
  block.queries = tile_range(s_.queries, cut_.query_blocks, unit % cut_.query_blocks);
  block.head = unit / cut_.query_blocks % s_.heads;
  block.batch = unit / cut_.query_blocks / s_.heads;
  std::optional<std::int64_t> length;
  if (AttIn::kLengths < args.inputs.size() && args.inputs[AttIn::kLengths] != nullptr)
    length = args.in<std::int64_t>(AttIn::kLengths)[block.batch];
  for (std::int64_t i = 0; i < block.count(); ++i) {
    const auto seen = visible_keys(s_, length, block.queries.begin + i);
    if (!seen) {
      return tl::unexpected(Error{
          Stage::kRun, ErrorCode::kInvalidInput, {}, "a sequence is longer than there are keys"});
    }
    block.seen[to_size(i)] = *seen;
  }
  return block;
}

void ScaledAttention::attend(const QueryBlock& block, const KernelArgs& args) const {
  AttentionScores scores;
  scores.x = reinterpret_cast<float*>(args.scratch.data() + matmul_block_scratch_bytes(precision_));
  scores.stride = to_size(cut_.score_stride);
  scores.rows = to_size(block.count());
  scores.largest = scores.x + cut_.block_rows * cut_.score_stride;
  scores.sum = scores.largest + cut_.block_rows;
  scores.y = args.out<float>() + s_.y.at(block.batch, block.head, block.queries.begin);
  scores.y_stride = to_size(s_.y.row);
  scores.width = to_size(s_.width);
  KeyRange all{s_.keys(), 0};
  for (std::int64_t i = 0; i < block.count(); ++i) {
    const KeyRange& seen = block.seen[to_size(i)];
    if (seen.begin == seen.end) continue;
    all.begin = std::min(all.begin, seen.begin);
    all.end = std::max(all.end, seen.end);
  }
  for (std::int64_t key = all.begin; key < all.end;) {
    // A block has either past or new keys.
    const std::int64_t end =
        std::min({key + cut_.block_keys, all.end, key < s_.past ? s_.past : all.end});
    add_keys(block, {key, end}, scores, args);
    scores.first = false;
    key = end;
  }
  if (!scores.first)
    attention_divide(scores.y, scores.y_stride, scores.rows, scores.width, scores.sum);
  for (std::int64_t i = 0; i < block.count(); ++i)
    if (scores.first || scores.sum[i] == 0) std::fill_n(scores.y + i * s_.y.row, s_.width, 0.0F);
}

void ScaledAttention::add_keys(const QueryBlock& block, KeyRange keys, AttentionScores& scores,
                               const KernelArgs& args) const {
  const auto panels = args.scratch.first(to_size(matmul_block_scratch_bytes(precision_)));
  const bool past = keys.begin < s_.past;
  const std::int64_t head = s_.kv_head(block.head), first = keys.begin - (past ? 0 : s_.past);
  const HeadRows& k = past ? s_.past_k : s_.k;
  const HeadRows& v = past ? s_.past_v : s_.v;
  MatMulBlock product;
  product.precision = precision_;
  product.a = args.in<float>(AttIn::kQ) + s_.q.at(block.batch, block.head, block.queries.begin);
  product.lda = s_.q.row;
  product.b = args.in<float>(past ? AttIn::kPastKey : AttIn::kK) + k.at(block.batch, head, first);
  product.b_transposed = true;
  product.ldb = k.row;
  product.c = scores.x;
  product.ldc = cut_.score_stride;
  product.rows = block.count();
  product.depth = s_.depth;
  product.columns = keys.end - keys.begin;
  matmul_block(product, panels);
  scores.keys = to_size(keys.end - keys.begin);
  scores.scale = s_.scale();
  if (s_.params.softcap > 0) {
    for (std::int64_t i = 0; i < block.count(); ++i) {
      float* const row = scores.x + i * cut_.score_stride;
      normalize(row, row, scores.keys, 0, s_.scale() / s_.params.softcap, 0);
      apply_unary({UnaryFunction::kTanh}, row, row, scores.keys);
    }
    scores.scale = s_.params.softcap;
  }
  add_mask(block, keys.begin, scores, args);
  hide(block, keys, scores);
  attention_weights(scores);
  product.a = scores.x;
  product.lda = cut_.score_stride;
  product.b = args.in<float>(past ? AttIn::kPastValue : AttIn::kV) + v.at(block.batch, head, first);
  product.b_transposed = false;
  product.ldb = v.row;
  product.c = scores.y;
  product.ldc = s_.y.row;
  product.depth = product.columns;
  product.columns = s_.width;
  product.accumulate = !scores.first;
  matmul_block(product, panels);
}

/// Gives keys that a query does not see the score -inf, whose weight is 0.
void ScaledAttention::hide(const QueryBlock& block, KeyRange keys, AttentionScores& scores) const {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < block.count(); ++i) {
    float* const row = scores.x + i * cut_.score_stride;
    const KeyRange& seen = block.seen[to_size(i)];
    const std::int64_t begin = std::clamp(seen.begin, keys.begin, keys.end);
    const std::int64_t end = std::clamp(seen.end, begin, keys.end);
    std::fill_n(row, begin - keys.begin, kHidden);
    std::fill_n(row + (end - keys.begin), keys.end - end, kHidden);
  }
}

void ScaledAttention::add_mask(const QueryBlock& block, std::int64_t key, AttentionScores& scores,
                               const KernelArgs& args) const {
  if (!mask_.given) return;
  const std::int64_t at = block.batch * mask_.strides[0] + block.head * mask_.strides[1] +
                          block.queries.begin * mask_.strides[2] + key;
  const auto stride = to_size(mask_.strides[2]);
  if (mask_.choosing) {
    scores.choice = args.in<std::uint8_t>(AttIn::kMask) + at;
    scores.choice_stride = stride;
    scores.fill = {-std::numeric_limits<float>::infinity(), false, true};
  } else {
    scores.mask = args.in<float>(AttIn::kMask) + at;
    scores.mask_stride = stride;
  }
}

/// Writes the present keys and values of one head: the past ones, then the new ones.
void ScaledAttention::copy_cache(std::int64_t unit, const KernelArgs& args) const {
  const std::int64_t b = unit / s_.kv_heads, h = unit % s_.kv_heads;
  const auto copy = [&](std::size_t past, std::size_t added, const HeadRows& past_rows,
                        const HeadRows& rows, const HeadRows& present, std::size_t output) {
    if (output >= args.outputs.size() || args.outputs[output] == nullptr) return;
    float* const to = args.out<float>(output);
    if (s_.past > 0)
      std::copy_n(args.in<float>(past) + past_rows.at(b, h, 0), s_.past * present.row,
                  to + present.at(b, h, 0));
    for (std::int64_t j = 0; j < s_.added; ++j)
      std::copy_n(args.in<float>(added) + rows.at(b, h, j), present.row,
                  to + present.at(b, h, s_.past + j));
  };
  copy(AttIn::kPastKey, AttIn::kK, s_.past_k, s_.k, s_.present_k, AttOut::kPresentKey);
  copy(AttIn::kPastValue, AttIn::kV, s_.past_v, s_.v, s_.present_v, AttOut::kPresentValue);
}

bool is_written(const KernelRequest& request, std::size_t output) {
  return output < request.outputs.size() && request.outputs[output].present;
}

/// Returns true if all operands are f32, except the inputs that say which keys count.
bool has_f32_operands(const KernelRequest& request) {
  for (const std::size_t i : {AttIn::kQ, AttIn::kK, AttIn::kV, AttIn::kPastKey, AttIn::kPastValue})
    if (request.has(i) && request.inputs[i].dtype != DType::kF32) return false;
  return true;
}

/// Returns the layout of the mask; nullopt if it does not have an f32 or a bool for each key.
std::optional<ScaledMask> scaled_mask(const KernelRequest& request, const ScaledAttentionShape& s) {
  ScaledMask mask;
  mask.given = request.has(AttIn::kMask);
  if (!mask.given) return mask;
  const TensorDesc& input = request.inputs[AttIn::kMask];
  mask.choosing = input.dtype == DType::kBool;
  if (!mask.choosing && input.dtype != DType::kF32) return std::nullopt;
  if (input.dims[input.dims.rank() - 1] != s.keys()) return std::nullopt;
  mask.strides = broadcast_strides(input.dims, {s.batch, s.heads, s.queries, s.keys()});
  return mask;
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_scaled_attention(const KernelRequest& request) {
  if (!has_f32_operands(request) || is_written(request, AttOut::kScores)) return not_covered();
  const ScaledAttentionShape s = scaled_attention_shape(request);
  const auto mask = scaled_mask(request, s);
  // The score of a hidden key is -inf; it is multiplied by the scale and must stay -inf.
  const bool positive = s.scale() > 0 && std::isfinite(s.scale());
  if (!mask || !positive || s.keys() == 0 || s.depth == 0 || request.outputs[0].elements() == 0)
    return not_covered();
  const bool caches =
      is_written(request, AttOut::kPresentKey) || is_written(request, AttOut::kPresentValue);
  return std::make_unique<ScaledAttention>(s, *mask, caches, request.precision, *request.machine);
}

}  // namespace parallax
