// Resize, nearest and linear, over any axes. Where a result's element comes from is computed once
// per axis and tile, and looked up.
#include <fmt/core.h>

#include "kernels/reference/common.h"
#include "kernels/reference/resize_source.h"

namespace parallax {
namespace {

/// Linear interpolation at `index`, axis after axis; `table` starts at the entries of `axis`.
template <class T>
float interpolate(const ResizeShape& shape, const T* x, const ResizeSource* table,
                  const Dims& index, int axis) {
  if (axis == shape.in.rank()) return static_cast<float>(*x);
  const ResizeSource& source = table[index[axis]];
  const std::int64_t stride = shape.strides[static_cast<std::size_t>(axis)];
  const ResizeSource* next = table + shape.out[axis];
  const float low = interpolate(shape, x + source.low * stride, next, index, axis + 1);
  if (source.fraction == 0.0F) return low;
  const float high = interpolate(shape, x + (source.low + 1) * stride, next, index, axis + 1);
  return low * (1.0F - source.fraction) + high * source.fraction;
}

template <class T>
void resize_elements(const ResizeShape& shape, TileRange range, const ResizeSource* table,
                     const KernelArgs& args) {
  const T* x = args.in<T>(0);
  for (std::int64_t o = range.begin; o < range.end; ++o) {
    Dims index = shape.out;
    std::int64_t rest = o;
    for (int axis = index.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape.out[axis];
      rest /= shape.out[axis];
    }
    if constexpr (!std::is_same_v<T, BoolByte>) {
      if (shape.linear) {
        args.out<T>()[o] = convert<T>(interpolate(shape, x, table, index, 0));
        continue;
      }
    }
    std::int64_t from = 0, start = 0;
    for (int axis = 0; axis < index.rank(); ++axis) {
      from += table[start + index[axis]].low * shape.strides[static_cast<std::size_t>(axis)];
      start += shape.out[axis];
    }
    args.out<T>()[o] = x[from];
  }
}

}  // namespace

KernelResult reference_resize(const KernelRequest& request) {
  const ResizeShape shape = resize_shape(request);
  if (shape.linear && request.inputs[0].dtype == DType::kBool) return nullptr;
  const bool by_scales = resized_by_scales(request);
  const std::int64_t count = shape.out.elements();
  const std::int64_t tiles = tile_count(count, kElementsPerTile / 4);
  const LambdaKernelOptions options{
      .tiles = tiles,
      .scratch_bytes =
          count == 0 ? 0 : shape.table_size() * static_cast<std::int64_t>(sizeof(ResizeSource)),
      .byte_inputs = 0b1100,
      .unused_inputs = 0b0010};
  return make_for<kAllTypes>(request.inputs[0].dtype, [&](auto type) -> KernelResult {
    using T = typename decltype(type)::type;
    return make_lambda_kernel(options, [=](std::int64_t tile, const KernelArgs& args) -> Status {
      auto* table = reinterpret_cast<ResizeSource*>(args.scratch.data());
      std::int64_t next = 0;
      for (int axis = 0; axis < shape.in.rank(); ++axis) {
        const ResizeScale scale = resize_scale(shape, axis, args.inputs[2], by_scales);
        if (!(scale.above > 0.0F))
          return run_error(ErrorCode::kInvalidInput, "a scale is not positive");
        for (std::int64_t i = 0; i < shape.out[axis]; ++i)
          table[next++] = resize_source(shape, axis, i, scale);
      }
      resize_elements<T>(shape, tile_range(count, tiles, tile), table, args);
      return {};
    });
  });
}

}  // namespace parallax
