// CosineAttention: Softmax(scale * cosines of Q and K + bias + mask) V, one query of one head at a
// time.
#include <cmath>

#include "kernels/reference/common.h"
#include "ops/params/attention.h"

namespace parallax {
namespace {

struct CosineShape {
  std::int64_t queries = 0, keys = 0, heads = 0, depth = 0, width = 0, masks = 1;
  double epsilon = 0;
  bool biased = false, masked = false;
};

double length_of(const float* x, std::int64_t n, double epsilon) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return std::max(std::sqrt(sum), epsilon);
}

/// `row` counts queries of all heads of all batches, as the result has them.
void attend(const CosineShape& s, std::int64_t row, const KernelArgs& args) {
  const std::int64_t head = row % s.heads, query = row / s.heads % s.queries;
  const std::int64_t batch = row / s.heads / s.queries;
  float* y = args.out<float>() + row * s.width;
  std::fill_n(y, s.width, 0.0F);
  if (s.keys == 0) return;
  const std::int64_t pair = query * s.keys;
  const float* bias = s.biased ? args.in<float>(4) + head * s.queries * s.keys + pair : nullptr;
  const float* mask =
      s.masked ? args.in<float>(5) + batch % s.masks * s.queries * s.keys + pair : nullptr;
  const float* q = s.depth == 0 ? nullptr : args.in<float>(0) + row * s.depth;
  const double scale =
      static_cast<double>(args.in<float>(3)[head]) / length_of(q, s.depth, s.epsilon);
  auto* weights = reinterpret_cast<double*>(args.scratch.data());
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < s.keys; ++j) {
    const std::int64_t at = (batch * s.keys + j) * s.heads + head;
    const float* k = s.depth == 0 ? nullptr : args.in<float>(1) + at * s.depth;
    double score = 0;
    for (std::int64_t i = 0; i < s.depth; ++i)
      score += static_cast<double>(q[i]) * static_cast<double>(k[i]);
    score *= scale / length_of(k, s.depth, s.epsilon);
    if (bias != nullptr) score += static_cast<double>(bias[j]);
    if (mask != nullptr) score += static_cast<double>(mask[j]);
    weights[j] = score;
    largest = std::max(largest, score);
  }
  for (std::int64_t j = 0; j < s.keys; ++j) sum += weights[j] = std::exp(weights[j] - largest);
  for (std::int64_t j = 0; j < s.keys; ++j) {
    const std::int64_t at = (batch * s.keys + j) * s.heads + head;
    const auto weight = static_cast<float>(weights[j] / sum);
    const float* v = args.in<float>(2) + at * s.width;
    for (std::int64_t i = 0; i < s.width; ++i) y[i] += weight * v[i];
  }
}

}  // namespace

KernelResult reference_cosine_attention(const KernelRequest& request) {
  const Dims& q = request.inputs[0].dims;
  CosineShape s;
  s.queries = q[1];
  s.heads = q[2];
  s.depth = q[3];
  s.keys = request.inputs[1].dims[1];
  s.width = request.inputs[2].dims[3];
  s.epsilon = static_cast<double>(params_of<CosineAttentionParams>(request.node).epsilon);
  s.biased = request.has(4);
  s.masked = request.has(5);
  if (s.masked) s.masks = request.inputs[5].dims[0];
  const auto bytes = checked_mul(s.keys, sizeof(double));
  if (!bytes) return make_error(ErrorCode::kOutOfMemory, "a row of scores does not fit 63 bits");
  const std::int64_t elements = request.outputs[0].elements();
  const std::int64_t rows = elements == 0 ? 0 : elements / s.width;
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
