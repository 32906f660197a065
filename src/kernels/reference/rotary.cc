// RotaryEmbedding: pairs of elements turned by an angle of their position.
#include "kernels/reference/common.h"
#include "kernels/scaled_attention_shape.h"
#include "ops/params/attention.h"

namespace parallax {
namespace {

struct RotaryShape {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::int64_t half = 0;       ///< pairs that turn
  std::int64_t positions = 0;  ///< rows of the caches
  bool interleaved = false, by_position = false;
  HeadRows rows;
};

RotaryShape rotary_shape(const KernelRequest& request) {
  const Dims& x = request.inputs[0].dims;
  const bool packed = x.rank() == 3;
  const auto params = params_of<RotaryEmbeddingParams>(request.node);
  RotaryShape s;
  s.batch = x[0];
  s.heads = packed ? params.num_heads : x[1];
  s.length = x[packed ? 1 : 2];
  s.size = packed ? x[2] / s.heads : x[3];
  s.by_position = request.has(3);
  const Dims& cache = request.inputs[1].dims;
  s.half = cache[cache.rank() - 1];
  s.positions = cache[0];
  s.interleaved = params.interleaved;
  s.rows = head_rows(packed, s.heads, s.length, s.size);
  return s;
}

template <class T>
void turn_row(const RotaryShape& s, const T* x, const T* cosines, const T* sines, T* y) {
  const std::int64_t step = s.interleaved ? 2 : 1, other = s.interleaved ? 1 : s.half;
  for (std::int64_t i = 0; i < s.half; ++i) {
    const std::int64_t a = i * step, b = a + other;
    const T real = cosines[i] * x[a] - sines[i] * x[b];
    const T imaginary = sines[i] * x[a] + cosines[i] * x[b];
    y[a] = real;
    y[b] = imaginary;
  }
  std::copy(x + 2 * s.half, x + s.size, y + 2 * s.half);
}

template <class T>
Status turn(const RotaryShape& s, std::int64_t row, const KernelArgs& args) {
  const std::int64_t i = row % s.length, b = row / s.length % s.batch;
  const std::int64_t head = row / s.length / s.batch;
  std::int64_t position = b * s.length + i;
  if (s.by_position) {
    position = args.in<std::int64_t>(3)[position];
    if (position < -s.positions || position >= s.positions)
      return run_error(ErrorCode::kOutOfRange, "a position has no angle");
    if (position < 0) position += s.positions;
  }
  const std::int64_t at = s.rows.at(b, head, i);
  const T* const cosines = s.half == 0 ? nullptr : args.in<T>(1) + position * s.half;
  const T* const sines = s.half == 0 ? nullptr : args.in<T>(2) + position * s.half;
  turn_row(s, args.in<T>(0) + at, cosines, sines, args.out<T>() + at);
  return {};
}

}  // namespace

KernelResult reference_rotary_embedding(const KernelRequest& request) {
  const RotaryShape s = rotary_shape(request);
  const std::int64_t rows = request.outputs[0].elements() == 0 ? 0 : s.batch * s.heads * s.length;
  const std::int64_t tiles = tile_count(
      rows, std::max<std::int64_t>(kElementsPerTile / std::max<std::int64_t>(s.size, 1), 1));
  return make_for<kFloatTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel({.tiles = tiles},
                              [=](std::int64_t tile, const KernelArgs& args) -> Status {
                                const TileRange range = tile_range(rows, tiles, tile);
                                for (std::int64_t row = range.begin; row < range.end; ++row)
                                  PX_RETURN_IF_ERROR(turn<T>(s, row, args));
                                return {};
                              });
  });
}

}  // namespace parallax
