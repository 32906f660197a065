// ONNX Attention (with caches, masks and windows): computes one query of one head at a time.
#include "kernels/scaled_attention_shape.h"

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"

namespace parallax {
namespace {

using AttIn = AttentionInput;
using AttOut = AttentionOutput;

/// The mask, broadcast to the axes of the scores; it covers the first `length` keys.
struct MaskRows {
  bool present = false;
  DType dtype = DType::kF32;
  Strides strides{};
  std::int64_t length = 0;
};

MaskRows mask_rows(const KernelRequest& request, const ScaledAttentionShape& s) {
  MaskRows mask;
  mask.present = request.has(AttIn::kMask);
  if (!mask.present) return mask;
  const TensorDesc& input = request.inputs[AttIn::kMask];
  mask.dtype = input.dtype;
  mask.length = input.dims[input.dims.rank() - 1];
  Dims scores{s.batch, s.heads, s.queries, mask.length};
  mask.strides = broadcast_strides(input.dims, scores);
  return mask;
}

constexpr double kMasked = -std::numeric_limits<double>::infinity();

/// Writes what the mask adds to the scores of one query, `bias` of shape [keys].
void load_mask(const MaskRows& mask, std::int64_t offset, const std::byte* bytes, std::int64_t keys,
               double* bias) {
  std::fill_n(bias, keys, 0.0);
  if (!mask.present) return;
  std::fill(bias + std::min(mask.length, keys), bias + keys, kMasked);
  dispatch<kAllTypes>(mask.dtype, [&](auto type) {
    using M = typename decltype(type)::type;
    for (std::int64_t j = 0; j < std::min(mask.length, keys); ++j) {
      if constexpr (std::is_same_v<M, bool>) {
        bias[j] = load_element<std::uint8_t>(bytes, offset + j) != 0 ? 0 : kMasked;
      } else if constexpr (std::is_arithmetic_v<M>) {
        bias[j] = static_cast<double>(load_element<M>(bytes, offset + j));
      }
    }
  });
}

/// Softmax of `scores`; zeros if all are masked.
void weigh_row(const double* bias, std::int64_t keys, double* scores) {
  double largest = kMasked, most = kMasked, sum = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    largest = std::max(largest, scores[j]);
    most = std::max(most, bias[j]);
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    scores[j] = most == kMasked ? 0 : std::exp(scores[j] - largest);
    sum += scores[j];
  }
  for (std::int64_t j = 0; j < keys && most != kMasked; ++j) scores[j] /= sum;
}

template <class T, class V>
struct AttentionRows {
  const ScaledAttentionShape& s;
  const MaskRows& mask;
  const KernelArgs& args;

  const T* key(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return j < s.past ? args.in<T>(AttIn::kPastKey) + s.past_k.at(b, h, j)
                      : args.in<T>(AttIn::kK) + s.k.at(b, h, j - s.past);
  }
  const V* value(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return j < s.past ? args.in<V>(AttIn::kPastValue) + s.past_v.at(b, h, j)
                      : args.in<V>(AttIn::kV) + s.v.at(b, h, j - s.past);
  }
  std::optional<std::int64_t> length(std::int64_t b) const {
    if (AttIn::kLengths >= args.inputs.size() || args.inputs[AttIn::kLengths] == nullptr)
      return std::nullopt;
    return args.in<std::int64_t>(AttIn::kLengths)[b];
  }
  double score(const T* q, const T* k) const {
    double sum = 0;
    for (std::int64_t i = 0; i < s.depth; ++i)
      sum += static_cast<double>(q[i]) * static_cast<double>(k[i]);
    return sum * static_cast<double>(s.scale());
  }
  double capped(double x) const {
    const auto cap = static_cast<double>(s.params.softcap);
    return cap > 0 ? cap * std::tanh(x / cap) : x;
  }
  void write_scores(std::int64_t row, const double* scores) const {
    T* const to = AttOut::kScores < args.outputs.size() ? args.out<T>(AttOut::kScores) : nullptr;
    if (to == nullptr) return;
    for (std::int64_t j = 0; j < s.keys(); ++j) to[row * s.keys() + j] = static_cast<T>(scores[j]);
  }
  Status run(std::int64_t row) const;
  void mix(std::int64_t b, std::int64_t h, std::int64_t query, const double* weights) const;
};

template <class T, class V>
void AttentionRows<T, V>::mix(std::int64_t b, std::int64_t h, std::int64_t query,
                              const double* weights) const {
  T* const y = args.out<T>() + s.y.at(b, h, query);
  for (std::int64_t i = 0; i < s.width; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < s.keys(); ++j)
      sum += weights[j] * static_cast<double>(value(b, s.kv_head(h), j)[i]);
    y[i] = static_cast<T>(sum);
  }
}

template <class T, class V>
Status AttentionRows<T, V>::run(std::int64_t row) const {
  const std::int64_t query = row % s.queries, h = row / s.queries % s.heads;
  const std::int64_t b = row / s.queries / s.heads, keys = s.keys();
  const auto range = visible_keys(s, length(b), query);
  if (!range)
    return run_error(ErrorCode::kInvalidInput, "a sequence is longer than there are keys");
  auto* const scores = reinterpret_cast<double*>(args.scratch.data());
  double* const bias = scores + keys;
  const std::int64_t offset = b * mask.strides[0] + h * mask.strides[1] + query * mask.strides[2];
  load_mask(mask, offset, mask.present ? args.inputs[AttIn::kMask] : nullptr, keys, bias);
  std::fill(bias, bias + range->begin, kMasked);
  std::fill(bias + range->end, bias + keys, kMasked);
  const T* const q = s.depth == 0 ? nullptr : args.in<T>(AttIn::kQ) + s.q.at(b, h, query);
  for (std::int64_t j = 0; j < keys; ++j)
    scores[j] = score(q, s.depth == 0 ? nullptr : key(b, s.kv_head(h), j));
  if (s.params.scores_mode == 0) write_scores(row, scores);
  for (std::int64_t j = 0; j < keys; ++j) scores[j] = capped(scores[j]);
  if (s.params.scores_mode == 1) write_scores(row, scores);
  for (std::int64_t j = 0; j < keys; ++j) scores[j] += bias[j];
  if (s.params.scores_mode == 2) write_scores(row, scores);
  weigh_row(bias, keys, scores);
  if (s.params.scores_mode == 3) write_scores(row, scores);
  mix(b, h, query, scores);
  return {};
}

/// Copies past rows, then the new ones, to the present output.
template <class T>
void write_present(const ScaledAttentionShape& s, const T* past, const T* added,
                   const HeadRows& past_rows, const HeadRows& rows, const HeadRows& present_rows,
                   T* to) {
  const std::int64_t size = present_rows.row;
  if (size == 0) return;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.kv_heads; ++h) {
      for (std::int64_t j = 0; j < s.keys(); ++j) {
        const T* const from =
            j < s.past ? past + past_rows.at(b, h, j) : added + rows.at(b, h, j - s.past);
        std::copy_n(from, size, to + present_rows.at(b, h, j));
      }
    }
  }
}

template <class T>
const T* input_or_null(const KernelArgs& args, std::size_t i) {
  return i < args.inputs.size() ? args.in<T>(i) : nullptr;
}

/// The last tile.
template <class T, class V>
void write_caches(const ScaledAttentionShape& s, const KernelArgs& args) {
  if (AttOut::kPresentKey < args.outputs.size() && args.outputs[AttOut::kPresentKey] != nullptr)
    write_present<T>(s, input_or_null<T>(args, AttIn::kPastKey), args.in<T>(AttIn::kK), s.past_k,
                     s.k, s.present_k, args.out<T>(AttOut::kPresentKey));
  if (AttOut::kPresentValue < args.outputs.size() && args.outputs[AttOut::kPresentValue] != nullptr)
    write_present<V>(s, input_or_null<V>(args, AttIn::kPastValue), args.in<V>(AttIn::kV), s.past_v,
                     s.v, s.present_v, args.out<V>(AttOut::kPresentValue));
}

}  // namespace

KernelResult reference_scaled_attention(const KernelRequest& request) {
  const ScaledAttentionShape s = scaled_attention_shape(request);
  const auto bytes = checked_mul(s.keys(), 2 * sizeof(double));
  if (!bytes) return make_error(ErrorCode::kOutOfMemory, "a row of scores does not fit 63 bits");
  const MaskRows mask = mask_rows(request, s);
  const std::int64_t rows = s.batch * s.heads * s.queries;
  const std::int64_t work =
      std::max<std::int64_t>(s.keys(), 1) * std::max<std::int64_t>(s.depth, 1);
  const std::int64_t row_tiles =
      tile_count(rows, std::max<std::int64_t>(kMacsPerTile / std::max<std::int64_t>(work, 1), 1));
  LambdaKernelOptions options;
  options.tiles = row_tiles + 1;
  options.scratch_bytes = *bytes;
  options.byte_inputs = 1U << AttIn::kMask;
  return make_for<kFloatTypes>(request.inputs[AttIn::kQ].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_for<kFloatTypes>(request.inputs[AttIn::kV].dtype, [&](auto value) -> KernelResult {
      using V = typename decltype(value)::type;
      return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
        if (tile == row_tiles) {
          write_caches<T, V>(s, args);
          return {};
        }
        const TileRange range = tile_range(rows, row_tiles, tile);
        for (std::int64_t row = range.begin; row < range.end; ++row)
          PX_RETURN_IF_ERROR((AttentionRows<T, V>{s, mask, args}.run(row)));
        return {};
      });
    });
  });
}

}  // namespace parallax
