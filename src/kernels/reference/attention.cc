// FusedAttention: Softmax(scale * Q K + mask) V, one query at a time.
#include "ops/params/fused_attention.h"

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"
#include "kernels/shared_heads.h"

namespace parallax {
namespace {

/// Sizes, and strides of Q, K, V, the result, mask and choice (0 where these repeat) over the
/// result's batches, then over the rows and columns of their matrices.
struct AttentionShape {
  Dims dims;  ///< dimensions of the result before it is transposed
  std::int64_t queries = 0, keys = 0, depth = 0, width = 0;
  float scale = 1;
  bool masked = false, choosing = false, nan_is_zero = false;
  AttentionFill fill;
  Strides q{}, k{}, v{}, y{}, mask{}, choice{};

  std::int64_t row(const Strides& strides) const { return strides[last() - 1]; }
  std::int64_t column(const Strides& strides) const { return strides[last()]; }

 private:
  std::size_t last() const { return static_cast<std::size_t>(dims.rank() - 1); }
};

/// Strides of an operand over the axes of `to`; its matrix is not repeated.
Strides operand_strides(const Permuted& operand, const Dims& to) {
  Strides strides{};
  const int rank = operand.dims.rank();
  for (int axis = 0; axis < rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis + to.rank() - rank);
    const bool repeats = axis < rank - 2 && operand.dims[axis] == 1;
    strides[at] = repeats ? 0 : operand.strides[static_cast<std::size_t>(axis)];
  }
  return strides;
}

AttentionShape attention_shape(const KernelRequest& request) {
  const auto params = params_of<FusedAttentionParams>(request.node);
  const auto operand = [&](std::size_t i) {
    const Permuted seen = permuted(request.inputs[i].dims, params.*kAttentionPerms[i]);
    return i == 0 ? split_heads(seen, params.group) : shared_heads(seen, params.group);
  };
  const Permuted q = operand(0), k = operand(1);
  const Permuted y = split_heads(unpermuted(request.outputs[0].dims, params.y_perm), params.group);
  AttentionShape s;
  s.dims = y.dims;
  s.queries = s.dims[s.dims.rank() - 2];
  s.width = s.dims[s.dims.rank() - 1];
  s.depth = q.dims[q.dims.rank() - 1];
  s.keys = k.dims[k.dims.rank() - 1];
  s.scale = params.scale;
  s.nan_is_zero = params.nan_is_zero;
  s.q = operand_strides(q, s.dims);
  s.k = operand_strides(k, s.dims);
  s.v = operand_strides(operand(2), s.dims);
  s.y = operand_strides(y, s.dims);
  s.masked = request.has(kAttentionMask);
  const auto rows = [&](std::size_t i) {
    return broadcast_strides(split_heads(request.inputs[i].dims, params.group), s.dims);
  };
  if (s.masked) s.mask = rows(kAttentionMask);
  s.choosing = request.has(kAttentionChoice);
  s.fill = params.fill;
  if (s.choosing) s.choice = rows(kAttentionChoice);
  return s;
}

std::int64_t offset_of_batch(const Dims& dims, const Strides& strides, std::int64_t batch) {
  std::int64_t offset = 0;
  for (int axis = dims.rank() - 3; axis >= 0; --axis) {
    offset += batch % dims[axis] * strides[static_cast<std::size_t>(axis)];
    batch /= dims[axis];
  }
  return offset;
}

/// Addresses of the first elements that one query reads; null for operands that are left out.
struct QueryRows {
  const float *q = nullptr, *k = nullptr, *mask = nullptr;
  const std::uint8_t* choice = nullptr;
};

/// weights[j] becomes the softmax of the scores of a query.
void weigh(const AttentionShape& s, const QueryRows& rows, float* weights) {
  const auto chosen = [&](std::int64_t key, bool last, float score) {
    if (rows.choice == nullptr || s.fill.last != last) return score;
    const bool set = rows.choice[key * s.column(s.choice)] != 0;
    return set == s.fill.where ? s.fill.value : score;
  };
  std::fill_n(weights, s.keys, 0.0F);
  for (std::int64_t i = 0; i < s.depth; ++i) {
    for (std::int64_t j = 0; j < s.keys; ++j)
      weights[j] += rows.q[i * s.column(s.q)] * rows.k[i * s.row(s.k) + j * s.column(s.k)];
  }
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t j = 0; j < s.keys; ++j) {
    weights[j] = chosen(j, false, weights[j] * s.scale);
    if (rows.mask != nullptr) weights[j] += rows.mask[j * s.column(s.mask)];
    weights[j] = chosen(j, true, weights[j]);
    largest = std::max(largest, weights[j]);
  }
  double sum = 0;
  for (std::int64_t j = 0; j < s.keys; ++j) {
    weights[j] = std::exp(weights[j] - largest);
    sum += static_cast<double>(weights[j]);
  }
  for (std::int64_t j = 0; j < s.keys; ++j) {
    weights[j] = static_cast<float>(static_cast<double>(weights[j]) / sum);
    if (s.nan_is_zero && std::isnan(weights[j])) weights[j] = 0;
  }
}

void attend(const AttentionShape& s, std::int64_t row, const KernelArgs& args) {
  const std::int64_t batch = row / s.queries, query = row % s.queries;
  const auto at = [&](const Strides& strides) { return offset_of_batch(s.dims, strides, batch); };
  float* y = args.out<float>() + at(s.y) + query * s.row(s.y);
  for (std::int64_t j = 0; j < s.width; ++j) y[j * s.column(s.y)] = 0;
  if (s.keys == 0) return;
  QueryRows rows;
  if (s.masked) rows.mask = args.in<float>(kAttentionMask) + at(s.mask) + query * s.row(s.mask);
  if (s.choosing)
    rows.choice = args.in<std::uint8_t>(kAttentionChoice) + at(s.choice) + query * s.row(s.choice);
  // Operands without elements are null.
  if (s.depth > 0) {
    rows.q = args.in<float>(0) + at(s.q) + query * s.row(s.q);
    rows.k = args.in<float>(1) + at(s.k);
  }
  auto* weights = reinterpret_cast<float*>(args.scratch.data());
  weigh(s, rows, weights);
  const float* v = args.in<float>(2) + at(s.v);
  for (std::int64_t i = 0; i < s.keys; ++i) {
    for (std::int64_t j = 0; j < s.width; ++j)
      y[j * s.column(s.y)] += weights[i] * v[i * s.row(s.v) + j * s.column(s.v)];
  }
}

}  // namespace

KernelResult reference_attention(const KernelRequest& request) {
  const AttentionShape s = attention_shape(request);
  const auto bytes = checked_mul(s.keys, sizeof(float));
  if (!bytes) return make_error(ErrorCode::kOutOfMemory, "a row of scores does not fit 63 bits");
  const std::int64_t rows = s.dims.elements() == 0 ? 0 : s.dims.elements() / s.width;
  const std::int64_t work = std::max<std::int64_t>(s.keys, 1) * std::max<std::int64_t>(s.depth, 1);
  const std::int64_t tiles =
      tile_count(rows, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(work, 1), 1));
  return make_lambda_kernel({.tiles = tiles, .scratch_bytes = *bytes},
                            [=](std::int64_t tile, const KernelArgs& args) -> Status {
                              const TileRange range = tile_range(rows, tiles, tile);
                              for (std::int64_t row = range.begin; row < range.end; ++row)
                                attend(s, row, args);
                              return {};
                            });
}

}  // namespace parallax
