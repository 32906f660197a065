// Resize over any axes. Taps of all positions are computed once per axis and tile, then looked up.
// Sums are computed in double precision.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/resize_taps.h"

namespace parallax {
namespace {

/// The taps of all positions of all axes: axis after axis, position after position.
struct TapTable {
  std::array<std::int64_t, Dims::kMaxRank> start{}, width{};
  std::int64_t size = 0;
};

/// Returns nullopt if the table's size does not fit 63 bits.
std::optional<TapTable> tap_table(const ResizeShape& shape) {
  TapTable table;
  for (int axis = 0; axis < shape.out.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    table.start[at] = table.size;
    table.width[at] = resize_tap_count(shape, axis);
    const auto taps = checked_mul(table.width[at], shape.out[axis]);
    const auto size = taps ? checked_add(table.size, *taps) : std::nullopt;
    if (!size || !checked_mul(*size, sizeof(ResizeTap))) return std::nullopt;
    table.size = *size;
  }
  return table;
}

/// Index of the first tap of a position outside the crop region, which has no taps.
constexpr std::int64_t kNoTaps = -1;

Status write_taps(const ResizeShape& shape, const TapTable& table, const ResizeInputs& inputs,
                  ResizeTap* taps) {
  for (int axis = 0; axis < shape.out.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    PX_ASSIGN(const ResizeSpan span, resize_span(shape, axis, inputs));
    for (std::int64_t i = 0; i < shape.out[axis]; ++i) {
      const std::span<ResizeTap> own(taps + table.start[at] + i * table.width[at],
                                     static_cast<std::size_t>(table.width[at]));
      PX_ASSIGN(const bool inside, resize_taps(shape, axis, i, span, own));
      if (!inside) own[0].index = kNoTaps;
    }
  }
  return {};
}

/// Returns the weighted sum at output position `index`, recursing over axes from `axis` on.
template <class T>
double weighted(const ResizeShape& shape, const TapTable& table, const ResizeTap* taps, const T* x,
                const Dims& index, int axis) {
  if (axis == shape.in.rank()) return static_cast<double>(*x);
  const auto at = static_cast<std::size_t>(axis);
  const ResizeTap* own = taps + table.start[at] + index[axis] * table.width[at];
  double sum = 0;
  for (std::int64_t k = 0; k < table.width[at]; ++k) {
    if (own[k].weight == 0) continue;
    sum += own[k].weight *
           weighted(shape, table, taps, x + own[k].index * shape.strides[at], index, axis + 1);
  }
  return sum;
}

template <class T>
T resized_element(const ResizeShape& shape, const TapTable& table, const ResizeTap* taps,
                  const T* x, const Dims& index) {
  std::int64_t from = 0;
  for (int axis = 0; axis < index.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const ResizeTap& first = taps[table.start[at] + index[axis] * table.width[at]];
    if (first.index == kNoTaps) return convert<T>(shape.extrapolation);
    from += first.index * shape.strides[at];
  }
  if constexpr (!std::is_same_v<T, BoolByte>) {
    if (shape.mode != ResizeMode::kNearest) {
      const double sum = weighted(shape, table, taps, x, index, 0);
      // Integers are truncated, but rounded by antialias; so do ONNX Runtime and image libraries.
      return convert<T>(std::is_integral_v<T> && shape.antialias ? std::nearbyint(sum) : sum);
    }
  }
  return x[from];
}

template <class T>
void resize_elements(const ResizeShape& shape, const TapTable& table, TileRange range,
                     const ResizeTap* taps, const KernelArgs& args) {
  for (std::int64_t o = range.begin; o < range.end; ++o) {
    Dims index = shape.out;
    std::int64_t rest = o;
    for (int axis = index.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape.out[axis];
      rest /= shape.out[axis];
    }
    args.out<T>()[o] = resized_element(shape, table, taps, args.in<T>(0), index);
  }
}

}  // namespace

KernelResult reference_resize(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (shape.mode != ResizeMode::kNearest && request.inputs[0].dtype == DType::kBool) return nullptr;
  const bool crops = shape.coordinates == ResizeCoordinates::kCrop && request.has(1);
  const bool by_scales = resized_by_scales(request), by_sizes = !by_scales && request.has(3);
  const DType region = crops ? request.inputs[1].dtype : DType::kF32;
  const std::int64_t count = shape.out.elements();
  const auto table = count == 0 ? TapTable{} : tap_table(shape);
  if (!table) return make_error(ErrorCode::kInvalidInput, "the tensor is too large to resize");
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 4);
  const LambdaKernelOptions options{
      .tiles = tiles,
      .scratch_bytes = table->size * static_cast<std::int64_t>(sizeof(ResizeTap)),
      .byte_inputs = crops ? 0b1110U : 0b1100U,
      .unused_inputs = crops ? 0U : 0b0010U};
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(
        options, [=, table = *table](std::int64_t tile, const KernelArgs& args) -> Status {
          auto* taps = reinterpret_cast<ResizeTap*>(args.scratch.data());
          const ResizeInputs inputs{crops ? args.inputs[1] : nullptr, region,
                                    by_scales ? args.inputs[2] : nullptr,
                                    by_sizes ? args.inputs[3] : nullptr};
          PX_RETURN_IF_ERROR(write_taps(shape, table, inputs, taps));
          resize_elements<T>(shape, table, tile_range(count, tiles, tile), taps, args);
          return {};
        });
  });
}

}  // namespace parallax
