// Emits FusedAttention.
#include "delegates/opencl/emit/emitters.h"
#include "kernels/reference/common.h"
#include "kernels/shared_heads.h"
#include "ops/params/fused_attention.h"

namespace parallax::opencl {
namespace {

/// Queries and columns of a work-group: of attention_rows, and of attention_tiles.
constexpr std::int64_t kRowQueries = 4, kRowColumns = 128, kTileQueries = 16, kTileColumns = 64;

std::int32_t size_in_kernel(std::int64_t x) { return static_cast<std::int32_t>(x); }

/// Strides over the axes of `to`: the operand's matrix is its own, its batches may repeat.
Strides matrix_strides(const Permuted& operand, const Dims& to) {
  Strides strides{};
  const int rank = operand.dims.rank();
  for (int axis = 0; axis < rank; ++axis) {
    const bool repeats = axis < rank - 2 && operand.dims[axis] == 1;
    if (!repeats)
      strides[static_cast<std::size_t>(axis + to.rank() - rank)] =
          operand.strides[static_cast<std::size_t>(axis)];
  }
  return strides;
}

/// An operand seen as the kernel sees it, before batches are merged.
struct SeenOperand {
  MatrixArgument* to;
  Strides strides;
};

/// Sets the batches of all operands, merged if they have the same layout.
Status merge_batches(AttentionArgument& s, const Dims& dims,
                     const std::vector<SeenOperand>& operands) {
  const int rank = dims.rank();
  const Dims batch(dims.span().first(static_cast<std::size_t>(rank - 2)));
  std::vector<Strides> strides;
  for (const SeenOperand& operand : operands) strides.push_back(operand.strides);
  const Walk walk = walk_of(batch, strides);
  if (walk.space.rank > static_cast<std::int32_t>(s.dims.size()))
    return not_covered("more than six axes of batches");
  s.batches = walk.space.count;
  std::copy_n(walk.space.dims.begin(), s.dims.size(), s.dims.begin());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    MatrixArgument& to = *operands[i].to;
    std::copy_n(walk.operands[i].at.begin(), to.batch.size(), to.batch.begin());
    to.row = size_in_kernel(operands[i].strides[static_cast<std::size_t>(rank - 2)]);
    to.column = size_in_kernel(operands[i].strides[static_cast<std::size_t>(rank - 1)]);
  }
  return {};
}

Result<AttentionArgument> attention_of(const Emission& e) {
  const auto params = params_of<FusedAttentionParams>(e.node);
  const std::int64_t group = params.group;
  const auto operand = [&](std::size_t i) {
    const Permuted seen = permuted(e.in(i), params.*kAttentionPerms[i]);
    return i == 0 ? split_heads(seen, group) : shared_heads(seen, group);
  };
  const Permuted q = operand(0), k = operand(1);
  const Permuted y = split_heads(unpermuted(e.out(), params.y_perm), group);
  const int rank = y.dims.rank();
  AttentionArgument s;
  s.queries = size_in_kernel(y.dims[rank - 2]);
  s.width = size_in_kernel(y.dims[rank - 1]);
  s.depth = size_in_kernel(q.dims[q.dims.rank() - 1]);
  s.keys = size_in_kernel(k.dims[k.dims.rank() - 1]);
  s.scale = params.scale;
  s.nan_is_zero = params.nan_is_zero ? 1 : 0;
  s.masked = e.has(kAttentionMask) ? 1 : 0;
  s.choosing = e.has(kAttentionChoice) ? 1 : 0;
  s.fill = params.fill.value;
  s.fill_where = params.fill.where ? 1 : 0;
  s.fill_last = params.fill.last ? 1 : 0;
  std::vector<SeenOperand> operands{{&s.q, matrix_strides(q, y.dims)},
                                    {&s.k, matrix_strides(k, y.dims)},
                                    {&s.v, matrix_strides(operand(2), y.dims)},
                                    {&s.y, matrix_strides(y, y.dims)}};
  for (const auto& [i, to] :
       {std::pair(kAttentionMask, &s.mask), std::pair(kAttentionChoice, &s.choice)}) {
    if (e.has(i)) operands.push_back({to, broadcast_strides(split_heads(e.in(i), group), y.dims)});
  }
  PX_RETURN_IF_ERROR(merge_batches(s, y.dims, operands));
  return s;
}

}  // namespace

Status emit_attention(Emission& e) {
  if (e.out().elements() == 0) return {};
  PX_ASSIGN(const AttentionArgument s, attention_of(e));
  const auto batches = static_cast<std::size_t>(s.batches);
  const bool tiles = e.through_local_memory;
  e.launch(tiles ? KernelId::attention_tiles : KernelId::attention_rows,
           {groups_of(s.queries, tiles ? kTileQueries : kRowQueries),
            groups_of(s.width, tiles ? kTileColumns : kRowColumns), batches},
           {s, e.input(0), e.input(1), e.input(2), e.input(kAttentionMask),
            e.input(kAttentionChoice), e.output()});
  return {};
}

}  // namespace parallax::opencl
